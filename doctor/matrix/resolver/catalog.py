"""All that is known of one machine's choices: the shelves, what each item asks for, and what it excludes."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Literal, NamedTuple

from packaging.markers import Marker
from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from doctor.findings import Severity
from doctor.matrix.computed import computed_rows
from doctor.matrix.machine import Machine
from doctor.matrix.releases import is_outside, releases_of
from doctor.matrix.resolver.bans import Ban, ban_of, without_library
from doctor.matrix.resolver.shelf import ABSENT, Shelf
from doctor.matrix.rows import Row, load_rows

# declared: what packages say of one another, as an installer has it. errors: also what is known to break.
# warnings: also what is known to break for some uses.
Rules = Literal["declared", "errors", "warnings"]
NAME = re.compile(r"\s*([A-Za-z0-9][\w.-]*)")
EXTRA = re.compile(r"\bextra\b")


class Pick(NamedTuple):
    """One item of a shelf, by its bit; 0: left out. A package with an extra is a package of its own."""

    package: str  # "transformers", "transformers[torch]"
    number: int


class Need(NamedTuple):
    """What a pick, or the user, asks of a package; where its bits hold ABSENT, it may be left out."""

    package: str
    allowed: int
    said: str = ""  # the requirement as it is declared
    bans: tuple[Ban, ...] = ()

    @property
    def bounded(self) -> bool:
        """Is a requirement declared that does not take any release?"""
        return bool(re.search(r"[<>=~!]", self.said))


class Catalog:
    """The choices of one machine under one set of rules; made once, and asked for every solve."""

    def __init__(self, machine: Machine, rules: Rules) -> None:
        self.machine, self.rules, self.strict = machine, rules, rules != "declared"
        self._shelves: dict[str, Shelf] = {}
        self._needs: dict[Pick, tuple[Need, ...]] = {}
        self.bans = tuple(self._bans()) if self.strict else ()
        self._pairs: dict[str, list[Ban]] = defaultdict(list)
        for ban in self.bans:
            if len(ban.masks) == 2:
                for package in ban.masks:
                    self._pairs[package].append(ban)

    def shelf(self, package: str) -> Shelf:
        """The shelf of a package, by its name or with an extra."""
        name = package.partition("[")[0]
        if name not in self._shelves:
            self._shelves[name] = Shelf(name, self.machine, self.strict)
        return self._shelves[name]

    def version(self, pick: Pick) -> str:
        """The version of a pick, "" of one that is left out."""
        return self.shelf(pick.package).item(pick.number).release.version if pick.number else ""

    def needs(self, pick: Pick) -> tuple[Need, ...]:
        """All that a pick asks of other packages."""
        known = self._needs.get(pick)
        if known is None:
            known = self._needs[pick] = (*self._declared(pick), *self._excluded(pick))
        return known

    def lone_bans(self) -> Iterator[Need]:
        """Items that are not to be taken whatever goes with them."""
        for ban in self.bans:
            if len(ban.masks) == 1:
                (package, mask), *_ = ban.masks.items()
                yield Need(package, self.shelf(package).everything & ~mask, bans=(ban,))

    def need_of(self, requirement: Requirement) -> Need:
        """What a requirement asks for, its extras left to :meth:`with_extras`."""
        name, said = canonicalize_name(requirement.name), str(requirement.specifier)
        shelf = self.shelf(name)
        pinned = any(one.operator in ("==", "===") for one in requirement.specifier)
        allowed = shelf.accepted(said) & (shelf.everything if pinned else shelf.ordinary)
        return Need(name, allowed & ~ABSENT, f"{name}{said}")

    def with_extras(self, requirement: Requirement) -> Iterator[Need]:
        """What a requirement asks for: the package, and the package with each of its extras."""
        need = self.need_of(requirement)
        yield need
        for extra in sorted(requirement.extras):
            yield need._replace(package=f"{need.package}[{canonicalize_name(extra)}]")

    def _declared(self, pick: Pick) -> Iterator[Need]:
        """Requires-Dist, as far as its packages have a table and its markers hold."""
        if not pick.number:
            return
        name, _, extra = pick.package.rstrip("]").partition("[")
        item = self.shelf(name).item(pick.number)
        if extra:
            yield Need(name, 1 << pick.number, f"{name}=={item.release.version}")
        for requirement in self._requirements(item.release.requires, extra):
            # Triton comes with the CUDA builds of torch alone.
            if not (requirement.name == "triton" and item.variant == "cpu"):
                yield from self.with_extras(requirement)

    def _requirements(self, lines: tuple[str, ...], extra: str) -> Iterator[Requirement]:
        for line in lines:
            if bool(extra) == bool(EXTRA.search(line)) and is_covered(line):
                requirement = parsed(line)
                if requirement and self._applies(requirement.marker, extra) and self._is_known(requirement):
                    yield requirement

    def _is_known(self, requirement: Requirement) -> bool:
        """May a table hold what is required? Tables begin at a day: protobuf<4 is not for them to refuse."""
        said = str(requirement.specifier)
        return bool(self.shelf(requirement.name).accepted(said)) or not is_outside(requirement.name, said)

    def _applies(self, marker: Marker | None, extra: str) -> bool:
        return marker is None or marker.evaluate({**self.machine.markers, "extra": extra})

    def _excluded(self, pick: Pick) -> Iterator[Need]:
        """What does not go with a pick, one need for each other package."""
        mine = 1 << pick.number
        found: dict[str, list[Ban]] = defaultdict(list)
        for ban in self._pairs.get(pick.package, ()):
            if ban.masks[pick.package] & mine:
                other = next(package for package in ban.masks if package != pick.package)
                found[other].append(ban)
        for other, bans in found.items():
            allowed = self.shelf(other).everything
            for ban in bans:
                allowed &= ~ban.masks[other]
            yield Need(other, allowed, bans=tuple(bans))

    def warned(self, picks: Mapping[str, Pick]) -> Iterator[str]:
        """What is known to break for some uses of a set."""
        versions = {name: self.version(pick) for name, pick in picks.items()}
        return (ban.sentence(versions) for ban in self._bans_of("warning") if is_hit(ban, picks))

    def _bans(self) -> Iterator[Ban]:
        yield from self._bans_of("error")
        if self.rules == "warnings":
            yield from self._bans_of("warning")
        yield from without_library(self.machine, self.shelf)

    def _bans_of(self, severity: Severity) -> Iterator[Ban]:
        for row in all_rows():
            if row.severity == severity and not row.withdrawn:
                ban = ban_of(row, self.machine, self.shelf)
                if ban:
                    yield ban


def is_hit(ban: Ban, picks: Mapping[str, Pick]) -> bool:
    """Do the picks hold everything that must not be together?"""
    absent = Pick("", 0)
    return all(mask >> picks.get(package, absent).number & 1 for package, mask in ban.masks.items())


@cache
def catalog(machine: Machine, rules: Rules) -> Catalog:
    """The catalog of a machine."""
    return Catalog(machine, rules)


@cache
def all_rows() -> tuple[Row, ...]:
    """Curated and computed rows."""
    return (*load_rows(), *computed_rows())


@cache
def parsed(line: str) -> Requirement | None:
    """A requirement in the words of PEP 508, None where it breaks them."""
    try:
        return Requirement(line)
    except InvalidRequirement:
        return None


@cache
def is_covered(line: str) -> bool:
    """Does a requirement name a package whose releases are known?"""
    name = NAME.match(line)
    return bool(name and releases_of(name[1]))
