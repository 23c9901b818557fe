"""resolvelib, which pip resolves with, over the shelves of a catalog."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import NamedTuple

import msgspec
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from resolvelib import AbstractProvider, BaseReporter, ResolutionImpossible, ResolutionTooDeep, Resolver
from resolvelib.resolvers import RequirementInformation

from doctor.matrix.machine import Machine
from doctor.matrix.releases import is_outside, releases_of
from doctor.matrix.resolver.bans import Ban
from doctor.matrix.resolver.catalog import Catalog, Need, Pick, catalog, is_hit
from doctor.matrix.resolver.chain import Chain
from doctor.matrix.resolver.domains import Domains
from doctor.matrix.resolver.reasons import first_of, told
from doctor.matrix.resolver.shelf import ABSENT
from doctor.versions import comparable

Cause = RequirementInformation[Need, Pick]

# Whose newest release matters most: a package is chosen before those below it, which follow.
RANK = ("torch", "transformers", "trl", "peft", "accelerate", "bitsandbytes", "datasets", "huggingface-hub")
ROUNDS = 5000  # far above what any set has taken; a bound, so that no input runs for ever
NEAR_ROUNDS = 800  # for a set near another: there may be none, and the newest is found without a search


class Solution(msgspec.Struct, frozen=True):
    """A set that works together, as far as is known."""

    pins: Mapping[str, str]  # public versions
    torch_variant: str = ""  # "cu126", "cpu"; "" where builds were not asked for
    unknown: tuple[str, ...] = ()  # wanted, and no table of releases speaks of it
    left_out: Mapping[str, str] = {}  # package -> why there is none of it for this machine
    warnings: tuple[str, ...] = ()  # what breaks for some uses and could not be avoided


class Conflict(msgspec.Struct, frozen=True):
    """No set: the reasons, in plain sentences."""

    reasons: tuple[str, ...]


class Wish(NamedTuple):
    """What is solved for: what the user wants, what belongs to every set, and versions to stay close to."""

    wanted: tuple[Requirement, ...]
    extra_packages: tuple[str, ...] = ()
    preferred: Mapping[str, str] = {}

    @property
    def known(self) -> list[Requirement]:
        """Requirements that the tables of releases can speak of."""
        return [one for one in self.wanted if is_known(one)]

    @property
    def unknown(self) -> tuple[str, ...]:
        """Packages of the others, which nothing is solved for."""
        return tuple(dict.fromkeys(canonicalize_name(one.name) for one in self.wanted if not is_known(one)))


def solve(
    wanted: Sequence[Requirement],
    machine: Machine,
    *,
    extra_packages: Sequence[str] = (),
    preferred: Mapping[str, str] | None = None,
    use_rows: bool,
) -> Solution | Conflict:
    """The newest set, or the one closest to ``preferred``, that satisfies all that is known.

    ``use_rows``: known incompatibilities and platform tables too, where without it only declared metadata
    counts, as for an installer. Rows that break some uses alone are avoided where there is another way.
    ``extra_packages`` are wanted in any release. Packages without a table are left to the installer.
    """
    wish = Wish(tuple(wanted), tuple(extra_packages), preferred or {})
    if not use_rows:
        return attempt(catalog(machine, "declared"), wish)
    best = attempt(catalog(machine, "warnings"), wish)
    return best if isinstance(best, Solution) else attempt(catalog(machine, "errors"), wish)


@cache
def is_known(requirement: Requirement) -> bool:
    """Is there a table, and can a release that is asked for stand in it? Tables begin and end somewhere."""
    releases = releases_of(requirement.name)
    if not releases or is_outside(requirement.name, str(requirement.specifier)):
        return False
    first, last = comparable(releases[0].version), comparable(releases[-1].version)
    exact = [
        comparable(one.version.rstrip(".*")) for one in requirement.specifier if one.operator in ("==", "===")
    ]
    return all(
        bool(pin and not pin.is_prerelease and first and last and first <= pin <= last) for pin in exact
    )


def attempt(known: Catalog, wish: Wish) -> Solution | Conflict:
    """One solve. Bans of three packages and more are checked afterwards; what breaks one is solved anew."""
    left_out = impossible(known, wish)
    needs = list(root_needs(known, wish, left_out))
    extra_bans: list[Ban] = []
    while True:
        outcome = resolved(known, wish, needs, extra_bans)
        if isinstance(outcome, Conflict):
            return outcome
        broken = next((ban for ban in known.bans if len(ban.masks) > 2 and is_hit(ban, outcome)), None)
        if broken is None:
            return solution(known, outcome, wish.unknown, left_out)
        extra_bans.append(narrowed(broken))


def impossible(known: Catalog, wish: Wish) -> dict[str, str]:
    """Packages that nobody asked for and that do not exist for a machine without CUDA, with the reason.

    bitsandbytes has no library for some systems, and a fine-tune without quantization does not need it.
    """
    asked = {canonicalize_name(one.name) for one in wish.wanted}
    if not known.strict or known.machine.wants_cuda or "bitsandbytes" in asked:
        return {}
    allowed = known.shelf("bitsandbytes").present
    for ban in known.bans:
        if (
            ban.masks.keys() == {"torch", "bitsandbytes"}
            and not known.shelf("torch").present & ~ban.masks["torch"]
        ):
            allowed &= ~ban.masks["bitsandbytes"]
    where = f"Python {known.machine.minor} on {known.machine.os} {known.machine.arch}"
    return {} if allowed else {"bitsandbytes": f"no release of it has a library for {where}"}


def root_needs(known: Catalog, wish: Wish, left_out: Mapping[str, str]) -> Iterator[Need]:
    """What the user asks for, what belongs to every set, and what is never to be taken."""
    for requirement in wish.known:
        if requirement.marker is None or requirement.marker.evaluate({**known.machine.markers, "extra": ""}):
            yield from known.with_extras(requirement)
    unknown = wish.unknown
    for package in wish.extra_packages:
        if package not in left_out and package not in unknown:
            yield Need(package, known.shelf(package).ordinary & ~ABSENT)
    yield from known.lone_bans()


def resolved(known: Catalog, wish: Wish, needs: list[Need], bans: list[Ban]) -> dict[str, Pick] | Conflict:
    """The picks of one run of resolvelib, over what is possible at all."""
    domains = Domains(known, needs, frozenset(wish.unknown))
    if domains.empty:
        return Conflict(first_of(Chain(known, domains).sentences()))
    rounds = NEAR_ROUNDS if wish.preferred else ROUNDS
    resolver = Resolver(Provider(known, wish, bans, domains), BaseReporter[Need, Pick, str]())
    try:
        return dict(resolver.resolve(needs, max_rounds=rounds).mapping)
    except ResolutionImpossible as failure:
        return Conflict(first_of(told(known, list(failure.causes))))
    except ResolutionTooDeep:
        return Conflict((f"no set was found in {rounds} steps; pin fewer packages",))


def solution(
    known: Catalog, picks: Mapping[str, Pick], unknown: tuple[str, ...], left_out: Mapping[str, str]
) -> Solution:
    """The outcome in the words of installers."""
    taken = {name: pick for name, pick in picks.items() if pick.number and "[" not in name}
    ranked = sorted(taken, key=rank)
    torch = taken.get("torch")
    variant = known.shelf("torch").item(torch.number).variant if torch else ""
    pins = {name: known.version(taken[name]) for name in ranked}
    warned = tuple(known.warned(taken)) if known.rules == "errors" else ()
    return Solution(pins, variant, unknown, left_out, warned)


def rank(name: str) -> tuple[int, str]:
    """The order in which packages are chosen and told."""
    return (RANK.index(name) if name in RANK else len(RANK), name)


def narrowed(ban: Ban) -> Ban:
    """A broken ban of many packages as one of two, as long as the others stay as they are.

    That forbids a little too much, and never lets through what breaks.
    """
    last = sorted(ban.masks, key=rank)[-2:]
    return ban._replace(masks={package: ban.masks[package] for package in last})


class Provider(AbstractProvider[Need, Pick, str]):
    """What resolvelib asks: the candidates of a package in order, and what each of them needs."""

    def __init__(self, known: Catalog, wish: Wish, bans: Iterable[Ban], domains: Domains) -> None:
        self.known, self.bans, self.domains = known, tuple(bans), domains
        self.asked = {canonicalize_name(one.name) for one in wish.wanted if one.specifier}
        self.preferred, self.unknown = wish.preferred, frozenset(wish.unknown)
        self._orders: dict[str, tuple[int, ...]] = {}

    def identify(self, requirement_or_candidate: Need | Pick) -> str:
        return requirement_or_candidate.package

    def get_preference(
        self,
        identifier: str,
        resolutions: object,
        candidates: object,
        information: object,
        backtrack_causes: object,
    ) -> tuple[bool, int, str]:
        return (identifier not in self.asked, *rank(identifier))

    def find_matches(
        self,
        identifier: str,
        requirements: Mapping[str, Iterator[Need]],
        incompatibilities: Mapping[str, Iterator[Pick]],
    ) -> list[Pick]:
        allowed = self.domains.of(identifier)
        for need in requirements[identifier]:
            allowed &= need.allowed
        for pick in incompatibilities[identifier]:
            allowed &= ~(1 << pick.number)
        if allowed & ABSENT:  # nobody needs it, so far
            return [Pick(identifier, 0)]
        if identifier in self.preferred:
            return [Pick(identifier, number) for number in self.order(identifier) if allowed >> number & 1]
        return [
            Pick(identifier, number)
            for number in range(allowed.bit_length() - 1, 0, -1)
            if allowed >> number & 1
        ]

    def order(self, package: str) -> tuple[int, ...]:
        """The items from the one that is preferred outwards, newer before older ones as far away."""
        if package not in self._orders:
            shelf = self.known.shelf(package)
            near = shelf.nearest(self.preferred[package])
            numbers = range(1, len(shelf.items) + 1)
            self._orders[package] = tuple(sorted(numbers, key=lambda number: (abs(number - near), -number)))
        return self._orders[package]

    def is_satisfied_by(self, requirement: Need, candidate: Pick) -> bool:
        return bool(requirement.allowed >> candidate.number & 1)

    def get_dependencies(self, candidate: Pick) -> list[Need]:
        needs = [need for need in self.known.needs(candidate) if need.package not in self.unknown]
        for ban in self.bans:
            if ban.masks.get(candidate.package, 0) >> candidate.number & 1:
                other = next(package for package in ban.masks if package != candidate.package)
                needs.append(Need(other, self.known.shelf(other).everything & ~ban.masks[other], bans=(ban,)))
        return needs
