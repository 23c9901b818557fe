"""What measurements on a machine do to the next prediction: bounded, and never more than they say."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doctor.memory.calibrated import Residual, corrected, correction_of, residual_of
from doctor.memory.estimate import PARTS, Estimate, Moment, Part
from doctor.memory.measured import Measurement, Phase
from doctor.memory.plan import Plan

MIB, GIB = 1 << 20, 1 << 30
RESERVED, ALLOCATED, CONTEXT = 10 * GIB, 9 * GIB, 300 * MIB


def estimate(calibrated: int = 0) -> Estimate:
    overhead = RESERVED + calibrated - ALLOCATED + CONTEXT
    sizes = dict.fromkeys(PARTS, 0) | {"weights": ALLOCATED, "overhead": overhead}
    return Estimate(
        plan=Plan(),
        tier="trace",
        parts={name: Part(amount_bytes=size, source="traced") for name, size in sizes.items()},
        peak_allocated_bytes=ALLOCATED,
        peak_reserved_bytes=RESERVED + calibrated,
        context_bytes=CONTEXT,
        error=0.04,
        moment=Moment(phase="backward"),
        trainable_parameters=1,
        total_parameters=2,
        calibrated_bytes=calibrated,
    )


def measurement(
    reserved: int, *, kind: str = "cuda", outcome: str = "ok", context: int | None = None
) -> Measurement:
    return Measurement(
        plan=Plan(),
        kind=kind,  # type: ignore[arg-type]
        device="NVIDIA T4",
        outcome=outcome,  # type: ignore[arg-type]
        phases={"backward": Phase(allocated_bytes=ALLOCATED, alive_bytes=0, reserved_bytes=reserved)},
        context_bytes=context,
    )


def residual(missed: int, context: int | None = None) -> Residual:
    return Residual(measured_reserved=RESERVED + missed, predicted_reserved=RESERVED, context=context)


def test_half_of_a_single_miss_is_believed_and_the_error_only_widens() -> None:
    correction = correction_of([residual(1000 * MIB, 440 * MIB)])
    assert correction is not None
    found = corrected(estimate(), correction)
    assert found.peak_reserved_bytes == RESERVED + 500 * MIB
    assert found.context_bytes == 440 * MIB
    assert found.error == pytest.approx(1000 * MIB / RESERVED)  # 9.8 %, more than the tier's 4 %
    assert found.notes == (
        "corrected by one measurement on this machine: reserved +500 MiB, context +140 MiB",
    )
    small = correction_of([residual(MIB)])
    assert small is not None and corrected(estimate(), small).error == 0.04


def test_three_that_agree_narrow_the_error() -> None:
    correction = correction_of([residual(390 * MIB), residual(400 * MIB), residual(410 * MIB)])
    assert correction is not None
    found = corrected(estimate(), correction)
    assert found.peak_reserved_bytes == RESERVED + 300 * MIB  # 3/4 of the median
    # What is left: at most 110 MiB of 10240, twice that.
    assert found.error == pytest.approx(2 * 110 / 10240)


def test_measurements_that_disagree_shift_nothing() -> None:
    correction = correction_of([residual(300 * MIB), residual(-300 * MIB)])
    assert correction is not None and correction.reserved_shift_bytes == 0


def test_no_measurement_is_no_correction() -> None:
    assert correction_of([]) is None


def test_a_context_that_cannot_be_is_passed_over() -> None:
    correction = correction_of([residual(0, 1 * MIB), residual(0, 90 * GIB), residual(0, 500 * MIB)])
    assert correction is not None and correction.context_bytes == 500 * MIB


@given(
    st.lists(
        st.tuples(st.integers(-RESERVED, 50 * RESERVED), st.none() | st.integers(0, 1 << 45)), max_size=6
    )
)
def test_whatever_was_measured_the_estimate_stays_whole(told: list[tuple[int, int | None]]) -> None:
    correction = correction_of([residual(missed, context) for missed, context in told])
    if correction is None:
        return
    found = corrected(estimate(), correction)
    assert sum(part.amount_bytes for part in found.parts.values()) == found.peak_bytes
    assert found.peak_reserved_bytes >= found.peak_allocated_bytes
    assert abs(found.peak_reserved_bytes - RESERVED) <= 0.1 * RESERVED
    assert all(part.amount_bytes >= 0 for part in found.parts.values())
    assert found.error >= 0.02


def test_a_residual_is_of_the_prediction_without_its_correction() -> None:
    found = residual_of(measurement(RESERVED + 700), estimate(calibrated=400))
    assert found is not None and found.predicted_reserved == RESERVED and found.missed_bytes == 700


@pytest.mark.parametrize("how", [{"outcome": "out-of-memory"}, {"outcome": "failed"}, {"kind": "cpu"}])
def test_what_says_nothing_of_a_gpu_is_not_kept(how: dict[str, str]) -> None:
    assert residual_of(measurement(RESERVED, **how), estimate()) is None  # type: ignore[arg-type]
