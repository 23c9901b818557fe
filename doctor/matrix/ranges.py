"""What a range admits besides the release that would be taken today: releases that are known to break."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cache, lru_cache
from typing import NamedTuple

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import Version

from doctor.facts import Facts
from doctor.matrix.computed import computed_rows
from doctor.matrix.releases import releases_of
from doctor.matrix.rows import Row, load_rows
from doctor.matrix.rules import filled, is_met, value_of
from doctor.versions import comparable
from doctor.wanted import Requirement


class Admitted(NamedTuple):
    """A requirement that admits releases which break beside the others, and the bound that would not."""

    requirement: Requirement
    newest_bad: str
    bound: str  # the first release that no known fault speaks against, "4.57.0"
    reasons: tuple[str, ...]  # titles, with the newest bad release in them


def admitted_faults(requirements: Iterable[Requirement], facts: Facts) -> Iterator[Admitted]:
    """The ranges that reach down to releases which break with what else would be taken."""
    for one in requirements:
        chosen = comparable(facts.version_of(one.name) or "")
        if chosen and not one.is_constraint and not one.origin and is_range(one.specifier):
            fault = worst(one, chosen, facts)
            if fault:
                yield fault


def is_range(specifier: str) -> bool:
    """Does it state a lower bound, and admit more than one release?"""
    return ">" in specifier or "~=" in specifier


def worst(one: Requirement, chosen: Version, facts: Facts) -> Admitted | None:
    """The newest release below the chosen one that breaks, with every reason that it has."""
    older = [version for version in members(one.name, one.specifier) if version < chosen]
    bad: dict[Version, list[Row]] = {}
    for row in rows_about().get(one.name, ()):
        if all(subject == one.name or is_met(subject, term, facts) for subject, term in row.when.items()):
            interval = row.when[one.name].interval
            if interval.contains(str(chosen)):  # that is said of the release itself
                continue
            hit = next((version for version in reversed(older) if interval.contains(str(version))), None)
            if hit:
                bad.setdefault(hit, []).append(row)
    if not bad:
        return None
    newest = max(bad)
    return Admitted(
        one,
        str(newest),
        str(next((version for version in older if version > newest), chosen)),
        tuple(dict.fromkeys(title(row, one.name, str(newest), facts) for row in bad[newest])),
    )


def title(row: Row, package: str, version: str, facts: Facts) -> str:
    """The title of a row, as it would be told for that release."""
    values: Mapping[str, str | None] = {
        subject: version if subject == package else value_of(facts, subject) for subject in row.when
    }
    return filled(row.title, values)


@cache
def rows_about() -> dict[str, tuple[Row, ...]]:
    """Errors of the matrix by the packages whose releases they speak of."""
    rows: dict[str, list[Row]] = {}
    for row in load_rows() + computed_rows():
        if row.severity == "error" and not row.withdrawn:
            for subject, term in row.when.items():
                if not term.absent and not term.one_of:
                    rows.setdefault(subject, []).append(row)
    return {subject: tuple(found) for subject, found in rows.items()}


@lru_cache(maxsize=1024)
def members(package: str, specifier: str) -> tuple[Version, ...]:
    """The final releases within bounds, ascending."""
    try:
        bounds = SpecifierSet(specifier)
    except InvalidSpecifier:
        return ()
    return tuple(Version(one.version) for one in releases_of(package) if bounds.contains(one.version))
