"""An estimate from a made-up stream, whose bill can be reckoned by hand."""

from __future__ import annotations

import pytest

from doctor.memory.estimate import PARTS, Device, Estimate, Held
from doctor.memory.plan import Plan
from doctor.memory.trace import POINTS, estimate_of

from .runs import MIB, Model, traced

T4 = Device(name="Tesla T4", compute_capability="7.5")
MODEL = Model(
    weights=(4 * MIB, 6 * MIB),
    activations=(3 * MIB,),
    adapters=(MIB,),
    hidden=2 * MIB,
    logits=100 * MIB,
    steps=2,
)


def estimate(device: Device = T4, *, layers: int = 10, expandable: bool = False) -> Estimate:
    return estimate_of(traced(MODEL, 4, layers), Plan(expandable_segments=expandable), device)


def test_the_bill_of_ten_layers() -> None:
    found = estimate(Device(kind="cpu"))
    amounts = {part: share.amount_bytes / MIB for part, share in found.parts.items()}
    # The second step's forward pass has come to its end: weights (5 and 10 a layer), adapters, their two
    # states, what the layers keep, what the last of them hands on, and the logits.
    assert amounts == {
        "weights": 5 + 10 * 10,
        "adapter": 10,
        "gradients": 0,
        "optimizer": 20,
        "activations": 10 * 3 + 2,
        "logits": 100,
        "overhead": 0,
    }
    assert found.peak_allocated_bytes == found.peak_reserved_bytes == found.peak_bytes == 267 * MIB
    assert found.context_bytes == 0
    assert (found.moment.phase, found.trainable_parameters) == ("forward", 10)


def test_parts_add_up_to_what_the_device_must_have() -> None:
    for device in (T4, Device(), Device(kind="cpu"), Device(compute_capability="9.0")):
        for expandable in (False, True):
            found = estimate(device, expandable=expandable)
            assert tuple(found.parts) == PARTS
            assert sum(part.amount_bytes for part in found.parts.values()) == found.peak_bytes
            assert found.peak_reserved_bytes >= found.peak_allocated_bytes
            assert found.parts["overhead"].amount_bytes >= found.context_bytes


def test_the_phases_and_the_timeline_lead_to_the_peak() -> None:
    found = estimate()
    assert list(found.phases) == ["load", "forward", "backward", "optimizer"]
    assert max(found.phases.values()) == found.phases["forward"] == found.peak_allocated_bytes
    assert max(allocated for _, allocated, _ in found.timeline) == found.peak_allocated_bytes
    assert max(reserved for *_, reserved in found.timeline) == found.peak_reserved_bytes
    assert len(found.timeline) <= POINTS + 8
    assert [phase for phase, *_ in found.timeline][0] == "load"


def test_loading_peaks_where_the_last_matrix_is_read() -> None:
    found = estimate(Device(kind="cpu"))
    # The last layer's larger matrix is read in twice its size, beside what is there already.
    assert found.phases["load"] == (5 + 9 * 11 + 4 + 12 + 6) * MIB


def test_what_holds_most_is_told_for_all_layers_at_once() -> None:
    weights = next(held for held in estimate().largest if held.part == "weights")
    assert weights == Held(
        part="weights", operation="aten.mm", module="model.layers.*.mlp", count=20, amount_bytes=100 * MIB
    )


def test_a_layer_has_its_number_in_the_whole_model() -> None:
    few, many = traced(MODEL, 4, 10), traced(MODEL, 4)
    assert estimate_of(few, Plan(), T4).moment.module == estimate_of(many, Plan(), T4).moment.module


@pytest.mark.parametrize(
    ("device", "word"),
    [
        (Device(), "none of this kind was seen"),
        (Device(name="RTX 3060", compute_capability="8.6"), "was seen on RTX 3090"),
        (T4, ""),
        (Device(kind="cpu"), ""),
    ],
)
def test_what_stands_in_for_the_driver_is_said(device: Device, word: str) -> None:
    notes = estimate(device).notes
    assert len(notes) == bool(word) and word in "".join(notes)


def test_a_gpu_that_was_seen_has_the_smaller_error() -> None:
    assert 0.08 <= estimate().error < estimate(Device()).error < 1


def test_a_device_that_is_full_gets_its_cache_back() -> None:
    peak = estimate()
    between = (peak.peak_allocated_bytes + peak.peak_reserved_bytes) // 2 + peak.context_bytes
    assert peak.peak_allocated_bytes < between - peak.context_bytes < peak.peak_reserved_bytes

    def told(free_bytes: int) -> str:
        device = Device(name="Tesla T4", compute_capability="7.5", free_bytes=free_bytes)
        return "".join(estimate(device).notes)

    assert told(peak.peak_bytes) == "" == told(peak.peak_allocated_bytes)  # enough, and hopeless
    assert "giving back its cache" in told(peak.peak_bytes - 1)
    assert "gaps between them" in told(peak.peak_allocated_bytes + peak.context_bytes)
