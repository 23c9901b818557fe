"""Which GPUs a triton can assemble code for."""

from __future__ import annotations

import pytest

from doctor.matrix.platform import table
from doctor.matrix.releases import releases_of
from doctor.matrix.triton import first_triton_for, is_new_enough, knows, ptxas_of
from doctor.versions import comparable


@pytest.mark.parametrize(
    ("triton", "capability", "cuda"),
    [
        ("2.0.0", "8.9", "12.0"),
        ("3.2.0", "12.0", "12.4"),
        ("3.3.1", "9.0", "12.4"),
        ("3.3.1", "10.0", "12.8"),
        ("3.5.1", "12.1", "12.8"),
        ("3.6.0+git123", "12.1", "12.9"),
        ("3.7.1", "8.9", "12.8"),
        ("99.0", "8.9", None),
        ("nonsense", "8.9", None),
    ],
)
def test_the_ptxas_of_a_release(triton: str, capability: str, cuda: str | None) -> None:
    assert ptxas_of(triton, capability) == cuda


@pytest.mark.parametrize(
    ("cuda", "capability", "known"),
    [
        ("12.4", "9.0", True),
        ("12.4", "12.0", False),
        ("12.8", "12.0", True),
        ("12.8", "12.1", False),
        ("12.9", "10.3", True),
        ("13.1", "11.0", True),
        ("12.4", "7.5", None),  # of those the table says nothing
        ("11.8", "9.0", None),
    ],
)
def test_what_a_ptxas_knows(cuda: str, capability: str, known: bool | None) -> None:
    assert knows(cuda, capability) is known


@pytest.mark.parametrize(
    ("cuda", "capability", "enough"),
    [("13.0", "12.1", True), ("12.9", "12.1", True), ("12.8", "12.1", False), ("13.0", "99.0", False)],
)
def test_a_toolkit_for_a_gpu(cuda: str, capability: str, enough: bool) -> None:
    assert is_new_enough(cuda, capability) is enough


@pytest.mark.parametrize(
    ("capability", "first"),
    [("9.0", "2.0"), ("12.0", "3.3"), ("12.1", "3.6"), ("11.0", "3.7"), ("10.7", "3.9"), ("99.0", None)],
)
def test_the_first_release_for_a_gpu(capability: str, first: str | None) -> None:
    assert first_triton_for(capability) == first


def test_every_release_of_triton_is_in_the_table_with_a_ptxas_that_is_told_of() -> None:
    rows = table("triton_tools")
    orders = [comparable(known.version) for known in releases_of("triton")]
    minors = {f"{order.major}.{order.minor}" for order in orders if order}
    assert {row["triton"] for row in rows["release"]} == minors
    named = {row[key] for row in rows["release"] for key in ("ptxas", "ptxas_blackwell") if key in row}
    assert named == {row["cuda"] for row in rows["ptxas"]}


def test_a_newer_ptxas_forgets_no_gpu_but_the_one_that_was_renamed() -> None:
    """Compute capability 10.1 became 11.0 in CUDA 13."""
    lists = [set(row["compute_capability"]) for row in table("triton_tools")["ptxas"]]
    for before, after in zip(lists, lists[1:], strict=False):
        assert before - after <= {"10.1"}
