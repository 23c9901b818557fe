"""Every release of the packages of a fine-tune: what it declares, and for which machines it has wheels.

One file a package, ``compat_matrix/releases/<name>.json``: an array of releases in ascending order, one a
line. A line says what is new in it, since most releases declare what the last one did: a key that it leaves
out stands as in the line before, and requirements are added to those of that line or dropped from them.
``scripts/harvest.py`` writes the files; one is read when its package is first asked for.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import msgspec
from packaging.specifiers import Specifier, SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

from doctor.matrix.rows import FOLDER
from doctor.versions import comparable


class Wheels(msgspec.Struct, frozen=True, array_like=True):
    """Wheels of one release for one system."""

    os: str = "any"  # as sys.platform has it: linux, darwin, win32; any: pure Python
    arch: str = ""  # x86_64 or aarch64
    floor: str = ""  # the lowest glibc, or macOS, that the tag admits
    pythons: str = "3+"  # "3.9 3.10 3.13t": t is free-threaded; "3.9+": that one and every later one

    def fit(self, python: str, os: str, arch: str, floor: str = "") -> bool:
        """Does one of them install on a Python ("3.11"), os and arch, where glibc or macOS is ``floor``?"""
        if self.os != "any" and (self.os, self.arch) != (os, ARCHITECTURES.get(arch.lower(), arch)):
            return False
        if floor and self.floor and ordinal(floor) < ordinal(self.floor):
            return False
        return any(admits(known, python) for known in self.pythons.split())


class Release(msgspec.Struct, frozen=True):
    """One release as its maker published it."""

    version: str
    uploaded: str  # "2026-11-20"
    requires_python: str = ""
    requires: tuple[str, ...] = ()  # in the words of PEP 508, sorted
    wheels: tuple[Wheels, ...] = ()
    sdist: bool = False
    yanked: bool = False

    def has_wheel(self, python: str, os: str, arch: str, floor: str = "") -> bool:
        """Is there a wheel for this machine? Where not, an installer builds from source or finds nothing."""
        return any(wheels.fit(python, os, arch, floor) for wheels in self.wheels)


class Line(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A line of the table; None stands for what the line before it says."""

    version: str
    uploaded: str
    requires_python: str | None = None
    adds: frozenset[str] = frozenset()
    drops: frozenset[str] = frozenset()
    wheels: tuple[Wheels, ...] | None = None
    sdist: bool | None = None
    yanked: bool = False


INHERITED = ("requires_python", "wheels", "sdist")
ARCHITECTURES = {"amd64": "x86_64", "arm64": "aarch64"}


@cache
def releases_of(package: str) -> tuple[Release, ...]:
    """The releases of a package in ascending order, by any spelling of its name; () where no table has it."""
    file = FOLDER / "releases" / f"{canonicalize_name(package)}.json"
    return tuple(spelt_out(decode(file.read_bytes()))) if file.is_file() else ()


@cache
def release(package: str, version: str) -> Release | None:
    """One release, found by its public version: "2.13.0+cpu" is 2.13.0. None where the table lacks it."""
    wanted = comparable(version)
    return by_version(package).get(wanted) if wanted else None


@cache
def by_version(package: str) -> dict[Version, Release]:
    """The releases of a package by their version: 2.13 finds 2.13.0."""
    return {Version(known.version): known for known in releases_of(package)}


def is_outside(package: str, bounds: str) -> bool:
    """Do bounds (">=2.0") lie above the newest release of the table, or below its oldest?

    A table holds what was published from one day to another. There may be other releases.
    """
    table = releases_of(package)
    oldest, newest = (comparable(table[place].version) for place in (0, -1)) if table else (None, None)
    if oldest is None or newest is None:
        return False
    return any(is_above(one, newest) or is_below(one, oldest) for one in SpecifierSet(bounds))


def is_above(bound: Specifier, newest: Version) -> bool:
    """Does one bound admit nothing up to a version, and something above it?"""
    floor = comparable(bound.version.removesuffix(".*"))
    if floor is None or bound.operator not in (">=", ">", "~=", "=="):
        return False
    return floor > newest or (bound.operator == ">" and floor == newest)


def is_below(bound: Specifier, oldest: Version) -> bool:
    """Does one bound admit nothing from a version on, and something below it?"""
    ceiling = comparable(bound.version.removesuffix(".*"))
    if ceiling is None or bound.operator not in ("<", "<=", "~=", "=="):
        return False
    return (ceiling < oldest and not bound.contains(oldest)) or (bound.operator == "<" and ceiling == oldest)


def decode(text: bytes) -> list[Line]:
    """The lines of a table as they stand. Raises :class:`msgspec.ValidationError`."""
    return msgspec.json.decode(text, type=list[Line])


def spelt_out(lines: list[Line]) -> Iterator[Release]:
    """Releases with every key."""
    told: dict[str, Any] = {"requires": ()}
    for line in lines:
        told |= {key: value for key in INHERITED if (value := getattr(line, key)) is not None}
        if line.adds or line.drops:
            told["requires"] = tuple(sorted({*told["requires"]} - line.drops | line.adds))
        yield Release(version=line.version, uploaded=line.uploaded, yanked=line.yanked, **told)


def admits(known: str, python: str) -> bool:
    """Does a Python fit one of the tags of :class:`Wheels`? A stable ABI fits no free-threaded Python."""
    if known.endswith("+"):
        pure = known == "3+"
        return (pure or not python.endswith("t")) and ordinal(python.rstrip("t")) >= ordinal(known[:-1])
    return known == python


def ordinal(text: str) -> tuple[int, ...]:
    """Numbers of a version that has nothing else: "3.11" is (3, 11)."""
    return tuple(int(part) for part in text.split("."))
