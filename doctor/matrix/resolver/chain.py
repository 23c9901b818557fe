"""The chain of reasons why nothing is left of a package: who struck its items out, and why they could."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

from doctor.matrix.resolver.bans import Ban
from doctor.matrix.resolver.catalog import Catalog, Need, Pick
from doctor.matrix.resolver.domains import Domains, numbers
from doctor.matrix.resolver.reasons import newest_build, of_root, span_of


class Chain:
    """Sentences from the package of which nothing is left down to what was asked for."""

    def __init__(self, known: Catalog, domains: Domains) -> None:
        self.known, self.domains = known, domains
        self._told: set[str] = set()

    def sentences(self) -> Iterator[str]:
        """The chain; first the build of torch, where its library is what lacks."""
        empty = self.domains.empty
        if "bitsandbytes" in (empty, *(need.package for need in self.domains.struck[empty].values())):
            yield from newest_build(self.known)
        yield from self.of(empty, self.known.shelf(empty).present)

    def of(self, package: str, bits: int) -> Iterator[str]:
        """Why none of these items of a package is left."""
        if package in self._told:
            return
        self._told.add(package)
        for need in self.domains.roots:
            if need.package == package and (need.bounded or need.bans or not need.allowed):
                yield from of_root(self.known, need)
        struck = {number: need for number, need in self.domains.struck[package].items() if bits >> number & 1}
        yield from self.asked(package, struck.items())
        for asker in self.domains.narrowed[package]:
            yield from self.narrowed_by(asker, package, bits)
        for need in struck.values():
            yield from self.of(need.package, need.allowed)

    def narrowed_by(self, asker: str, package: str, bits: int) -> Iterator[str]:
        """Who leaves nothing of these items of a package, and why it is there."""
        left = numbers(self.domains.of(asker))
        needs = ((number, need) for number in left for need in self.known.needs(Pick(asker, number)))
        mine = [(number, need) for number, need in needs if need.package == package and bits & ~need.allowed]
        yield from self.asked(asker, mine)
        yield from self.of(asker, self.known.shelf(asker).present)

    def asked(self, package: str, asked: Iterable[tuple[int, Need]]) -> Iterator[str]:
        """What items of a package ask for in vain, once for all that ask the same."""
        groups: dict[str, list[int]] = defaultdict(list)
        bans: dict[str, Ban] = {}
        for number, need in asked:
            effective = self.effective(need)
            bans |= {ban.title: ban for ban in effective}
            for key in [ban.title for ban in effective] or [need.said] * need.bounded:
                groups[key].append(number)
        for key, found in groups.items():
            versions = span_of(self.known.shelf(package), found)
            if key in bans:
                only = {package: versions} if len(found) == 1 else {}
                yield bans[key].sentence({name: self.only(name) for name in bans[key].masks} | only)
            else:
                yield f"{package} {versions} {'requires' if len(found) == 1 else 'require'} {key}"

    def effective(self, need: Need) -> list[Ban]:
        """The bans of a need that hit what may be chosen of its package, going by what was asked for."""
        return [ban for ban in need.bans if ban.masks[need.package] & self.wanted(need.package)]

    def only(self, package: str) -> str:
        """The release of a package that is asked for, "" where there is a choice."""
        wanted = list(numbers(self.wanted(package)))
        return self.known.shelf(package).item(wanted[0]).release.version if len(wanted) == 1 else ""

    def wanted(self, package: str) -> int:
        """The items of a package that may be chosen, going by what was asked for alone."""
        allowed = self.known.shelf(package).present
        for root in self.domains.roots:
            if root.package == package:
                allowed &= root.allowed
        return allowed
