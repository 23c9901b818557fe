"""The best plan that fits: from the recommended recipe down a ladder of what costs least, then up again.

A ladder of plans is walked, the one that should learn most first. A quick estimator finds the rung, a sure
one confirms it; what is left of the memory then goes into length and batch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import msgspec

from doctor.facts import Gap
from doctor.memory.answer import Best
from doctor.memory.estimate import Device, Estimate
from doctor.memory.estimator import Estimator
from doctor.memory.plan import Plan
from doctor.memory.shapes import ModelShape
from doctor.memory.verdict import verdict

# The recipe to begin with: the base in 16 bits, adapters on all linear layers (arXiv 2305.14314 finds that
# these decide, more than the rank), and 16 sequences a step.
RECOMMENDED: Mapping[str, Any] = {
    "method": "lora",
    "rank": 16,
    "target_modules": ("all-linear",),
    "batch_size": 4,
    "accumulation": 4,
    "sequence_length": 2048,
    "gradient_checkpointing": True,
    "double_quant": True,
    "expandable_segments": True,
}
SEQUENCES_A_STEP = 16
# What is given up, in this order; the first field of each tells whether a plan has given it up.
RUNGS: tuple[tuple[Mapping[str, Any], str], ...] = (
    ({"fused_loss": True}, "the loss in tiles: the same loss; Trainer needs liger-kernel for it"),
    ({"batch_size": 1, "accumulation": 16}, "one sequence at a time: the same step, only slower"),
    (
        {"method": "qlora", "kbit_upcast": False, "adapter_dtype": None},
        "frozen weights in NF4: little is lost, a step takes longer",
    ),
    ({"optimizer": "paged_adamw_8bit"}, "optimizer states in 8 bits, paged"),
    ({"sequence_length": 1024}, "sequences of 1024 tokens: longer examples are cut"),
    ({"sequence_length": 512}, "sequences of 512 tokens: longer examples are cut"),
    ({"target_modules": ("q_proj", "v_proj")}, "adapters on q_proj and v_proj alone: less to learn with"),
    ({"rank": 8}, "rank 8: less to learn with"),
    ({"sequence_length": 256}, "sequences of 256 tokens"),
)
Reasons = Callable[[Plan], tuple[str, ...]]

LONGEST = 32768  # tokens: nobody's first fine-tune needs more
MOST_TOGETHER = 16
# Plans that the sure estimator is asked for at most: of the ladder, and of those above a rung of it.
CONFIRMED, RAISED = 4, 3


def best(
    shape: ModelShape,
    asked: Plan,
    pinned: Sequence[str],
    device: Device,
    quick: Estimator,
    sure: Estimator | None = None,
) -> Best:
    """The best plan that fits into what ``device`` has free.

    ``pinned`` are the fields of ``asked`` that must stay as they are. ``quick`` and ``sure`` may be one.
    """
    sure = sure or quick
    reasons = partial(given_up, asked=asked, pinned=pinned)
    ladder = list(candidates(shape, asked, pinned))
    answers = list(quick(shape, ladder, device))
    if not any(isinstance(answer, Estimate) for answer in answers):  # no quick way for this model
        quick, answers = sure, list(sure(shape, ladder, device))
    likely = [plan for plan, answer in zip(ladder, answers, strict=False) if _may_fit(answer, device)]
    if not likely:
        nearest = _nothing_fits(answers).nearest
        return _nothing_fits(list(sure(shape, [nearest.plan], device)) if nearest else answers)
    raised = _raised(shape, likely[0], pinned, device, quick)
    tried = [*raised[:RAISED], *likely[:CONFIRMED]]
    found, rung = _confirmed(shape, tried, device, sure, reasons)
    if rung is None or rung not in likely[1:]:
        return found
    # A lower rung than was likely: it may have room above it as well.
    higher = _raised(shape, rung, pinned, device, quick)[:RAISED]
    again = _confirmed(shape, higher, device, sure, reasons)[0] if higher else found
    return again if again.estimate else found


def candidates(shape: ModelShape, asked: Plan, pinned: Sequence[str]) -> Iterator[Plan]:
    """The ladder from the recommended recipe down, each plan once; pinned fields never change."""
    plan = _with(asked, _free(RECOMMENDED, pinned))
    plan = _with(plan, {"sequence_length": min(plan.sequence_length, longest(shape))})
    yield plan
    for fields, _ in RUNGS:
        smaller = _with(plan, _free(_no_larger(fields, plan), pinned))
        if smaller != plan and _has(shape, fields.get("target_modules", ())):
            plan = smaller
            yield plan


def given_up(plan: Plan, asked: Plan, pinned: Sequence[str]) -> tuple[str, ...]:
    """What a plan lacks of the recipe, and of what was asked beyond it, in the order of the ladder."""
    found = []
    for fields, reason in RUNGS:
        name, value = next(iter(fields.items()))
        wanted = RECOMMENDED.get(name, getattr(asked, name))
        if name not in pinned and getattr(plan, name) == value != wanted:
            found.append(reason)
    return tuple(found)


def longest(shape: ModelShape) -> int:
    """The tokens that a model takes, as its config says; LONGEST where it does not, or allows more."""
    stated = shape.config.get("max_position_embeddings")
    return min(stated, LONGEST) if isinstance(stated, int) and stated > 0 else LONGEST


def _has(shape: ModelShape, targets: Sequence[str]) -> bool:
    """Has a model layers by all these names? One whose projections are fused has not."""
    return set(targets) <= {matrix.name for matrix in shape.matrices}


def _no_larger(fields: Mapping[str, Any], plan: Plan) -> Mapping[str, Any]:
    """Without what would make a plan longer or its rank larger again."""
    never_up = ("sequence_length", "rank")
    return {n: value for n, value in fields.items() if n not in never_up or value < getattr(plan, n)}


def _raised(
    shape: ModelShape, plan: Plan, pinned: Sequence[str], device: Device, quick: Estimator
) -> list[Plan]:
    """Longer sequences as far as they fit, then more of them at once; the largest first."""
    found: list[Plan] = []
    for larger in (_twice_as_long, _twice_as_many):
        while (next_one := larger(shape, found[0] if found else plan, pinned)) is not None:
            if not _may_fit(_one(quick, shape, next_one, device), device):
                break
            found.insert(0, next_one)
    return found


def _twice_as_long(shape: ModelShape, plan: Plan, pinned: Sequence[str]) -> Plan | None:
    twice = plan.sequence_length * 2
    is_free = "sequence_length" not in pinned and twice <= min(longest(shape), 4096)
    return _with(plan, {"sequence_length": twice}) if is_free else None


def _twice_as_many(shape: ModelShape, plan: Plan, pinned: Sequence[str]) -> Plan | None:
    twice = plan.batch_size * 2
    if {"batch_size", "accumulation"} & set(pinned) or twice > MOST_TOGETHER:
        return None
    return _with(plan, {"batch_size": twice, "accumulation": max(SEQUENCES_A_STEP // twice, 1)})


def _confirmed(
    shape: ModelShape, ladder: Sequence[Plan], device: Device, sure: Estimator, reasons: Reasons
) -> tuple[Best, Plan | None]:
    """The first plan that fits by the sure estimator too, as an answer and as it stands in the ladder."""
    answers: list[Estimate | Gap] = []
    for plan, answer in zip(ladder, sure(shape, ladder, device), strict=False):
        answers.append(answer)
        if isinstance(answer, Estimate) and verdict(answer, device) == "fits":
            return Best(estimate=answer, reasons=reasons(plan)), plan
    return _nothing_fits(answers), None


def _nothing_fits(answers: Sequence[Estimate | Gap]) -> Best:
    """Nothing, and how near the smallest plan comes to it."""
    estimates = [answer for answer in answers if isinstance(answer, Estimate)]
    if not estimates:
        reasons = [answer.reason for answer in answers if isinstance(answer, Gap)]
        return Best(estimate=None, reasons=tuple(reasons[:1]) or ("nothing could be estimated",))
    nearest = min(estimates, key=lambda one: one.peak_bytes)
    return Best(estimate=None, reasons=("not even the smallest plan fits for sure",), nearest=nearest)


def _may_fit(answer: Estimate | Gap, device: Device) -> bool:
    return isinstance(answer, Estimate) and verdict(answer, device) in ("fits", "tight")


def _one(estimator: Estimator, shape: ModelShape, plan: Plan, device: Device) -> Estimate | Gap:
    return next(iter(estimator(shape, [plan], device)))


def _free(fields: Mapping[str, Any], pinned: Sequence[str]) -> Mapping[str, Any]:
    return {name: value for name, value in fields.items() if name not in pinned}


def _with(plan: Plan, fields: Mapping[str, Any]) -> Plan:
    changed: Plan = msgspec.structs.replace(plan, **fields)
    return changed
