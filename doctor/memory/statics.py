"""What stays on the device for a whole run, counted exactly: weights, adapters, gradients, optimizer states.

Nothing is rounded up to the allocator's blocks.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil

from doctor.fact import Fact
from doctor.memory.optimizers import Trained, shared_bytes, states
from doctor.memory.plan import Plan
from doctor.memory.shapes import Matrix, ModelShape
from doctor.memory.targets import Adapted, adapted, recipe, saved

ITEM_BYTES = {"bfloat16": 2, "float16": 2, "float32": 4}
# bitsandbytes/functional.py, quantize_4bit: two elements a byte, one float32 scale a block, and the 16 levels
# of NF4 beside each matrix. Double quantisation keeps scales in 8 bits, a float32 a nested block, an offset.
NF4_BLOCK, NESTED_BLOCK, LEVELS_BYTES = 64, 256, 16 * 4
NESTED_MAP_BYTES = 256 * 4  # beside each matrix; before 0.46 all of them shared one


class Statics(Fact, frozen=True, kw_only=True):
    """Bytes by part, as they are once the optimizer has made its first step."""

    weights_bytes: int  # frozen ones included, quantised ones with their scales
    adapter_bytes: int  # of the adapter, and of modules that are trained as copies
    gradients_bytes: int
    optimizer_bytes: int
    paged_bytes: int = (
        0  # of the optimizer's: they lie in managed memory, and may leave where the device is full
    )
    trainable_parameters: int
    quantised_parameters: int = 0


def count(shape: ModelShape, plan: Plan) -> Statics:
    """The statics of one plan. Raises PlanInvalid where the adapter fits no module of the model.

    Paged states count as on the device: they stay there for as long as there is room.
    """
    trained = tuple(trained_tensors(shape, plan))
    trainer = plan.loop != "bare"
    kept = [states(plan.optimizer, item, trainer) for item in trained]
    trained_bytes = sum(item.times * item.elements * item.item_bytes for item in trained)
    return Statics(
        weights_bytes=weights_bytes(shape, plan),
        adapter_bytes=0 if plan.method == "full" else trained_bytes,
        gradients_bytes=trained_bytes,
        optimizer_bytes=sum(item.total_bytes for item in kept)
        + shared_bytes(plan.optimizer, trained, trainer),
        paged_bytes=sum(item.paged_bytes for item in kept),
        trainable_parameters=sum(item.times * item.elements for item in trained),
        quantised_parameters=sum(
            _elements(matrix) for matrix in shape.matrices if is_quantised(matrix, plan)
        ),
    )


def is_quantised(matrix: Matrix, plan: Plan) -> bool:
    """Does bitsandbytes take it? Embeddings, the head and what is no plain Linear stay as they are."""
    return plan.method == "qlora" and matrix.is_linear and not matrix.derived


def weights_bytes(shape: ModelShape, plan: Plan) -> int:
    """The model's own weights as they lie on the device."""
    quantised = [matrix for matrix in shape.matrices if is_quantised(matrix, plan)]
    plain = [matrix for matrix in shape.matrices if not is_quantised(matrix, plan)]
    total = sum(
        plain_item_bytes(plan) * (matrix.parameters - _elements(matrix)) for matrix in quantised
    )  # biases
    total += sum(plain_item_bytes(plan, matrix) * matrix.parameters for matrix in plain)
    return total + sum(matrix.count * nf4_bytes(matrix, plan.double_quant) for matrix in quantised)


def plain_item_bytes(plan: Plan, matrix: Matrix | None = None) -> int:
    """Of a weight that is not quantised: prepare_model_for_kbit_training makes float32 of it."""
    upcast = plan.method == "qlora" and plan.kbit_upcast
    return 4 if upcast or (matrix is not None and matrix.float32) else ITEM_BYTES[plan.dtype]


def nf4_bytes(matrix: Matrix, double_quant: bool) -> int:
    """One matrix in NF4, without its bias."""
    elements = matrix.rows * matrix.columns
    blocks = ceil(elements / NF4_BLOCK)
    nested = blocks + 4 * ceil(blocks / NESTED_BLOCK) + 4 + NESTED_MAP_BYTES
    scales = nested if double_quant else 4 * blocks
    return ceil(elements / 2) + scales + LEVELS_BYTES


def trained_tensors(shape: ModelShape, plan: Plan) -> Iterator[Trained]:
    """Every tensor that is trained. Raises PlanInvalid."""
    if plan.method == "full":
        for matrix in shape.matrices:
            yield from _whole(matrix, matrix.count, plain_item_bytes(plan, matrix))
        return
    how = recipe(plan)
    item = ITEM_BYTES[plan.adapter_dtype or "float32"]
    for found in adapted(shape, how):
        yield from _pair(found, item, how.dora)
        if how.biases == "lora_only" and found.matrix.bias:
            yield Trained((found.matrix.rows,), found.times, plain_item_bytes(plan))
    biased = [matrix for matrix in shape.matrices if matrix.bias and not matrix.fused and how.biases == "all"]
    yield from (Trained((matrix.rows,), matrix.count, plain_item_bytes(plan)) for matrix in biased)
    for matrix, times in saved(shape, how):
        yield from _whole(matrix, times, plain_item_bytes(plan, matrix))


def _pair(found: Adapted, item_bytes: int, dora: bool) -> Iterator[Trained]:
    """lora_A and lora_B; DoRA's magnitudes are float32 wherever adapters are."""
    matrix = found.matrix
    inner, outer = matrix.columns, matrix.rows
    if matrix.role == "embedding":
        inner, outer = outer, inner
    yield Trained((found.rank, inner), found.times, item_bytes)
    yield Trained((outer, found.rank), found.times, item_bytes)
    if dora:
        yield Trained((outer,), found.times, 4)


def _whole(matrix: Matrix, times: int, item_bytes: int) -> Iterator[Trained]:
    embedding = matrix.role == "embedding"
    if matrix.columns == 1:
        yield Trained((matrix.rows,), times, item_bytes)
    else:
        yield Trained((matrix.rows, matrix.columns), times, item_bytes, embedding)
    if matrix.bias:
        yield Trained((matrix.rows,), times, item_bytes)


def _elements(matrix: Matrix) -> int:
    """Without biases."""
    return matrix.count * matrix.rows * matrix.columns
