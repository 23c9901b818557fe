"""Model states divided among GPUs, or moved to the system's memory, by arithmetic on an estimate for one GPU.

ZeRO (arXiv 1910.02054, section 5; deepspeed.readthedocs.io/en/stable/zero3.html) divides optimizer states
and gradients in stage 2 and the weights too in stage 3; PyTorch's FSDP with FULL_SHARD divides as stage 3
does. What each GPU holds beside its share is the layer at work, gathered, and buckets of communication.
"""

from __future__ import annotations

from math import ceil
from typing import NamedTuple

import msgspec

from doctor.memory.estimate import Estimate, Part
from doctor.memory.optimizers import states
from doctor.memory.plan import Plan
from doctor.memory.shapes import Matrix, ModelShape
from doctor.memory.statics import ITEM_BYTES, is_quantised, nf4_bytes, plain_item_bytes, trained_tensors

# transformers sets DeepSpeed's "auto" sizes, in elements (integrations/deepspeed.py): reduce_bucket_size
# hidden^2, stage3_prefetch_bucket_size 0.9 hidden^2, stage3_param_persistence_threshold 10 hidden.
PREFETCHED, KEPT_WHOLE = 0.9, 10
# DeepSpeed's own reduce_bucket_size and allgather_bucket_size, where stage 2 leaves them alone: elements.
BUCKET = 5e8
# docs.pytorch.org, BackwardPrefetch: BACKWARD_PRE holds the next layer's parameters beside those at work.
LAYERS_AT_ONCE = 2
DIVIDES_NOTHING = (
    "Data parallelism alone divides nothing: each GPU holds all that one GPU would, and a second copy of the "
    "gradients in DistributedDataParallel's buckets."
)
QUANTISED_SHARDS = (
    "Dividing NF4 weights needs bnb_4bit_quant_storage in the type of the other weights, bitsandbytes 0.43, "
    "PEFT 0.10 and transformers 4.39 or later; the scales of NF4 stay whole on each GPU."
)
MASTERS = "DeepSpeed keeps a float32 copy of weights that are trained in 16 bits, divided as the states are."


class Held(NamedTuple):
    """What one GPU holds of each part, in bytes, and what working on it takes."""

    weights: int
    adapter: int
    gradients: int
    optimizer: int
    overhead: int = 0


def divided(estimate: Estimate, shape: ModelShape) -> Estimate:
    """The estimate for each of the plan's GPUs, with what its plan shards and moves away.

    The estimate must be that of one GPU by itself. Parts that change become "assumed"; phases are not told.
    """
    plan = estimate.plan
    if plan.sharding == "none" and plan.offload == "none" and plan.gpus == 1:
        return estimate
    held = _held(estimate, shape)
    parts = dict(estimate.parts)
    for name, amount in held._asdict().items():
        before = parts.get(name, Part(amount_bytes=0, source="assumed"))
        after = before.amount_bytes + amount if name == "overhead" else amount
        if after != before.amount_bytes:
            parts[name] = Part(amount_bytes=after, source="assumed")
    change = sum(part.amount_bytes for part in parts.values()) - sum(
        part.amount_bytes for part in estimate.parts.values()
    )
    return msgspec.structs.replace(
        estimate,
        parts=parts,
        peak_allocated_bytes=max(estimate.peak_allocated_bytes + change, 0),
        peak_reserved_bytes=max(estimate.peak_reserved_bytes + change, 0),
        phases={},
        notes=(*estimate.notes, *_notes(plan)),
    )


def _held(estimate: Estimate, shape: ModelShape) -> Held:
    plan = estimate.plan
    now = Held(*(_amount(estimate, name) for name in ("weights", "adapter", "gradients", "optimizer")))
    if plan.sharding == "none":
        copies = now.gradients if plan.gpus > 1 else 0
        gone = plan.offload != "none"
        return now._replace(optimizer=0 if gone else now.optimizer, overhead=copies)
    share = _weights_divided(now, shape, plan) if plan.sharding in ("zero3", "fsdp") else now
    optimizer = 0 if plan.offload != "none" else ceil(_optimizer_bytes(now, shape, plan) / plan.gpus)
    # ZeRO-Offload (arXiv 2101.06840, section 4.1) moves each gradient away as soon as its bucket is reduced
    gradients = 0 if plan.offload != "none" else ceil(now.gradients / plan.gpus)
    return share._replace(gradients=gradients, optimizer=optimizer, overhead=_buckets(now, shape, plan))


def _amount(estimate: Estimate, name: str) -> int:
    part = estimate.parts.get(name)
    return part.amount_bytes if part is not None else 0


def _weights_divided(now: Held, shape: ModelShape, plan: Plan) -> Held:
    """Weights and adapters in shares; whole on each GPU: NF4's scales, small tensors, the layers at work."""
    ways = plan.gpus
    moved = plan.offload == "parameters"
    scales = _scales_bytes(shape, plan)
    small = _small_bytes(shape, plan) if plan.sharding == "zero3" else 0
    adapters = _small_adapters_bytes(shape, plan) if plan.sharding == "zero3" else 0
    whole = min(scales + small, now.weights)
    kept = whole + (0 if moved else ceil((now.weights - whole) / ways))
    adapter = adapters + (0 if moved else ceil(max(now.adapter - adapters, 0) / ways))
    return now._replace(
        weights=min(kept + _gathered_bytes(shape, plan), now.weights), adapter=min(adapter, now.adapter)
    )


def _gathered_bytes(shape: ModelShape, plan: Plan) -> int:
    """The layer at work and the one that is fetched meanwhile, or embedding or head where they are larger."""
    layer = _layer_bytes(shape, plan)
    item = plain_item_bytes(plan)
    ends = [item * matrix.parameters for matrix in shape.matrices if matrix.role in ("embedding", "head")]
    if plan.sharding == "fsdp":
        return max([LAYERS_AT_ONCE * layer, *ends])
    return max([layer + int(PREFETCHED * shape.hidden**2 * item), *ends])


def _layer_bytes(shape: ModelShape, plan: Plan) -> int:
    layers = [matrix for matrix in shape.matrices if "*" in matrix.path and matrix.role != "vision"]
    return ceil(sum(_matrix_bytes(matrix, plan) for matrix in layers) / shape.layers)


def _matrix_bytes(matrix: Matrix, plan: Plan) -> int:
    """Without NF4's scales, which are never divided."""
    if is_quantised(matrix, plan):
        return matrix.count * ceil(matrix.rows * matrix.columns / 2)
    return plain_item_bytes(plan, matrix) * matrix.parameters


def _scales_bytes(shape: ModelShape, plan: Plan) -> int:
    return sum(
        matrix.count * (nf4_bytes(matrix, plan.double_quant) - ceil(matrix.rows * matrix.columns / 2))
        for matrix in shape.matrices
        if is_quantised(matrix, plan)
    )


def _small_bytes(shape: ModelShape, plan: Plan) -> int:
    small = [matrix for matrix in shape.matrices if matrix.rows * matrix.columns < KEPT_WHOLE * shape.hidden]
    return sum(_matrix_bytes(matrix, plan) for matrix in small)


def _small_adapters_bytes(shape: ModelShape, plan: Plan) -> int:
    if plan.method == "full":
        return 0
    tensors = [item for item in trained_tensors(shape, plan) if item.elements < KEPT_WHOLE * shape.hidden]
    return sum(item.times * item.elements * item.item_bytes for item in tensors)


def _optimizer_bytes(now: Held, shape: ModelShape, plan: Plan) -> int:
    """Of all GPUs together: DeepSpeed steps on float32 copies of 16-bit weights (ZeRO's K is 12)."""
    halves = [item for item in trained_tensors(shape, plan) if item.item_bytes == 2]
    if plan.sharding == "fsdp":
        return now.optimizer
    trainer = plan.loop != "bare"
    more = 0
    for item in halves:
        wide = states(plan.optimizer, item._replace(item_bytes=4), trainer).total_bytes
        more += 4 * item.times * item.elements + wide - states(plan.optimizer, item, trainer).total_bytes
    return now.optimizer + more


def _buckets(now: Held, shape: ModelShape, plan: Plan) -> int:
    """Buffers in which gradients are reduced: never larger than the gradients themselves."""
    if plan.sharding == "fsdp":
        return min(ceil(now.gradients / shape.layers), now.gradients)  # one layer's, before it is divided
    elements = BUCKET if plan.sharding == "zero2" else shape.hidden**2
    item = ITEM_BYTES[plan.dtype if plan.method == "full" else plan.adapter_dtype or "float32"]
    return min(int(elements * item), now.gradients)


def _notes(plan: Plan) -> list[str]:
    notes = []
    if plan.sharding == "none" and plan.gpus > 1:
        notes.append(DIVIDES_NOTHING)
    if plan.sharding in ("zero3", "fsdp") and plan.method == "qlora":
        notes.append(QUANTISED_SHARDS)
    if plan.sharding in ("zero2", "zero3"):
        notes.append(MASTERS)
    if plan.offload == "parameters" and plan.sharding in ("none", "zero2"):
        notes.append("Weights leave the GPU only under ZeRO-3 or FSDP; here the optimizer's states alone do.")
    if plan.sharding == "fsdp" and plan.offload == "optimizer":
        notes.append(
            "FSDP moves weights, gradients and states together or not at all: counted as states alone."
        )
    return notes
