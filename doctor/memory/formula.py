"""The tier that needs no torch: exact statics, and what traces of each family showed to be alive beside them.

A peak is the highest of a few moments: in the loss, in the backward of the last or the first layer, in the
optimizer's step. What is alive at each of them is a sum of terms, such as 39 bytes for each token and hidden
channel. The coefficients were read off traces (``formula_table``); docs/memory_formula.md says what they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal, NamedTuple

import msgspec

from doctor.memory import statics
from doctor.memory.estimate import PARTS, Device, Estimate, Part, Source
from doctor.memory.estimate import Moment as PeakMoment
from doctor.memory.formula_kinds import is_traced_set, kind_of
from doctor.memory.formula_reserved import reserved
from doctor.memory.formula_step import step_bytes
from doctor.memory.formula_table import Coefficients, Letters, Moment, amount_bytes, coefficients
from doctor.memory.kernels import THREADS, Kernels, facts
from doctor.memory.plan import Plan
from doctor.memory.shapes import ModelShape
from doctor.memory.statics import ITEM_BYTES, Statics
from doctor.memory.targets import adapted, recipe

EXACT: frozenset[str] = frozenset({"weights", "adapter", "gradients", "optimizer"})
# A head and loss in one work on so many tokens and words at a time (TRL's chunked_logprob.py), and gather the
# gradient of the hidden states in float32.
TILE_TOKENS, TILE_WORDS, GATHERED_BYTES = 4096, 32768, 4


WORDS = "hv"  # the term of the embedding and of the head


class Alive(NamedTuple):
    """All that is alive at one candidate moment."""

    phase: Literal["load", "forward", "backward", "optimizer"]
    operation: str
    layer: str
    amounts: Mapping[str, int]  # by part

    @property
    def total_bytes(self) -> int:
        return sum(self.amounts.values())


def estimate(shape: ModelShape, plan: Plan, device: Device) -> Estimate:
    """The bill of a settled plan. Raises PlanInvalid where the adapter fits no module of the model."""
    run = as_run(shape, plan)
    kernels = facts(device.compute_capability)
    counted = statics.count(shape, plan)
    targets = target_names(shape, plan)
    kind = kind_of(run, targets, expands_keys=kernels.expands_keys)
    known = coefficients(shape, kind, is_traced_set=plan.method == "full" or covers(shape, targets))
    moments = list(candidates(shape, plan, counted, known, kernels))
    peak = max(moments, key=lambda moment: moment.total_bytes)
    held = reserved(peak.total_bytes, plan)
    context = kernels.context_bytes if device.kind == "cuda" else 0
    wrong = peak.total_bytes * known.error + held.error_bytes + kernels.context_error_bytes
    return Estimate(
        plan=plan,
        tier="formula",
        parts=parts(peak, held.amount_bytes + context),
        peak_allocated_bytes=peak.total_bytes,
        peak_reserved_bytes=held.amount_bytes,
        context_bytes=context,
        error=round(wrong / (held.amount_bytes + context) + shape.error, 3),
        moment=PeakMoment(phase=peak.phase, operation=peak.operation, module=module_of(peak, shape)),
        trainable_parameters=counted.trainable_parameters,
        total_parameters=shape.parameters,
        phases=phases(moments),
        notes=known.notes,
    )


def as_run(shape: ModelShape, plan: Plan) -> Plan:
    """The plan as transformers runs it: where scores are capped, sdpa is eager (``modeling_gemma2.py``)."""
    is_capped = plan.attention == "sdpa" and shape.config.get("attn_logit_softcapping")
    return msgspec.structs.replace(plan, attention="eager") if is_capped else plan


def target_names(shape: ModelShape, plan: Plan) -> frozenset[str]:
    """The names of the layers that get an adapter."""
    if plan.method == "full":
        return frozenset()
    return frozenset(found.matrix.name for found in adapted(shape, recipe(plan)))


def covers(shape: ModelShape, targets: frozenset[str]) -> bool:
    """Was just this set of targets traced?"""
    return is_traced_set(targets, frozenset(matrix.name for matrix in shape.matrices if matrix.is_linear))


def letters(shape: ModelShape, plan: Plan) -> Letters:
    """The sizes of one model and one micro-batch."""
    return Letters(
        t=plan.tokens,
        s=plan.sequence_length,
        b=plan.batch_size,
        h=shape.hidden,
        q=shape.heads * shape.head_dim,
        k=shape.kv_heads * shape.head_dim,
        n=shape.heads,
        j=shape.kv_heads,
        d=shape.head_dim,
        i=shape.intermediate,
        v=shape.vocab,
        r=0 if plan.method == "full" else recipe(plan).rank,
        e=shape.experts,
        x=shape.experts_per_token,
        w=shape.intermediate // max(shape.experts_per_token, 1),
    )


def candidates(
    shape: ModelShape, plan: Plan, counted: Statics, known: Coefficients, kernels: Kernels
) -> Iterator[Alive]:
    """Every moment that may be the peak."""
    resting = {
        "weights": counted.weights_bytes,
        "adapter": counted.adapter_bytes,
        "optimizer": counted.optimizer_bytes,
        "overhead": THREADS * kernels.workspace_bytes,
    }
    sizes = letters(shape, plan)
    for moment in known.moments:
        amounts = dict(resting)
        for part, amount in running(moment, plan, sizes, shape.layers - 3).items():
            amounts[part] = amounts.get(part, 0) + amount
        amounts["gradients"] = gradients_bytes(moment, amounts.get("gradients", 0), plan, counted, shape)
        yield Alive(moment.phase, moment.operation, moment.layer, amounts)
    yield Alive("load", "", "", {part: resting[part] for part in ("weights", "adapter")})
    step = {**resting, "gradients": counted.gradients_bytes}
    yield Alive("optimizer", "", "", {**step, "overhead": resting["overhead"] + step_bytes(shape, plan)})


def gradients_bytes(moment: Moment, made: int, plan: Plan, counted: Statics, shape: ModelShape) -> int:
    """What of the gradients is there at a moment; ``made`` is what one backward has made by then.

    From the second micro-batch on all of them are there before. That of the head is made beside them and
    added at once or, where it is the embedding's too, when that is reached.
    """
    if plan.method != "full":
        return counted.gradients_bytes if plan.accumulation > 1 else min(made, counted.gradients_bytes)
    if plan.accumulation == 1:
        return made
    is_beside = WORDS in moment.once.get("gradients", "") and (shape.tied or not moment.layer)
    return counted.gradients_bytes + is_beside * ITEM_BYTES[plan.dtype] * shape.hidden * shape.vocab


def running(moment: Moment, plan: Plan, sizes: Letters, further_layers: int) -> dict[str, int]:
    """What the run itself has alive at a moment, by part."""
    found: dict[str, float] = {}
    for amounts, times in ((moment.once, 1), (moment.each, further_layers)):
        for part, text in amounts.items():
            found[part] = found.get(part, 0.0) + times * amount_bytes(text, sizes)
    if plan.fused_loss and found.pop("logits", 0.0) and not moment.layer:
        found["logits"] = tiles_bytes(plan, sizes)
    return {part: max(round(amount), 0) for part, amount in found.items()}


def tiles_bytes(plan: Plan, sizes: Letters) -> int:
    """What a head and loss in one has instead of the logits."""
    low = plan.dtype != "float32" and (plan.loop != "bare" or not plan.kbit_upcast)
    tile = min(sizes.t, TILE_TOKENS) * min(sizes.v, TILE_WORDS)
    return (2 if low else 4) * tile + GATHERED_BYTES * sizes.t * sizes.h


def parts(peak: Alive, peak_bytes: int) -> Mapping[str, Part]:
    """The parts in their order; what is no tensor of the run is overhead."""
    amounts = {part: peak.amounts.get(part, 0) for part in PARTS}
    amounts["overhead"] = peak_bytes - (sum(amounts.values()) - amounts["overhead"])
    return {part: Part(amount_bytes=amount, source=source_of(part)) for part, amount in amounts.items()}


def source_of(part: str) -> Source:
    """Statics are counted; coefficients come off traces of other releases than the target's, maybe."""
    return "exact" if part in EXACT else "assumed"


def module_of(peak: Alive, shape: ModelShape) -> str:
    """Where the peak is, as far as a formula knows."""
    if peak.layer:
        return f"layers.{0 if peak.layer == 'first' else shape.layers - 1}"
    return "loss" if peak.phase in ("forward", "backward") else ""


def phases(moments: list[Alive]) -> dict[str, int]:
    """The peak of each phase."""
    found: dict[str, int] = {}
    for phase in ("load", "forward", "backward", "optimizer"):
        found[phase] = max((moment.total_bytes for moment in moments if moment.phase == phase), default=0)
    return found
