"""A plan cures what it says it cures, and brings no error: over releases that were put together at random."""

from __future__ import annotations

from functools import cache

import pytest

from doctor.treatment.plan import Plan
from doctor.treatment.planning import planned
from treatment.version_sets import after, drawn, errors, unfolded


@cache
def plan_of(one: int) -> Plan:
    return planned(drawn(one).report, "pip")


@pytest.mark.parametrize("seed", range(20))
def test_one_install_cures_and_holds(seed: int) -> None:
    ill, plan = drawn(seed), plan_of(seed)
    well = after(ill, plan)
    given_up = {one.id for one in plan.uncured}
    cured = {id for step in plan.steps if step.is_applied for id in step.cures} - given_up
    left = {found.id for found in unfolded(well.report.findings) if found.severity != "note"}
    assert not cured & left, plan
    assert errors(well.report) <= given_up, plan
    installs = [one for step in plan.steps if step.kind == "install" for one in step.packages]
    names = [one.partition("==")[0] for one in installs]
    assert len(names) == len(set(names)), "no step takes back what another brought"


def test_nothing_is_planned_for_what_is_well() -> None:
    well = after(drawn(2), plan_of(2))
    again = planned(well.report, "pip")
    assert (again.steps, again.uncured) == ((), ())
