"""What became of something at a version, and what may have where the version is not told."""

from __future__ import annotations

import pytest

from doctor.triage.lookups.fates import days_between, fate_at, possible_fates
from doctor.versions import Interval
from tests.triage.lookups.pastes import case_of

HYBRID = (Interval("4.44.0", "5.0.0"),)


@pytest.mark.parametrize(
    ("version", "kind"),
    [
        ("4.43.4", "not-yet"),
        ("4.44.0", "there"),
        ("4.57.6", "there"),
        ("5.0.0", "gone"),
        ("5.0.0.dev0", "gone"),
        ("4.44.0.dev0", "not-yet"),
        ("5.0.0rc1", "gone"),
        ("2.0.0+nv", "not-yet"),
        ("no version", "never"),
    ],
)
def test_fate_at_a_version(version: str, kind: str) -> None:
    assert fate_at(HYBRID, "transformers", version).kind == kind


def test_what_came_back_is_gone_in_between() -> None:
    twice = (Interval("0", "5.4.0"), Interval("5.5.0", None))
    assert fate_at(twice, "transformers", "5.4.0") == ("gone", "5.4.0", "transformers", twice)
    assert fate_at(twice, "transformers", "5.6.0").kind == "there"


def test_a_release_below_the_tables_lacks_what_was_missed() -> None:
    always = (Interval("0", None),)
    assert fate_at(always, "transformers", "4.26.1") == ("not-yet", "4.28.0", "transformers", always)
    assert fate_at(always, "transformers", "4.30.0").kind == "there"


def test_without_a_version_every_direction_is_possible() -> None:
    case = case_of("ImportError: x")
    assert [fate.kind for fate in possible_fates(HYBRID, "transformers", case)] == ["gone", "not-yet"]
    assert [fate.kind for fate in possible_fates((Interval("0", "5.0.0"),), "transformers", case)] == ["gone"]
    assert [fate.kind for fate in possible_fates((Interval("4.50.0"),), "transformers", case)] == ["not-yet"]
    assert possible_fates((), "transformers", case) == ()


def test_what_was_there_for_years_was_not_missed_for_being_too_early() -> None:
    case = case_of("ImportError: x")
    long = (Interval("4.30.0", "5.0.0"),)
    assert [fate.kind for fate in possible_fates(long, "transformers", case)] == ["gone"]
    assert [fate.kind for fate in possible_fates(long, "transformers", case, by_people=False)] == [
        "gone",
        "not-yet",
    ]


def test_days() -> None:
    assert days_between("2025-01-01", "2025-03-01") == 60
    assert days_between("2025-03-01", "2025-01-01") == -60
