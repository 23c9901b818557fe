"""What makes a plan smaller, what each lever saves for this very plan, and what it costs.

In the order of what a lever costs: first what is free, then what takes time, then what the result may feel.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import msgspec

from doctor.fact import Fact
from doctor.memory.answer import Saving
from doctor.memory.estimate import Device, Estimate
from doctor.memory.estimator import Estimator
from doctor.memory.plan import Plan
from doctor.memory.shapes import ModelShape
from doctor.memory.smaller import next_smaller
from doctor.memory.verdict import against

Change = Callable[[Plan], Plan | None]  # None where the plan has it already, or where it means nothing

# Below both a saving is none that anybody would notice.
NOTICED_SHARE, NOTICED_BYTES = 0.01, 64 << 20
SHORTEST, SMALLEST_RANK, MICRO_BATCHES = 512, 4, 16
ATTENTION_PAIR = ("q_proj", "v_proj")


class Lever(Fact, frozen=True, kw_only=True):
    """One thing to change in a plan, and an honest sentence on what that costs."""

    name: str
    title: str
    cost: str
    change: Change


def changed(plan: Plan, **fields: object) -> Plan | None:
    """The plan with other values; None where it has them already."""
    other: Plan = msgspec.structs.replace(plan, **fields)
    return None if other == plan else other


def _without_upcast(plan: Plan) -> Plan | None:
    return changed(plan, kbit_upcast=False) if plan.method == "qlora" else None


def _without_scores(plan: Plan) -> Plan | None:
    return changed(plan, attention="sdpa") if plan.attention == "eager" else None


def _double_quantised(plan: Plan) -> Plan | None:
    return changed(plan, double_quant=True) if plan.method == "qlora" else None


def _one_at_a_time(plan: Plan) -> Plan | None:
    together = plan.batch_size * plan.accumulation
    return changed(plan, batch_size=1, accumulation=together)


def _in_8_bits(plan: Plan) -> Plan | None:
    small = "8bit" in plan.optimizer or plan.optimizer in ("adafactor", "sgd")
    return None if small else changed(plan, optimizer="adamw_8bit")


def _paged(plan: Plan) -> Plan | None:
    return None if plan.optimizer.startswith("paged") else changed(plan, optimizer="paged_adamw_8bit")


def _adapter_alone(plan: Plan) -> Plan | None:
    return changed(plan, method="lora") if plan.method == "full" else None


def _quantised(plan: Plan) -> Plan | None:
    return (
        None
        if plan.method == "qlora"
        else changed(plan, method="qlora", double_quant=True, kbit_upcast=False, adapter_dtype=None)
    )


def _half_as_long(plan: Plan) -> Plan | None:
    half = plan.sequence_length // 2
    return changed(plan, sequence_length=half) if half >= 64 else None


def _attention_pair(plan: Plan) -> Plan | None:
    if plan.method == "full" or plan.adapter is not None:
        return None
    return changed(plan, target_modules=ATTENTION_PAIR)


def _half_the_rank(plan: Plan) -> Plan | None:
    if plan.method == "full" or plan.adapter is not None or plan.rank < 2 * SMALLEST_RANK:
        return None
    return changed(plan, rank=plan.rank // 2)


SMALLER_COST = "another model, which knows less; what counts is how it does on your task"
LEVERS = (
    Lever(
        name="expandable-segments",
        title="expandable segments of the allocator",
        cost="costs nothing: one environment variable, Linux alone; it takes effect before torch starts",
        change=lambda plan: changed(plan, expandable_segments=True),
    ),
    Lever(
        name="fused-loss",
        title="loss without whole logits",
        cost="the same loss, computed in tiles; needs TRL 1.7 (SFTTrainer) or liger-kernel",
        change=lambda plan: changed(plan, fused_loss=True),
    ),
    Lever(
        name="no-attention-scores",
        title="sdpa instead of eager attention",
        cost="the same result but for rounding, and faster; attention weights cannot be asked for",
        change=_without_scores,
    ),
    Lever(
        name="no-kbit-upcast",
        title="no prepare_model_for_kbit_training",
        cost="norms, embeddings and head stay in 16 bits, as in LoRA without quantisation",
        change=_without_upcast,
    ),
    Lever(
        name="double-quant",
        title="double quantisation",
        cost="a little slower; the QLoRA paper (arXiv 2305.14314) found no loss of quality",
        change=_double_quantised,
    ),
    Lever(
        name="optimizer-8bit",
        title="8-bit AdamW",
        cost="results as with 32 bits in its authors' tests (arXiv 2110.02861); needs bitsandbytes",
        change=_in_8_bits,
    ),
    Lever(
        name="optimizer-paged",
        title="paged 8-bit AdamW",
        cost="as 8-bit AdamW, and states may move to system memory: slow only where that happens",
        change=_paged,
    ),
    Lever(
        name="gradient-checkpointing",
        title="gradient checkpointing",
        cost="every step computes the forward pass twice: about a third more time",
        change=lambda plan: changed(plan, gradient_checkpointing=True),
    ),
    Lever(
        name="batch-1",
        title="batch of 1 with accumulation",
        cost="the same gradient for the optimizer; slower where one sequence does not fill the GPU",
        change=_one_at_a_time,
    ),
    Lever(
        name="adapter",
        title="LoRA instead of all weights",
        cost="learns less where the new task is far from what the model knows",
        change=_adapter_alone,
    ),
    Lever(
        name="nf4",
        title="frozen weights in NF4 (QLoRA)",
        cost="slower steps; the QLoRA paper found the quality of 16-bit LoRA; needs bitsandbytes",
        change=_quantised,
    ),
    Lever(
        name="half-length",
        title="half the sequence length",
        cost="longer examples are cut, and what is cut is not learned",
        change=_half_as_long,
    ),
    Lever(
        name="attention-targets",
        title="adapters on q_proj and v_proj alone",
        cost="less to learn with: the QLoRA paper needed adapters on all linear layers to match full tuning",
        change=_attention_pair,
    ),
    Lever(
        name="half-rank",
        title="half the rank",
        cost="less to learn with",
        change=_half_the_rank,
    ),
)


def pulled(plan: Plan, levers: Sequence[Lever] = LEVERS) -> list[tuple[Lever, Plan]]:
    """The levers that mean something for this plan, each with the plan that it makes."""
    return [(lever, other) for lever in levers if (other := lever.change(plan)) is not None]


def savings(shape: ModelShape, base: Estimate, device: Device, estimator: Estimator) -> Iterator[Saving]:
    """What each lever that this plan has not pulled yet would save.

    Both plans are estimated by ``estimator``, all in one call; the difference is laid on ``base``, which may
    be of a surer tier.
    """
    changes = pulled(base.plan)
    answers = estimator(shape, [base.plan, *(plan for _, plan in changes)], device)
    start = next(answers, None)
    if not isinstance(start, Estimate):
        return
    for (lever, _), answer in zip(changes, answers, strict=False):
        if isinstance(answer, Estimate) and answer.plan != start.plan:
            yield saving(lever, start, answer, base, device)
    yield from _smaller_model(shape, start, base, device, estimator)


def _smaller_model(
    shape: ModelShape, start: Estimate, base: Estimate, device: Device, estimator: Estimator
) -> Iterator[Saving]:
    """The last lever: the same plan for the next smaller model of the family."""
    other = next_smaller(shape)
    answer = next(estimator(other, [base.plan], device), None) if other else None
    if other and isinstance(answer, Estimate):
        title = f"a smaller model of the family: {other.name}"
        lever = Lever(name="smaller-model", title=title, cost=SMALLER_COST, change=lambda plan: None)
        yield saving(lever, start, answer, base, device)


def saving(lever: Lever, start: Estimate, answer: Estimate, base: Estimate, device: Device) -> Saving:
    """One lever's difference between two estimates of a tier, laid on the estimate that stands."""
    saved = start.peak_bytes - answer.peak_bytes
    after = msgspec.structs.replace(base, peak_reserved_bytes=max(base.peak_reserved_bytes - saved, 0))
    noticed = max(NOTICED_SHARE * base.peak_bytes, NOTICED_BYTES)
    return Saving(
        name=lever.name,
        title=lever.title,
        cost=lever.cost,
        plan=answer.plan,
        saves_bytes=saved,
        peak_bytes=after.peak_bytes,
        verdict="unknown" if device.free_bytes is None else against(after, device.free_bytes),
        tier=answer.tier,
        noticeable=saved >= noticed,
    )
