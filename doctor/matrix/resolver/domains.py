"""What is left of each shelf once the needs of every item are held against the rest: arc consistency.

resolvelib tries one release after another; where two pins contradict one another by way of a third package,
it can try for long. Here items that no choice can satisfy are struck out beforehand, each with the need that
struck it, so that a contradiction shows at once, and its chain with it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

from doctor.matrix.resolver.catalog import Catalog, Need, Pick
from doctor.matrix.resolver.shelf import ABSENT


class Domains:
    """The bits of each package that may still be chosen; :attr:`empty` names one that has none left."""

    def __init__(self, known: Catalog, roots: Iterable[Need], unknown: frozenset[str]) -> None:
        self.known, self.unknown, self.roots = known, unknown, list(roots)
        self.left: dict[str, int] = {}
        self.struck: dict[str, dict[int, Need]] = defaultdict(
            dict
        )  # package -> item -> the need that struck it
        self.narrowed: dict[str, dict[str, int]] = defaultdict(
            dict
        )  # package -> who narrowed it, and how far
        self.empty = ""
        self._askers: dict[str, set[str]] = defaultdict(
            set
        )  # package -> those whose items ask something of it
        for need in self.roots:
            self.left[need.package] = self.of(need.package) & need.allowed
        self.empty = next((need.package for need in self.roots if not self.left[need.package]), "")
        if not self.empty:
            self._settle()

    def of(self, package: str) -> int:
        """The bits of a package."""
        return self.left.get(package, self.known.shelf(package).everything)

    def _settle(self) -> None:
        """Strike out until nothing changes; only packages that must be there are looked at."""
        waiting = {package for package, left in self.left.items() if not left & ABSENT}
        while waiting and not self.empty:
            package = min(waiting)
            waiting.remove(package)
            changed = self._narrow(package)
            if not self.left[package]:
                self.empty = package
            for name in sorted(changed):
                waiting |= {asker for asker in self._askers[name] if not self.of(asker) & ABSENT}
                if name != package and not self.left[name] & ABSENT:
                    waiting.add(name)

    def _narrow(self, package: str) -> set[str]:
        """Strike out items of a package, and of others what goes with none of its items; what changed."""
        before = self.left[package]
        union: dict[str, int] | None = None
        for number in numbers(before):
            asked = self._asked(Pick(package, number))
            hopeless = next(
                (need for need in asked.values() if not need.allowed & self.of(need.package)), None
            )
            if hopeless:
                self.left[package] &= ~(1 << number)
                self.struck[package][number] = hopeless
            elif union is None:
                union = {name: need.allowed for name, need in asked.items()}
            else:
                union = {name: bits | asked[name].allowed for name, bits in union.items() if name in asked}
        changed = {package} if self.left[package] != before else set()
        return changed | {name for name, bits in (union or {}).items() if self._limit(name, bits, package)}

    def _limit(self, name: str, bits: int, asker: str) -> bool:
        """Leave of a package what some item of another goes with. Was it more before?"""
        if not self.of(name) & ~bits:
            return False
        self.left[name] = self.of(name) & bits
        self.narrowed[name][asker] = bits
        return True

    def _asked(self, pick: Pick) -> dict[str, Need]:
        """The needs of an item, one for each package."""
        found: dict[str, Need] = {}
        for need in self.known.needs(pick):
            if need.package in self.unknown:
                continue
            self._askers[need.package].add(pick.package)
            other = found.get(need.package)
            found[need.package] = joined(need, other) if other else need
        return found


def joined(one: Need, other: Need) -> Need:
    """Two needs of one item and one package as one."""
    said = one.said if one.bounded or not other.said else other.said
    return Need(one.package, one.allowed & other.allowed, said, (*one.bans, *other.bans))


def numbers(bits: int) -> Iterator[int]:
    """The items of a mask, the best first."""
    for number in range(bits.bit_length() - 1, 0, -1):
        if bits >> number & 1:
            yield number
