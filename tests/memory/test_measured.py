"""A measurement beside its prediction: what is compared, and what is left out."""

from __future__ import annotations

from typing import Any

from doctor.memory.estimate import Estimate, Moment, Part
from doctor.memory.measured import Difference, Measurement, Phase, differences
from doctor.memory.plan import Plan

ESTIMATE = Estimate(
    plan=Plan(),
    tier="trace",
    parts={
        "weights": Part(amount_bytes=400, source="exact"),
        "optimizer": Part(amount_bytes=16, source="exact"),
    },
    peak_allocated_bytes=990,
    peak_reserved_bytes=1100,
    context_bytes=50,
    error=0.04,
    moment=Moment(phase="backward"),
    trainable_parameters=4,
    total_parameters=200,
    phases={"load": 410, "backward": 990, "optimizer": 500},
)


def measurement(**how: Any) -> Measurement:
    phases = {
        "load": Phase(allocated_bytes=400, alive_bytes=400, reserved_bytes=500),
        "forward": Phase(allocated_bytes=800, alive_bytes=700, reserved_bytes=900),
        "backward": Phase(allocated_bytes=1000, alive_bytes=450, reserved_bytes=1250),
    }
    counted = {"weights_bytes": 400, "optimizer_bytes": 16, "trainable_parameters": 4, "context_bytes": 40}
    usual = {"plan": Plan(), "kind": "cuda", "device": "NVIDIA T4", "outcome": "ok", "phases": phases}
    return Measurement(**{**usual, **counted, **how})


def test_each_number_stands_beside_its_prediction() -> None:
    found = differences(measurement(), ESTIMATE)
    assert [(one.name, one.measured, one.predicted) for one in found] == [
        ("load", 400, 410),
        ("backward", 1000, 990),
        ("allocated", 1000, 990),
        ("reserved", 1250, 1100),
        ("context", 40, 50),
        ("weights", 400, 400),
        ("optimizer states", 16, 16),
        ("trainable parameters", 4, 4),
    ]
    assert [round(one.relative, 3) for one in found[:2]] == [0.025, -0.01]


def test_of_a_run_that_broke_off_the_phases_it_reached_are_compared() -> None:
    found = differences(measurement(outcome="out-of-memory"), ESTIMATE)
    assert [one.name for one in found] == ["load", "backward"]


def test_the_cpu_has_no_allocator_of_cuda() -> None:
    names = {one.name for one in differences(measurement(kind="cpu"), ESTIMATE)}
    assert "allocated" in names and not names & {"reserved", "context"}


def test_a_miss_of_nothing_is_none() -> None:
    assert Difference(name="adapter", measured=0, predicted=5).relative == 0.0
