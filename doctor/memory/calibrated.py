"""What measurements on a machine say of the next prediction there, and how far they are believed.

Two things of a prediction are constants of a machine, so that measuring them once helps every plan: the
context of the driver, and what the allocator holds beyond what is allocated. They alone are corrected. Peaks
of what is allocated are arithmetic: where they differ the plan differs, and a factor would hide it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Annotated, Literal

import msgspec

from doctor.fact import Fact
from doctor.memory.estimate import Estimate, Part
from doctor.memory.measured import Measurement

MOST_SHIFT = 0.10  # of the predicted reserved: beyond it the plan differs, not a constant
CONTEXT_BYTES = (32 << 20, 4 << 30)  # what a context can be; of the CPU, the libraries of the run
NARROW_FROM = 3  # measurements from which on the error may become narrower
LEAST_ERROR = 0.02
_MIB = 1 << 20

Bytes = Annotated[int, msgspec.Meta(ge=0, le=1 << 50)]


class Residual(Fact, frozen=True, kw_only=True):
    """One measurement beside its prediction, in bytes."""

    measured_reserved: Bytes
    predicted_reserved: Annotated[int, msgspec.Meta(ge=1, le=1 << 50)]
    context: Bytes | None = None
    plan: str = ""  # in words, for whoever reads the file

    @property
    def missed_bytes(self) -> int:
        """Positive where more was reserved than predicted."""
        return self.measured_reserved - self.predicted_reserved


class Correction(Fact, frozen=True, kw_only=True):
    """What is added to a prediction. ``error`` is None where the tier's own stands."""

    points: int  # measurements that it rests on
    context_bytes: int | None = None
    reserved_shift_bytes: int = 0
    widest: float = 0.0  # the largest relative miss of a prediction
    error: float | None = None  # what is left of it, from NARROW_FROM measurements on
    notes: tuple[str, ...] = ()


def residual_of(measurement: Measurement, estimate: Estimate) -> Residual | None:
    """What is kept of a measurement; None of one that did not run to its end, and of one on the CPU.

    Predictions are of CUDA's allocator and context, which the CPU has not.
    """
    predicted = estimate.peak_reserved_bytes - estimate.calibrated_bytes  # as the tier itself predicted
    if measurement.outcome != "ok" or measurement.kind == "cpu":
        return None
    if not measurement.peak_reserved_bytes or predicted < 1:
        return None
    plan = estimate.plan
    return Residual(
        measured_reserved=measurement.peak_reserved_bytes,
        predicted_reserved=predicted,
        context=measurement.context_bytes,
        plan=f"{plan.method}, {plan.loop}, {plan.batch_size} x {plan.sequence_length}",
    )


def correction_of(residuals: Sequence[Residual]) -> Correction | None:
    """What the measurements of one machine say together; None of no measurement.

    The shift is the median miss, of which n measurements are given n/(n+1): half of a single one. Where they
    disagree on its direction there is no constant, and so no shift.
    """
    if not residuals:
        return None
    misses = [residual.missed_bytes for residual in residuals]
    one_way = min(misses) >= 0 or max(misses) <= 0
    shift = int(median(misses) * len(misses) / (len(misses) + 1)) if one_way else 0
    left = max(abs(one.missed_bytes - shift) / one.predicted_reserved for one in residuals)
    return Correction(
        points=len(residuals),
        context_bytes=_context(residuals),
        reserved_shift_bytes=shift,
        widest=max(abs(one.missed_bytes) / one.predicted_reserved for one in residuals),
        error=max(2 * left, LEAST_ERROR) if len(residuals) >= NARROW_FROM else None,
    )


def _context(residuals: Sequence[Residual]) -> int | None:
    """The largest: a run that needs more kernels loads more."""
    least, most = CONTEXT_BYTES
    told = [one.context for one in residuals if one.context is not None and least <= one.context <= most]
    return max(told, default=None)


def corrected(estimate: Estimate, correction: Correction) -> Estimate:
    """The estimate with what measurements on this machine say; its parts still add up to its peak.

    Below NARROW_FROM measurements the error only becomes wider: to the largest miss that was seen.
    """
    notes = (*estimate.notes, *correction.notes)
    if not correction.points:
        return msgspec.structs.replace(estimate, notes=notes)
    overhead = estimate.parts["overhead"]
    most = int(MOST_SHIFT * estimate.peak_reserved_bytes)
    shift = min(max(correction.reserved_shift_bytes, -most), most)
    context = estimate.context_bytes if correction.context_bytes is None else correction.context_bytes
    # What is reserved is never less than what is allocated.
    shift = max(shift, estimate.peak_allocated_bytes - estimate.peak_reserved_bytes)
    amount = overhead.amount_bytes + shift + context - estimate.context_bytes
    if amount < 0:
        return msgspec.structs.replace(estimate, notes=notes)
    parts = {**estimate.parts, "overhead": Part(amount_bytes=amount, source="measured")}
    error = correction.error
    return msgspec.structs.replace(
        estimate,
        parts=parts,
        peak_reserved_bytes=estimate.peak_reserved_bytes + shift,
        context_bytes=context,
        calibrated_bytes=shift,
        error=max(estimate.error, correction.widest) if error is None else error,
        notes=(*notes, _note(correction.points, shift, context - estimate.context_bytes)),
    )


def _note(points: int, shift_bytes: int, context_shift_bytes: int) -> str:
    times = "one measurement" if points == 1 else f"{points} measurements"
    return (
        f"corrected by {times} on this machine: reserved {shift_bytes / _MIB:+.0f} MiB, "
        f"context {context_shift_bytes / _MIB:+.0f} MiB"
    )


class Store(Fact, frozen=True, kw_only=True):
    """The file in which residuals are kept, by machine."""

    schema: Literal[1] = 1
    machines: Mapping[str, tuple[Residual, ...]] = {}
