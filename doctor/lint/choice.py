"""Which releases an installer would take for what a file asks, or why there are none.

Pins of a lock, and of a file that pins all that its packages need, are taken as they are: such a set exists
somewhere, though it may break. All else is solved by declared requirements, as pip would today.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from packaging.markers import InvalidMarker, Marker, UndefinedEnvironmentName
from packaging.requirements import InvalidRequirement
from packaging.requirements import Requirement as Pep508
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from doctor.matrix.releases import is_outside, release, releases_of
from doctor.matrix.resolver import Conflict, Machine, solve
from doctor.readers.requirement import is_moving
from doctor.versions import comparable
from doctor.wanted import Requirement, Wanted

# An installer brings these itself; "pip freeze" leaves them out.
INSTALLERS = frozenset(("pip", "setuptools", "wheel", "distribute", "uv"))
PASSES = 4  # a constraint may bring in a package that another constraint limits


class Choice(NamedTuple):
    """The releases that would stand together, and what is known of the rest."""

    versions: Mapping[str, str]
    conflicts: tuple[str, ...] = ()  # sentences
    is_partial: bool = False  # more would be installed than is known here


class Declared(NamedTuple):
    """What one release says of the others."""

    requires: tuple[str, ...]  # PEP 508, those of extras left out
    requires_python: str


def choose(wanted: Wanted, machine: Machine) -> Choice:
    """The releases for what a file asks, on one machine."""
    live = [one for one in wanted.requirements if holds(one.marker, machine)]
    pins = {one.name: exact for one in live if (exact := exact_version(one))}
    outright = tuple(never_published(live)) if wanted.form == "open" else ()
    is_whole = is_closed(live, pins, machine)
    if wanted.form != "open" or is_whole or outright:
        return Choice(pins, outright, is_partial=not is_whole)
    groups = [live, [one for one in live if not one.group]]
    result: Choice | None = None
    for group in groups[: 1 + any(one.group for one in live)]:
        solved = solve_for(group, machine)
        result = result or solved
        if not solved.conflicts:
            return solved
    assert result is not None
    return result


def holds(marker: str, machine: Machine) -> bool:
    """Does a marker hold there? One that cannot be read is taken to."""
    return not marker or evaluated(marker, machine)


@lru_cache(maxsize=4096)
def evaluated(marker: str, machine: Machine) -> bool:
    """The value of a marker on a machine, extras and groups taken as not asked for."""
    try:
        return Marker(marker).evaluate({**machine.markers, "extra": ""})
    except (InvalidMarker, UndefinedEnvironmentName, ValueError):
        return True


def exact_version(requirement: Requirement) -> str:
    """The one release that a requirement admits, "" where it admits several or the release cannot be told."""
    text = requirement.specifier.strip()
    if requirement.is_constraint or not text.startswith("==") or "," in text or text.endswith("*"):
        return ""
    return text.lstrip("=").strip()


def is_closed(live: Sequence[Requirement], pins: Mapping[str, str], machine: Machine) -> bool:
    """Is everything pinned, and all that the pinned releases require among it: a whole environment?"""
    asked = {one.name for one in live if not one.is_constraint}
    if not asked or asked - set(pins) - {one.name for one in live if one.origin}:
        return False
    needed = {
        name
        for package, version in pins.items()
        for name, marker in needs(package, version)
        if holds(marker, machine)
    }
    return not needed - asked - INSTALLERS


def needs(package: str, version: str) -> Iterable[tuple[str, str]]:
    """The names that a release requires, each with its marker."""
    for text in declared(package, version).requires:
        requirement = parsed(text)
        if requirement:
            yield canonicalize_name(requirement.name), str(requirement.marker or "")


@lru_cache(maxsize=8192)
def parsed(text: str) -> Pep508 | None:
    """A requirement in PEP 508, None where it is none."""
    try:
        return Pep508(text)
    except InvalidRequirement:
        return None


@lru_cache(maxsize=8192)
def declared(package: str, version: str) -> Declared:
    """What a release declares; nothing where no table has it.

    A build with a local label, such as +cpu, comes from another index and needs no CUDA packages of PyPI.
    """
    known = release(package, version)
    if known is None:
        return Declared((), "")
    requires = (text for text in known.requires if "extra" not in text.partition(";")[2])
    if "+" in version:
        requires = (text for text in requires if not text.startswith(("nvidia-", "cuda-", "triton")))
    return Declared(tuple(requires), known.requires_python)


def never_published(live: Sequence[Requirement]) -> Iterable[str]:
    """Sentences on pins of releases that a table would have if there were any.

    Tables hold final releases from a certain day on: an alpha or a candidate may be there all the same.
    """
    for one in live:
        version, table = exact_version(one), releases_of(one.name)
        if not version or one.origin or not table or release(one.name, version):
            continue
        pinned, newest = comparable(version), comparable(table[-1].version)
        oldest = comparable(table[0].version)
        if pinned and pinned.is_devrelease and "+" not in version:
            yield f"{one.name} {version} is a state of its repository, and not on PyPI"
        elif pinned and newest and oldest and oldest < pinned < newest and not pinned.is_prerelease:
            yield f"{one.name} {version} was never published on PyPI"


def contradictions(live: Sequence[Requirement], pins: Mapping[str, str], machine: Machine) -> Iterator[str]:
    """Sentences on pins of which one declares that it does not go with the other."""
    pinned = {one.name: one for one in live if one.name in pins and not one.is_constraint}
    for package, version in pins.items():
        for text in declared(package, version).requires:
            need = parsed(text)
            other = pinned.get(canonicalize_name(need.name)) if need else None
            if need is None or other is None or not holds(str(need.marker or ""), machine):
                continue
            release_of = comparable(pins[other.name])
            if release_of and not need.specifier.contains(release_of, prereleases=True):
                wanted = f"{other.name}{need.specifier}"
                yield f"{package} {version} requires {wanted}, and {other.text} is asked for"


def solve_for(live: Sequence[Requirement], machine: Machine) -> Choice:
    """What pip would take, by what releases declare of one another."""
    opaque = {one.name for one in live if one.origin and not one.specifier and not is_moving(one)}
    pins = {one.name: exact for one in live if (exact := exact_version(one))}
    unknown = {name for name, version in pins.items() if releases_of(name) and not release(name, version)}
    outside = {one.name for one in live if is_outside(one.name, one.specifier)}
    opaque, unknown = opaque | outside, unknown | outside
    asked = [one for one in live if one.name not in opaque | unknown]
    chosen: dict[str, str] = {}
    limits: set[str] = set()
    for _ in range(PASSES):
        wanted = [one for one in asked if not one.is_constraint or one.name in limits]
        solution = solve([as_pep508(one) for one in wanted], machine, use_rows=False)
        if isinstance(solution, Conflict):
            reasons = tuple(contradictions(live, pins, machine)) or solution.reasons
            return Choice(pins, reasons, is_partial=True)
        chosen = {name: version for name, version in solution.pins.items() if name not in opaque}
        broken = {one.name for one in asked if one.is_constraint and not admits(one, chosen.get(one.name))}
        if broken <= limits:
            break
        limits |= broken
    # The label of a build ("+cu118") is the file's; the tables know releases.
    labelled = {name: version for name, version in pins.items() if "+" in version or name in unknown}
    foreign = bool(outside) or any(not releases_of(one.name) for one in live)
    return Choice({**chosen, **pins, **labelled}, is_partial=foreign)


def admits(constraint: Requirement, version: str | None) -> bool:
    """Does a constraint admit what was chosen? Nothing chosen is nothing to limit."""
    return version is None or SpecifierSet(constraint.specifier).contains(version, prereleases=True)


def as_pep508(requirement: Requirement) -> Pep508:
    """A requirement for the resolver: without marker, which holds, and without the label of a build."""
    extras = f"[{','.join(requirement.extras)}]" if requirement.extras else ""
    specifier = (
        requirement.specifier.partition("+")[0] if "+" in requirement.specifier else requirement.specifier
    )
    found = parsed(f"{requirement.name}{extras}{specifier}")
    assert found is not None
    return found
