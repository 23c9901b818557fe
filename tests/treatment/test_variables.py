"""One value for each variable, whatever number of findings ask for one."""

from __future__ import annotations

import healthy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from doctor.findings import Fix
from doctor.treatment.planning import planned
from doctor.treatment.variables import entries, joined
from treatment.test_planning import finding, report_of

NAME = "LD_LIBRARY_PATH"
PATHS = st.lists(st.sampled_from(["/a", "/b", "/c", "/d"]), max_size=4).map(":".join)


def setting(title: str, value: str | None, name: str = NAME) -> Fix:
    return Fix(title, (("unset", name) if value is None else ("export", f"{name}={value}"),), "setting")


def facts_with(value: str) -> healthy.Facts:
    return healthy.facts(environment={NAME: value})


def test_two_folders_are_left_out_by_one_step() -> None:
    """Each cure alone would bring back the folder that the other leaves out."""
    facts = facts_with("/a:/b:/c")
    first, second = (
        finding("a/b", setting("Leave /a out", "/b:/c")),
        finding("c/d", setting("Leave /c out", "/a:/b")),
    )
    (step,) = planned(report_of(facts, first, second), "pip").steps
    assert (step.value, step.cures, step.title) == ("/b", ("a/b", "c/d"), "Leave /a out; Leave /c out")


def test_nothing_left_unsets_the_variable() -> None:
    facts = facts_with("/a:/b")
    fixes = (setting("Leave /a out", "/b"), setting("Leave /b out", "/a"))
    report = report_of(facts, finding("a/b", fixes[0]), finding("c/d", fixes[1]))
    assert [step.value for step in planned(report, "pip").steps] == [None]


def test_one_value_for_two_findings_is_told_once() -> None:
    report = report_of(healthy.FACTS, *(finding(id, setting("Set it", "1", "A")) for id in ("a/b", "c/d")))
    assert [(step.value, step.cures) for step in planned(report, "pip").steps] == [("1", ("a/b", "c/d"))]


@pytest.mark.parametrize("other", ["1", None])
def test_values_that_contradict_are_not_both_set(other: str | None) -> None:
    name = "CUDA_VISIBLE_DEVICES"
    report = report_of(
        healthy.FACTS,
        finding("a/b", setting("Use the first", "0", name)),
        finding("c/d", setting("Use another", other, name)),
    )
    plan = planned(report, "pip")
    assert [(step.value, step.cures) for step in plan.steps] == [("0", ("a/b",))]
    assert [one.id for one in plan.uncured] == ["c/d"] and "a/b sets CUDA_VISIBLE_DEVICES" in plan.uncured[
        0
    ].why


@given(PATHS, PATHS, PATHS)
def test_what_either_adds_is_there_and_what_either_drops_is_not(now: str, one: str, other: str) -> None:
    was, first, second, both = map(entries, (now, one, other, joined(now, one, other)))
    assert set(both) == ({*first, *second} - {*was}) | ({*was} & {*first} & {*second})
