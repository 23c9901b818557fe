"""Solving: what is declared alone, what rows add, what is not known, and how close to what is installed."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from packaging.requirements import Requirement
from packaging.version import Version

from doctor.matrix.releases import releases_of
from doctor.matrix.resolver import Conflict, Machine, Solution, blame, closest, is_known, solve
from doctor.matrix.resolver.catalog import all_rows, catalog
from doctor.matrix.rows import PLATFORM_SUBJECTS
from doctor.proposal import SET

LINUX = Machine()


def declared(*wanted: str, machine: Machine = LINUX) -> Solution | Conflict:
    return solve([Requirement(text) for text in wanted], machine, use_rows=False)


def test_an_installer_takes_what_is_declared_and_breaks() -> None:
    """peft 0.17.1 asks for any transformers, so pip takes one without HybridCache."""
    solution = declared("peft==0.17.1")
    assert isinstance(solution, Solution)
    assert Version(solution.pins["transformers"]) >= Version("5")
    assert "trl" not in solution.pins  # nobody asks for it


def test_markers_are_those_of_the_machine() -> None:
    for system, taken in (("linux", True), ("win32", False)):
        solution = declared("peft; sys_platform == 'linux'", "accelerate", machine=Machine(os=system))
        assert isinstance(solution, Solution)
        assert ("peft" in solution.pins) is taken


def test_extras_bring_their_requirements() -> None:
    plain, torch = declared("transformers==4.57.6"), declared("transformers[torch]==4.57.6")
    assert isinstance(plain, Solution) and isinstance(torch, Solution)
    assert "accelerate" not in plain.pins and "accelerate" in torch.pins
    assert all("[" not in name for name in torch.pins)


def test_what_no_table_knows_is_left_to_the_installer() -> None:
    solution = declared("some-package==1", "peft", "transformers==5.0.0rc1")
    assert isinstance(solution, Solution)
    assert solution.unknown == ("some-package", "transformers")
    assert "transformers" not in solution.pins  # which release it is nobody knows here


@pytest.mark.parametrize(
    ("text", "known"),
    [
        ("peft", True),
        ("peft>=0.5", True),
        ("peft==0.17.*", True),
        ("peft==0.17.99", True),  # there is no such release, and that is known
        ("peft==99.0", False),  # newer than the table
        ("peft>=99", False),
        ("peft>0.17.0,<0.17.1", True),
        ("protobuf==3.20.*", False),  # older
        ("protobuf<4", False),
        ("protobuf>=3.20", True),
        ("peft==0.18.0.dev0", False),
        ("not-a-package", False),
    ],
)
def test_what_a_table_can_speak_of(text: str, known: bool) -> None:
    assert is_known(Requirement(text)) is known


def test_what_needs_a_release_older_than_the_tables_can_be_had() -> None:
    solution = declared("unsloth==2025.3.19")  # which requires protobuf<4.0.0
    assert isinstance(solution, Solution) and "protobuf" not in solution.pins


def test_a_release_that_never_was() -> None:
    conflict = declared("peft==0.17.99")
    assert isinstance(conflict, Conflict)
    assert any("peft==0.17.99 was never published" in reason for reason in conflict.reasons)


def test_a_label_asks_for_its_build() -> None:
    machine = Machine(driver="580.95.05")
    solution = solve([Requirement("torch==2.6.0+cu124")], machine, use_rows=True)
    assert isinstance(solution, Solution)
    assert (solution.pins["torch"], solution.torch_variant) == ("2.6.0", "cu124")
    assert isinstance(solve([Requirement("torch==2.6.0+cu124")], LINUX, use_rows=True), Conflict)


def test_two_pins_that_no_metadata_forbids() -> None:
    wanted = [Requirement(text) for text in ("peft==0.17.1", "transformers==5.24.0", "accelerate==1.15.0")]
    conflict, ways_out = blame(wanted, LINUX, extra_packages=SET)
    assert any("HybridCache" in reason for reason in conflict.reasons)
    assert [way.split(":")[0] for way in ways_out] == ["drop peft==0.17.1", "drop transformers==5.24.0"]


def test_a_chain_is_told_in_order() -> None:
    wanted = [Requirement("peft==0.17.1"), Requirement("huggingface-hub==2.4.0")]
    conflict, ways_out = blame(wanted, LINUX, extra_packages=SET)
    text = " | ".join(conflict.reasons)
    assert "peft 0.17.1 imports HybridCache" in text and "huggingface-hub 2.4.0 is too new" in text
    assert "peft==0.17.1 is asked for" in text and "huggingface-hub==2.4.0 is asked for" in text
    assert len(ways_out) == 2


def test_a_contradiction_by_way_of_a_third_package_shows_at_once() -> None:
    """trl asks for datasets, whose releases ask for a newer pyarrow: thousands of sets could be tried."""
    wanted = [Requirement(text) for text in ("torch==2.1.2", "pyarrow==14.0.1", "trl==0.26.0")]
    conflict, ways_out = blame(wanted, LINUX, extra_packages=SET)
    text = " | ".join(conflict.reasons)
    assert "trl 0.26.0 requires datasets>=3.0.0" in text and "pyarrow==14.0.1 is asked for" in text
    assert any("require pyarrow>=" in reason for reason in conflict.reasons)
    assert [way.split(":")[0] for way in ways_out] == ["drop pyarrow==14.0.1", "drop trl==0.26.0"]


def test_the_closest_set_changes_one_package_where_one_is_enough() -> None:
    installed = {
        **{"torch": "2.13.0+cpu", "transformers": "5.24.0", "peft": "0.17.1", "accelerate": "1.15.0"},
        **{"trl": "1.16.0", "bitsandbytes": "0.50.2", "datasets": "5.2.0", "huggingface-hub": "2.4.0"},
        **{"tokenizers": "0.23.3", "safetensors": "0.8.0", "numpy": "2.4.6", "pyarrow": "26.0.1"},
        **{"fsspec": "2026.9.0", "dill": "0.4.1", "multiprocess": "0.70.19", "pandas": "3.1.1"},
        **{"packaging": "26.4", "setuptools": "84.2.1"},
    }
    solution = closest([], LINUX, extra_packages=SET, installed=installed)
    assert isinstance(solution, Solution)
    changed = {
        name for name, version in solution.pins.items() if installed.get(name, "").split("+")[0] != version
    }
    assert changed == {"peft"}


def test_the_closest_set_to_a_good_one_is_that_set() -> None:
    good = solve([Requirement("transformers==4.57.6")], LINUX, extra_packages=SET, use_rows=True)
    assert isinstance(good, Solution)
    assert closest([], LINUX, extra_packages=SET, installed=good.pins) == good


@pytest.mark.parametrize("python", ["3.9", "3.11", "3.13"])
def test_no_row_bites_what_is_proposed(python: str) -> None:
    """Each row is held against the set by its own words, not by the bits of the resolver."""
    machine = Machine(python=python)
    for pins in ([], ["transformers<5"], ["trl<0.12"], ["accelerate<1"]):
        solution = solve([Requirement(pin) for pin in pins], machine, extra_packages=SET, use_rows=True)
        assert isinstance(solution, Solution), solution
        assert [
            row.row for row in all_rows() if row.severity == "error" and bites(row, solution, machine)
        ] == []


def bites(row: object, solution: Solution, machine: Machine) -> bool:
    """Do all terms of a row hold for a set?"""
    from doctor.matrix.rules import holds

    values = {
        subject: machine.value_of(subject) if subject in PLATFORM_SUBJECTS else solution.pins.get(subject)
        for subject in row.when  # type: ignore[attr-defined]
    }
    return all(holds(term, values[subject]) for subject, term in row.when.items())  # type: ignore[attr-defined]


transformers = [release.version for release in releases_of("transformers") if release.version > "4.3"][::7]


@settings(max_examples=12, deadline=None)
@given(st.sampled_from(transformers), st.sampled_from(["3.9", "3.10", "3.12"]))
def test_what_is_pinned_is_taken_or_refused_with_a_reason(version: str, python: str) -> None:
    solution = solve(
        [Requirement(f"transformers=={version}")], Machine(python=python), extra_packages=SET, use_rows=True
    )
    if isinstance(solution, Conflict):
        assert all(reason.strip() for reason in solution.reasons)
    else:
        assert solution.pins["transformers"] == version


def test_what_a_set_declares_is_satisfied() -> None:
    """Every requirement of every pick, read anew from the table, admits the pick of its package."""
    solution = solve([Requirement("transformers<4.50")], LINUX, extra_packages=SET, use_rows=True)
    assert isinstance(solution, Solution)
    for name, version in solution.pins.items():
        release = next(one for one in releases_of(name) if one.version == version)
        for line in release.requires:
            asked = Requirement(line)
            if asked.name in solution.pins and (asked.marker is None or asked.marker.evaluate(LINUX.markers)):
                assert asked.specifier.contains(solution.pins[asked.name]), (name, line)


def test_a_catalog_is_made_once() -> None:
    assert catalog(Machine(), "errors") is catalog(Machine(), "errors")


def test_what_is_needed_and_not_declared_comes_into_the_set() -> None:
    """trl 0.11 imports rich, and its metadata brings none."""
    solution = solve([Requirement("trl==0.11.4")], LINUX, extra_packages=SET, use_rows=True)
    assert isinstance(solution, Solution) and "rich" in solution.pins
    assert "rich" not in solve([Requirement("trl==1.16.0")], LINUX, extra_packages=SET, use_rows=True).pins  # type: ignore[union-attr]


def test_what_breaks_some_uses_is_avoided_or_told() -> None:
    """peft below 0.14 cannot put LoRA on 8-bit layers of bitsandbytes 0.45 and newer; 4 bits work."""
    avoided = solve([Requirement("peft==0.13.2")], LINUX, extra_packages=SET, use_rows=True)
    assert isinstance(avoided, Solution)
    assert Version(avoided.pins["bitsandbytes"]) < Version("0.45") and avoided.warnings == ()
    pins = [Requirement("peft==0.13.2"), Requirement("bitsandbytes==0.50.2")]
    told = solve(pins, LINUX, extra_packages=SET, use_rows=True)
    assert isinstance(told, Solution) and told.pins["bitsandbytes"] == "0.50.2"
    assert any("8-bit" in warning for warning in told.warnings)
