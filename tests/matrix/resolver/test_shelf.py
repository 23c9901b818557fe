"""Shelves: which bits a bound leaves."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.specifiers import SpecifierSet

from doctor.matrix.releases import release, releases_of
from doctor.matrix.resolver import Machine
from doctor.matrix.resolver.shelf import ABSENT, Shelf, span, why_not
from doctor.matrix.rows import Term

SHELF = Shelf("transformers", Machine(python="3.12"), strict=True)
VERSIONS = [item.release.version for item in SHELF.items]


def versions(mask: int) -> list[str]:
    return [version for number, version in enumerate(VERSIONS, 1) if mask >> number & 1]


@given(st.sampled_from(VERSIONS), st.sampled_from(VERSIONS))
def test_an_interval_is_the_same_as_asking_each_release(one: str, other: str) -> None:
    for term in (
        Term(introduced=one, fixed=other),
        Term(introduced=one),
        Term(last_affected=other),
        Term(introduced=one, last_affected=other),
    ):
        assert versions(SHELF.where(term)) == [each for each in VERSIONS if term.interval.contains(each)]


@given(st.sampled_from(VERSIONS), st.sampled_from([">=", "<", "==", "!=", "~=", ">", "<="]))
def test_a_specifier_is_the_same_as_asking_each_release(version: str, operator: str) -> None:
    text = f"{operator}{version}"
    assert versions(SHELF.accepted(text)) == [each for each in VERSIONS if SpecifierSet(text).contains(each)]


def test_absence_has_a_bit_of_its_own() -> None:
    assert SHELF.where(Term(absent=True)) == ABSENT
    assert SHELF.where(Term()) & ABSENT == 0
    assert SHELF.ordinary & ABSENT


def test_a_span() -> None:
    assert (span(0, 2), span(1, 3), span(2, 2), span(3, 1)) == (0b110, 0b1100, 0, 0)


def test_torch_has_an_item_for_each_build_the_best_one_last() -> None:
    shelf = Shelf("torch", Machine(driver="580.95.05"), strict=True)
    builds = [item.variant for item in shelf.items if item.release.version == "2.13.0"]
    assert builds == ["cu126", "cu132", "cu130"]  # cu130 is what its index gives unasked
    assert [item.variant for item in Shelf("torch", Machine(), strict=False).items][-1] == ""


@pytest.mark.parametrize(
    ("package", "version", "machine", "reason"),
    [
        ("numpy", "2.5.5", Machine(python="3.11"), "numpy 2.5.5 needs Python >=3.12, not 3.11"),
        (
            "numpy",
            "1.26.4",
            Machine(python="3.13"),
            "numpy 1.26.4 has no wheel for Python 3.13 on linux x86_64",
        ),
        ("torch", "2.3.1", Machine(os="darwin"), "torch 2.3.1 has no wheel for Python 3.11 on darwin x86_64"),
        (
            "torch",
            "2.6.0",
            Machine(capabilities=("12.0",)),
            "no CUDA build of torch 2.6.0 is known that runs here",
        ),
        ("torch", "2.7.0", Machine(glibc="2.17"), "torch 2.7.0 has no wheel for Python 3.11 on linux x86_64"),
        ("transformers", "5.24.0", Machine(), ""),
    ],
)
def test_why_a_machine_cannot_take_a_release(
    package: str, version: str, machine: Machine, reason: str
) -> None:
    found = release(package, version)
    assert found is not None
    assert why_not(package, found, machine, strict=True) == reason


def test_an_installer_builds_from_source_where_there_is_no_wheel() -> None:
    found = release("numpy", "1.26.4")
    assert found is not None and found.sdist
    assert why_not("numpy", found, Machine(python="3.13"), strict=False) == ""


def test_releases_that_were_withdrawn_are_not_ordinary() -> None:
    for package in ("transformers", "huggingface-hub", "accelerate", "numpy", "datasets"):
        shelf = Shelf(package, Machine(), strict=False)
        yanked = {one.version for one in releases_of(package) if one.yanked}
        ordinary = {
            item.release.version for number, item in enumerate(shelf.items, 1) if shelf.ordinary >> number & 1
        }
        assert ordinary.isdisjoint(yanked)
