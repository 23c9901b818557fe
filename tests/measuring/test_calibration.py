"""Residuals between runs: kept by machine, bounded, and a file that cannot be believed is passed over."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

import msgspec
import pytest
from fakes import FakeHost
from hypothesis import given
from hypothesis import strategies as st

from doctor.facts import Gap
from doctor.measuring.calibration import IGNORED, KEPT, KEPT_RESIDUALS, calibrated, correction, remember
from doctor.memory.estimate import Device, Estimate, Moment, Part
from doctor.memory.measured import Measurement, Phase
from doctor.memory.plan import Plan
from doctor.memory.shapes import ModelShape

MIB, GIB = 1 << 20, 1 << 30
T4 = Device(name="NVIDIA T4", driver="550.54.14", total_bytes=15 * GIB, free_bytes=15 * GIB)
VERSIONS = {"torch": "2.13.0+cu126"}
SHAPE = ModelShape(
    name="tiny",
    config={},
    source="list",
    layers=1,
    hidden=1,
    heads=1,
    kv_heads=1,
    head_dim=1,
    intermediate=1,
    vocab=1,
)


def estimate() -> Estimate:
    return Estimate(
        plan=Plan(),
        tier="trace",
        parts={
            "weights": Part(amount_bytes=GIB, source="exact"),
            "overhead": Part(amount_bytes=2 * GIB, source="assumed"),
        },
        peak_allocated_bytes=GIB,
        peak_reserved_bytes=2 * GIB,
        context_bytes=GIB,
        error=0.04,
        moment=Moment(phase="backward"),
        trainable_parameters=1,
        total_parameters=2,
    )


def measurement(reserved: int = 2 * GIB + 100 * MIB, context: int | None = 400 * MIB) -> Measurement:
    phases = {"backward": Phase(allocated_bytes=GIB, alive_bytes=GIB, reserved_bytes=reserved)}
    return Measurement(
        plan=Plan(),
        kind="cuda",
        device=T4.name,
        outcome="ok",
        phases=phases,
        context_bytes=context,
        versions=VERSIONS,
    )


def one_estimate(shape: ModelShape, plans: Sequence[Plan], device: Device) -> Iterator[Estimate | Gap]:
    yield estimate()
    yield Gap(about="memory", kind="failed", reason="no such module")


def test_what_was_measured_corrects_the_next_prediction_on_this_machine() -> None:
    host = FakeHost()
    assert correction(host, T4, VERSIONS, "trace") is None
    remember(host, T4, measurement(), estimate())
    found, gap = calibrated(host, one_estimate, VERSIONS)(SHAPE, [Plan(), Plan()], T4)
    assert isinstance(found, Estimate) and isinstance(gap, Gap)
    assert (found.peak_reserved_bytes, found.context_bytes) == (2 * GIB + 50 * MIB, 400 * MIB)
    assert found.peak_bytes == sum(part.amount_bytes for part in found.parts.values())


@pytest.mark.parametrize(
    ("device", "versions", "tier"),
    [
        (msgspec.structs.replace(T4, name="NVIDIA L4"), VERSIONS, "trace"),
        (msgspec.structs.replace(T4, driver="535.104.05"), VERSIONS, "trace"),
        (msgspec.structs.replace(T4, driver=""), VERSIONS, "trace"),  # one that options describe
        (msgspec.structs.replace(T4, kind="cpu"), VERSIONS, "trace"),
        (T4, {"torch": "2.12.0"}, "trace"),
        (T4, VERSIONS, "formula"),
    ],
)
def test_it_says_nothing_of_another_machine(device: Device, versions: dict[str, str], tier: str) -> None:
    host = FakeHost()
    remember(host, T4, measurement(), estimate())
    assert correction(host, device, versions, tier) is None


def test_the_newest_are_kept() -> None:
    host = FakeHost()
    for number in range(KEPT_RESIDUALS + 5):
        remember(host, T4, measurement(2 * GIB + number), estimate())
    (kept,) = json.loads(host.kept[KEPT])["machines"].values()
    assert [row["measured_reserved"] - 2 * GIB for row in kept] == list(range(5, KEPT_RESIDUALS + 5))


HOSTILE = [
    b"",
    b"{",
    b"[" * 100_000,
    b"\xff\xfe\x00",
    b'{"schema": 2, "machines": {}}',
    b'{"schema": 1, "machines": {"x": [{"measured_reserved": -1, "predicted_reserved": 1}]}}',
    b'{"schema": 1, "machines": {"x": [{"measured_reserved": 1, "predicted_reserved": 0}]}}',
    b'{"schema": 1, "machines": {"x": [{"measured_reserved": 1e400, "predicted_reserved": 1}]}}',
    b'{"schema": 1, "machines": {"x": [{"measured_reserved": 999999999999999999, "predicted_reserved": 2}]}}',
]


@pytest.mark.parametrize("content", HOSTILE)
def test_a_broken_file_is_ignored_with_a_word(content: bytes) -> None:
    host = FakeHost()
    host.cache(KEPT, content)
    found, _ = calibrated(host, one_estimate, VERSIONS)(SHAPE, [Plan(), Plan()], T4)
    assert isinstance(found, Estimate) and found.notes == (IGNORED,)
    assert found.peak_bytes == estimate().peak_bytes
    remember(host, T4, measurement(), estimate())
    told = correction(host, T4, VERSIONS, "trace")
    assert told is not None and told.points == 1


@given(st.binary(max_size=200))
def test_no_file_breaks_a_prediction(content: bytes) -> None:
    host = FakeHost()
    host.cache(KEPT, content)
    correction(host, T4, VERSIONS, "trace")
