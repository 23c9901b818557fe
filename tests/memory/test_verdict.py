"""Fits, tight, does not fit: an estimate with its error against what is free."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from doctor.memory.device import doubt_of_size, usable_bytes
from doctor.memory.plan import Plan
from doctor.memory.verdict import TIERS_GIB, against, on_tiers, verdict
from memory.billing import GIB, device, estimate

TEN = msgspec.structs.replace(estimate(Plan()), peak_reserved_bytes=10 * GIB, context_bytes=0, error=0.1)


@pytest.mark.parametrize(
    ("free_gib", "word"),
    [(11.0, "fits"), (10.99, "tight"), (10.0, "tight"), (9.0, "tight"), (8.99, "does-not-fit")],
)
def test_the_interval_decides(free_gib: float, word: str) -> None:
    assert verdict(TEN, device(free_gib)) == word


def test_without_a_device_there_is_no_verdict() -> None:
    assert verdict(TEN, device(None)) == "unknown"


def test_the_context_counts() -> None:
    with_context = msgspec.structs.replace(TEN, context_bytes=GIB // 2, error=0.0)
    assert against(with_context, 10 * GIB) == "does-not-fit"


@given(st.integers(0, 1 << 40), st.integers(0, 1 << 40))
def test_more_free_memory_is_never_worse(free: int, more: int) -> None:
    order = ("does-not-fit", "tight", "fits")
    assert order.index(against(TEN, free)) <= order.index(against(TEN, free + more))


def test_each_size_of_gpu_is_judged_by_what_the_driver_leaves() -> None:
    words = on_tiers(msgspec.structs.replace(TEN, peak_reserved_bytes=12 * GIB, error=0.0))
    assert tuple(words) == tuple(f"{size} GB" for size in TIERS_GIB)
    assert words["12 GB"] == "does-not-fit" and words["16 GB"] == "fits"


@pytest.mark.parametrize(
    ("sold_gib", "name", "seen_gib"),
    [
        # What torch told as total capacity, in the issues that the table names; of the T4 with ECC on.
        (6, "RTX 3060 laptop", 5.80),
        (10, "RTX 3080", 9.78),
        (24, "RTX 4090", 23.64),
        (32, "V100", 31.51),
        (16, "T4", 14.56),
    ],
)
def test_a_described_gpu_has_what_torch_sees_of_one(sold_gib: int, name: str, seen_gib: float) -> None:
    assert usable_bytes(sold_gib * GIB, name) / GIB == pytest.approx(seen_gib, abs=0.15)


@pytest.mark.parametrize(
    ("name", "memory", "is_told"),
    [
        ("RTX 3060", "", True),
        ("RTX 3060", "12GiB", False),
        ("RTX 3060 12GB", "", False),
        ("RTX 4090", "", False),
        ("", "", False),
        ("Voodoo 2", "", False),
    ],
)
def test_a_size_that_was_only_taken_is_told(name: str, memory: str, is_told: bool) -> None:
    assert bool(doubt_of_size(name, memory)) is is_told
    assert not is_told or "8 and 12 GB: 8 are taken" in doubt_of_size(name, memory)[0]
