"""What became of a name or an argument: gone, not there yet, there, or never there."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Literal, NamedTuple

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import Version

from doctor.matrix.api_table import table_of
from doctor.matrix.releases import release, releases_of
from doctor.triage.case import Case
from doctor.versions import Interval, comparable

Kind = Literal["there", "gone", "not-yet", "never"]
NEAR = 120  # days by which the packages of one environment may differ in age
ENOUGH = 3  # packages that date an environment; one or two may be pinned
LONG = 700  # days that a name was there
# The year in which most environments had this Python.
IN_USE = {
    "3.6": 2020,
    "3.7": 2021,
    "3.8": 2022,
    "3.9": 2023,
    "3.10": 2023,
    "3.11": 2024,
    "3.12": 2025,
    "3.13": 2026,
}
YEARS = 500  # days after which an environment no longer has the release before


class Fate(NamedTuple):
    """What became of it, and in which release of which package."""

    kind: Kind
    since: str  # the first release without it, or the first with it; "" for the others
    package: str
    has: tuple[Interval, ...] = ()  # the releases that have it


def fate_at(has: Sequence[Interval], package: str, version: str) -> Fate:
    """What became of something that these releases have, at a version.

    A pre-release of a bound may stand on either side of it: it stands where the error is seen.
    """
    have = comparable(version)
    lives = tuple(has)
    if have is None or not lives:
        return Fate("never", "", package, lives)
    if have < of(first_known(package)) and any(one.introduced == "0" for one in lives):
        return Fate(
            "not-yet", first_known(package), package, lives
        )  # the table does not tell: the error does
    base = Version(have.base_version)
    early = have.is_prerelease
    over = [
        one.fixed for one in lives if one.fixed and (have >= of(one.fixed) or early and base == of(one.fixed))
    ]
    ahead = [one.introduced for one in lives if have < of(one.introduced)]
    inside = any(one.contains(version) and not (early and base == of(one.introduced)) for one in lives)
    if inside and not (early and any(base == of(bound) for bound in over)):
        return Fate("there", "", package, lives)
    if over:
        return Fate("gone", max(over, key=of), package, lives)
    return Fate("not-yet", min(ahead, key=of), package, lives) if ahead else Fate("never", "", package, lives)


def first_known(package: str) -> str:
    """The oldest release whose names are known, "0" where none are."""
    table = table_of(package)
    return table.releases[0] if table else "0"


def of(bound: str) -> Version:
    """A bound as it compares."""
    return comparable(bound) or Version("0")


def possible_fates(
    has: Sequence[Interval], package: str, case: Case, by_people: bool = True
) -> tuple[Fate, ...]:
    """What may have become of it where the version is not told, the likelier first.

    The other packages of a paste date it, and its Python admits some releases only. ``by_people``: code of
    people asks for it, and no library of which it is known which of its releases do.
    """
    fates = directions(tuple(has), package)
    likely = tuple(fate for fate in fates if fits_the_time(fate, case))
    if len(likely) == 1 or len(fates) < 2 or not by_people:
        return likely if len(likely) == 1 else fates
    gone, first = fates
    if is_of_old(gone, case):
        return first, gone
    return (gone,) if was_there_for_long(gone, first) else fates


def directions(lives: tuple[Interval, ...], package: str) -> tuple[Fate, ...]:
    """Every way in which it can be missing: removed, or not there yet."""
    over = [one.fixed for one in lives if one.fixed]
    first = min((one.introduced for one in lives), key=of, default="0")
    if lives and first == "0" and not over:  # it is in every release that is known
        first = first_known(package)
    fates = [Fate("gone", max(over, key=of), package, lives)] if over else []
    if first != "0":
        fates.append(Fate("not-yet", first, package, lives))
    return tuple(fates)


def was_there_for_long(gone: Fate, first: Fate) -> bool:
    """Was it there for so long that nobody misses it for being too early?"""
    begin, end = release(first.package, first.since), release(gone.package, gone.since)
    return bool(begin and end and days_between(begin.uploaded, end.uploaded) > LONG)


def is_of_old(gone: Fate, case: Case) -> bool:
    """Is the Python one that was in use years before the release that removed it?"""
    known = release(gone.package, gone.since)
    python = case.facts.interpreter.version if case.facts.interpreter else ""
    in_use = IN_USE.get(".".join(python.split(".")[:2]))
    return bool(known and in_use and int(known.uploaded[:4]) - in_use >= 3)


def fits_the_time(fate: Fate, case: Case) -> bool:
    """Can an environment of this age and Python be on that side of the bound?"""
    known, day = release(fate.package, fate.since), age_of(case)
    python = case.facts.interpreter.version if case.facts.interpreter else ""
    if known and fate.kind == "gone" and python and not admits(known.requires_python, python):
        return False
    if not known or not day:
        return True
    if fate.kind == "gone":
        return days_between(day, known.uploaded) < NEAR
    return days_between(known.uploaded, day) < YEARS


def admits(requires_python: str, python: str) -> bool:
    """Does a release take a Python?"""
    try:
        return not requires_python or SpecifierSet(requires_python).contains(python, prereleases=True)
    except InvalidSpecifier:
        return True


def age_of(case: Case) -> str:
    """The day of the newest release that a paste states; "" where it states too few that are known."""
    installed = case.facts.packages.installed if case.facts.packages else {}
    days = [day for name, one in installed.items() if one.version and (day := uploaded(name, one.version))]
    return max(days) if len(days) >= ENOUGH else ""


@cache
def uploaded(package: str, version: str) -> str:
    """The day on which a release, or the last one before it, came out; "" where it is not known."""
    wanted = comparable(version)
    table = releases_of(package)
    if wanted is None or not table:
        return ""
    earlier = [one.uploaded for one in table if (known := comparable(one.version)) and known <= wanted]
    return earlier[-1] if earlier else ""


def days_between(first: str, last: str) -> int:
    """Days from one day to another, months taken as 30 days."""
    earlier, later = (
        sum(int(part) * size for part, size in zip(day.split("-"), (365, 30, 1), strict=True))
        for day in (first, last)
    )
    return later - earlier
