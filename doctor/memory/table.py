"""Sequence length against batch: what fits, for one plan."""

from __future__ import annotations

import msgspec

from doctor.facts import Gap
from doctor.memory.answer import Cell
from doctor.memory.estimate import Device, Estimate
from doctor.memory.estimator import Estimator
from doctor.memory.plan import Plan
from doctor.memory.search import longest
from doctor.memory.shapes import ModelShape
from doctor.memory.verdict import verdict

LENGTHS, BATCHES = (512, 1024, 2048, 4096), (1, 2, 4)


def points(shape: ModelShape, plan: Plan) -> list[Plan]:
    """The plan at every length that the model takes with every batch, row by row."""
    lengths = [length for length in LENGTHS if length <= longest(shape)]
    return [
        msgspec.structs.replace(plan, sequence_length=length, batch_size=batch)
        for length in lengths
        for batch in BATCHES
    ]


def grid(shape: ModelShape, plan: Plan, device: Device, estimator: Estimator) -> tuple[Cell, ...]:
    """The table of one plan, by one call of the estimator."""
    plans = points(shape, plan)
    answers = estimator(shape, plans, device)
    return tuple(_cell(point, answer, device) for point, answer in zip(plans, answers, strict=False))


def _cell(point: Plan, answer: Estimate | Gap, device: Device) -> Cell:
    if isinstance(answer, Gap):
        return Cell(sequence_length=point.sequence_length, batch_size=point.batch_size, reason=answer.reason)
    return Cell(
        sequence_length=point.sequence_length,
        batch_size=point.batch_size,
        peak_bytes=answer.peak_bytes,
        verdict=verdict(answer, device),
    )
