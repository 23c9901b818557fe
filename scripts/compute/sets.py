"""The set in which a release is evaluated: what an installer would have taken on the day it came out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

from packaging.markers import Marker, default_environment
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

from doctor.matrix.releases import Release, releases_of

PYTHON = "3.11"
# Interpreted, in the order in which they are chosen: who pins the most comes first.
INTERPRETED = (
    *(
        "transformers",
        "trl",
        "peft",
        "accelerate",
        "datasets",
        "tokenizers",
        "huggingface-hub",
        "safetensors",
    ),
    *("bitsandbytes", "fsspec", "dill", "multiprocess", "pyarrow", "numpy", "packaging"),
)
# Only their presence and version are asked for.
BESIDE = ("torch", "triton")
DEAD_ENDS = 4000  # tries after which a set counts as unsolvable

Versions = Mapping[str, str]


class Unsolvable(Exception):
    """No set satisfies what the releases declare."""


@cache
def on_the_shelf(package: str, day: str) -> tuple[str, ...]:
    """The releases of a package that an installer would have taken on a day, newest first."""
    known = (one for one in releases_of(package) if one.uploaded <= day and not one.yanked)
    final = [one.version for one in known if not Version(one.version).is_prerelease and runs(one)]
    return tuple(reversed(final))


def runs(release: Release) -> bool:
    """Does a release accept the Python of the sweep?"""
    return SpecifierSet(release.requires_python).contains(PYTHON)


@cache
def requirements(package: str, version: str) -> Mapping[str, SpecifierSet]:
    """What one release declares of the others, extras left out."""
    environment = {
        **default_environment(),
        "python_version": PYTHON,
        "python_full_version": f"{PYTHON}.9",
        "extra": "",
    }
    found: dict[str, SpecifierSet] = {}
    for text in next((one.requires for one in releases_of(package) if one.version == version), ()):
        requirement = Requirement(text)
        if requirement.marker is None or Marker(str(requirement.marker)).evaluate(environment):
            found[requirement.name] = found.get(requirement.name, SpecifierSet()) & requirement.specifier
    return found


@cache
def names_declared() -> frozenset[str]:
    """Every package that some release of the interpreted ones requires, extras left out."""
    return frozenset(
        canonicalize_name(Requirement(text).name)
        for package in INTERPRETED
        for one in releases_of(package)
        for text in one.requires
        if "extra ==" not in text
    )


def agree(package: str, version: str, chosen: Versions) -> bool:
    """Does a release go with those chosen before, by what both sides declare?"""
    own = requirements(package, version)
    return all(
        own.get(other, SpecifierSet()).contains(other_version, prereleases=True)
        and requirements(other, other_version)
        .get(package, SpecifierSet())
        .contains(version, prereleases=True)
        for other, other_version in chosen.items()
    )


def complete(fixed: Versions, day: str, packages: Sequence[str] = (*INTERPRETED, *BESIDE)) -> dict[str, str]:
    """The newest releases of a day beside some fixed ones. Raises :class:`Unsolvable`.

    What the fixed ones declare of each other is not asked: a clash of them may be what is looked for.
    """
    tries = 0

    def search(chosen: dict[str, str], rest: Sequence[str]) -> dict[str, str] | None:
        nonlocal tries
        if not rest:
            return chosen
        for version in on_the_shelf(rest[0], day):
            tries += 1
            if tries > DEAD_ENDS:
                raise Unsolvable(f"{dict(fixed)} on {day}")
            if agree(rest[0], version, chosen):
                found = search({**chosen, rest[0]: version}, rest[1:])
                if found is not None:
                    return found
        # A package that had no release yet is left out.
        return None if on_the_shelf(rest[0], day) else search(chosen, rest[1:])

    found = search(dict(fixed), [package for package in packages if package not in fixed])
    if found is None:
        raise Unsolvable(f"{dict(fixed)} on {day}")
    return found


def day_of(package: str, version: str) -> str:
    """When a release came out, "2026-11-20"."""
    return next(one.uploaded for one in releases_of(package) if one.version == version)[:10]


def reference(package: str, version: str) -> dict[str, str]:
    """The set of a release's own time: what was newest on the day it came out."""
    return complete({package: version}, day_of(package, version))
