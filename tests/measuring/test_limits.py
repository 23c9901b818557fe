"""What is refused before anything is started."""

from __future__ import annotations

import msgspec
import pytest

from doctor.measuring.limits import NotMeasurable, bound_bytes, check
from doctor.memory.estimate import Device, Estimate, Moment
from doctor.memory.plan import Plan

GIB = 1 << 30
CPU = Device(name="the CPU", kind="cpu", total_bytes=32 * GIB, free_bytes=20 * GIB)
GPU = Device(name="NVIDIA T4", total_bytes=15 * GIB, free_bytes=1 * GIB)


def needing(size_bytes: int) -> Estimate:
    return Estimate(
        plan=Plan(),
        tier="formula",
        parts={},
        peak_allocated_bytes=size_bytes,
        peak_reserved_bytes=size_bytes,
        context_bytes=0,
        error=0.1,
        moment=Moment(phase="forward"),
        trainable_parameters=1,
        total_parameters=1,
    )


def test_a_run_that_would_kill_the_machine_is_refused_with_its_figures() -> None:
    with pytest.raises(NotMeasurable, match=r"about 24\.0 GiB of memory, and 20\.0 GiB are free") as told:
        check(Plan(), CPU, needing(24 * GIB), None)
    assert "--limit" in told.value.hint


def test_what_the_machine_has_is_run() -> None:
    check(Plan(), CPU, needing(10 * GIB), None)
    check(Plan(), msgspec.structs.replace(CPU, free_bytes=None), needing(99 * GIB), None)


def test_under_a_limit_running_out_is_a_result() -> None:
    check(Plan(), CPU, needing(24 * GIB), 4 * GIB)
    with pytest.raises(NotMeasurable, match=r"limit of 24\.0 GiB is more than the 20\.0 GiB"):
        check(Plan(), CPU, None, 24 * GIB)


def test_on_a_gpu_running_out_is_a_result() -> None:
    check(Plan(), GPU, needing(24 * GIB), None)


@pytest.mark.parametrize("how", [{"gpus": 2}, {"sharding": "zero3"}, {"offload": "optimizer"}])
def test_a_plan_that_divides_its_work_is_refused(how: dict[str, object]) -> None:
    with pytest.raises(NotMeasurable, match="one device"):
        check(Plan(**how), GPU, None, None)  # type: ignore[arg-type]


def test_a_run_on_the_cpu_is_bounded_always() -> None:
    assert bound_bytes(CPU, None) == 18 * GIB
    assert bound_bytes(CPU, 4 * GIB) == 4 * GIB
    assert bound_bytes(CPU, 19 * GIB) == 18 * GIB
    assert bound_bytes(GPU, 4 * GIB) is None
