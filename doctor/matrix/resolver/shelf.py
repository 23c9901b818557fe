"""The releases of one package that a machine can take, as bits: what a bound allows is one number.

Bit 0 stands for a package that is left out of the set, bit n for the n-th item, the best one last. So "and"
joins bounds, and hundreds of releases are no more work than one.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

from packaging.specifiers import SpecifierSet
from packaging.version import Version

from doctor.matrix.machine import Machine
from doctor.matrix.releases import Release, releases_of
from doctor.matrix.rows import Term
from doctor.matrix.torch_builds import cuda_of, minor_of, variants
from doctor.versions import comparable

ABSENT = 1  # the bit of a package that is left out


class Item(NamedTuple):
    """A release and, of torch, one build of it."""

    release: Release
    version: Version
    variant: str = ""  # "cu126"


class Shelf:
    """The items of one package, ascending; ``strict``: those alone that run on the machine."""

    def __init__(self, package: str, machine: Machine, strict: bool) -> None:
        self.package = package
        self.items = tuple(
            item
            for release in releases_of(package)
            if not why_not(package, release, machine, strict)
            for item in items_of(package, release, machine, strict)
        )
        self.versions = [item.version for item in self.items]
        # A pre-release of a lower bound already holds what the bound introduced.
        self.bases = [base_of(version) for version in self.versions]
        self.everything = (1 << len(self.items) + 1) - 1
        self.present = self.everything ^ ABSENT
        self.ordinary = ABSENT | self.where_item(lambda item: not item.release.yanked)
        self._accepted: dict[str, int] = {}

    def where_item(self, test: Callable[[Item], bool]) -> int:
        """The items that pass a test."""
        return sum(1 << number for number, item in enumerate(self.items, 1) if test(item))

    def where(self, term: Term) -> int:
        """The items for which a term of a row holds."""
        if term.absent:
            return ABSENT
        introduced, fixed, last = (comparable(bound or "") for bound in term.interval)
        low = bisect_left(self.bases, introduced) if introduced else 0
        high = bisect_left(self.versions, fixed) if fixed else len(self.items)
        high = min(high, bisect_right(self.versions, last)) if last else high
        return span(low, high)

    def where_cuda(self, term: Term) -> int:
        """The builds of torch for whose CUDA a term holds."""
        return self.where_item(
            lambda item: item.variant[:2] == "cu" and term.interval.contains(cuda_of(item.variant))
        )

    def accepted(self, specifier: str) -> int:
        """The items that a specifier admits; a local label of torch ("==2.6.0+cu124") asks for that build."""
        known = self._accepted.get(specifier)
        if known is None:
            known = self._accepted[specifier] = self._accept(specifier)
        return known

    def _accept(self, specifier: str) -> int:
        bounds, label = without_label(specifier)
        labelled = self.where_item(lambda item: item.variant in ("", label)) if label else self.present
        return labelled & self.where_item(lambda item: bounds.contains(item.version, prereleases=True))

    def item(self, number: int) -> Item:
        """The item of a bit."""
        return self.items[number - 1]

    def numbers(self, version: str) -> list[int]:
        """The items of a release: of torch there may be several builds."""
        return [number for number, item in enumerate(self.items, 1) if item.release.version == version]

    def position(self, version: str) -> int:
        """Where a release stands; 0 where it does not."""
        return next(iter(self.numbers(version)), 0)

    def nearest(self, version: str) -> int:
        """The item of a version ("2.13.0+cu126" is a build of torch), or the one before where it would be."""
        wanted, label = comparable(version), version.partition("+")[2]
        if wanted is None:
            return len(self.items)
        same = [number for number, item in enumerate(self.items, 1) if item.version == wanted]
        built = [number for number in same if self.item(number).variant == label]
        older = [number for number, item in enumerate(self.items, 1) if item.version < wanted]
        return (built or same or older[-1:] or [1])[-1]


def span(low: int, high: int) -> int:
    """The bits of the items from one place up to, not including, another."""
    return ((1 << high - low) - 1) << low + 1 if high > low else 0


def base_of(version: Version) -> Version:
    """The release that a pre-release comes before, else the version itself."""
    return Version(version.base_version) if version.is_prerelease else version


@cache
def without_label(specifier: str) -> tuple[SpecifierSet, str]:
    """The specifier for public versions, and the local label that it asks for ("" without one)."""
    public, _, label = specifier.partition("+")
    label, comma, rest = label.partition(",")
    return SpecifierSet(public + comma + rest), label


def items_of(package: str, release: Release, machine: Machine, strict: bool) -> list[Item]:
    """A release as items: one, or one for each build of torch that the machine can use."""
    version = Version(release.version)
    if package != "torch" or not strict:
        return [Item(release, version)]
    return [Item(release, version, variant) for variant in variants(minor_of(release.version), machine)]


def why_not(package: str, release: Release, machine: Machine, strict: bool) -> str:
    """Why a machine cannot take a release, in a sentence; "" where it can.

    ``strict`` asks for a wheel, and for a build of torch that runs; without it, for what an installer tries.
    """
    name = f"{package} {release.version}"
    if release.requires_python and not admits_python(
        release.requires_python, machine.markers["python_full_version"]
    ):
        return f"{name} needs Python {release.requires_python}, not {machine.python}"
    if release.wheels and not (release.sdist and not strict) and not has_wheel(release, machine):
        return f"{name} has no wheel for Python {machine.minor} on {machine.os} {machine.arch}"
    if strict and package == "torch" and not variants(minor_of(release.version), machine):
        return f"no CUDA build of {name} is known that runs here"
    return ""


@cache
def admits_python(bound: str, python: str) -> bool:
    """Does Requires-Python admit a Python?"""
    return SpecifierSet(bound).contains(python, prereleases=True)


def has_wheel(release: Release, machine: Machine) -> bool:
    """Is there a wheel for the machine? Every build of torch is taken to come for the same Pythons."""
    return fits(release.wheels, machine.minor, machine.os, machine.arch, machine.glibc)


@cache
def fits(wheels: tuple[object, ...], python: str, os: str, arch: str, floor: str) -> bool:
    """Does one of the wheels install? Most releases have those of the release before."""
    return any(one.fit(python, os, arch, floor) for one in wheels)  # type: ignore[attr-defined]
