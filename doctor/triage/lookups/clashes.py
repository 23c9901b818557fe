"""Clashes between releases that were computed from their code: those that a message may be of."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import NamedTuple

from doctor.matrix.computed import Clash, is_too_old, sweeps
from doctor.triage.case import Case
from doctor.versions import Interval

MANY = 8  # packages; a list of as many would hold a package that matters
# Names that people import themselves: a library is only suspected of asking where the paste speaks of it.
OF_PEOPLE = re.compile(r"^(?:AutoModel|AutoProcessor|AutoTokenizer|BaseImageProcessor|DataCollator|Trainer)")


class Candidate(NamedTuple):
    """A clash that a message may be of, and how much speaks for it."""

    clash: Clash
    weight: int  # 2: the version of who asks is stated and fits; 1: the paste speaks of it; 0: neither


@cache
def by_symbol() -> Mapping[str, tuple[Clash, ...]]:
    """Every clash by the name, module or keyword that is asked for."""
    found: dict[str, list[Clash]] = {}
    for sweep in sweeps():
        for clash in sweep.clashes:
            if clash.kind != "version":
                found.setdefault(clash.symbol, []).append(clash)
    return {symbol: tuple(clashes) for symbol, clashes in found.items()}


def clashes_of(symbol: str, words: str) -> tuple[Clash, ...]:
    """The clashes about a symbol whose message has all these words: a module, or a callable; "" is any."""
    return tuple(clash for clash in by_symbol().get(symbol, ()) if words in clash.message)


@cache
def between(consumer: str, provider: str) -> tuple[Clash, ...]:
    """Every clash of two packages."""
    of_both = (clash for sweep in sweeps() for clash in sweep.clashes if clash.consumer == consumer)
    return tuple(clash for clash in of_both if clash.provider == provider)


def go_together(consumer: str, asks: str, provider: str, has: str) -> bool:
    """Were these releases evaluated, and is there no clash between them?"""
    evaluated = any(Interval(clash.consumers[0]).contains(asks) for clash in between(consumer, provider))
    return evaluated and not any(
        is_asked_by(clash, asks) and lacks(clash, has) for clash in between(consumer, provider)
    )


@cache
def is_before_all(consumer: str, version: str) -> bool:
    """Is a release older than all that were evaluated, so that it is not known what it asks for?"""
    firsts = [
        clash.consumers[0] for sweep in sweeps() for clash in sweep.clashes if clash.consumer == consumer
    ]
    return not any(Interval(first).contains(version) for first in firsts)


def releases_with(clashes: tuple[Clash, ...]) -> tuple[Interval, ...]:
    """The releases that have what these clashes are about, where no table of the provider tells."""
    ends = [clash.providers[1] for clash in clashes if is_too_old(clash)]
    starts = [clash.providers[0] for clash in clashes if not is_too_old(clash)]
    return (Interval(next(iter(ends), None) or "0", next(iter(starts), None)),) if clashes else ()


def is_asked_by(clash: Clash, version: str) -> bool:
    """Does a release of the consumer ask for it?"""
    return Interval(*clash.consumers).contains(version)


def lacks(clash: Clash, version: str) -> bool:
    """Is it missing in a release of the provider?"""
    return Interval(*clash.providers).contains(version)


def candidates(clashes: tuple[Clash, ...], behind: bool, case: Case) -> list[Candidate]:
    """The clashes that this paste does not exclude, what it speaks for first."""
    weighed = [
        Candidate(clash, weight)
        for clash in clashes
        if is_too_old(clash) == behind and (weight := weigh(clash, case)) is not None
    ]
    return sorted(weighed, key=lambda one: -one.weight)


def weigh(clash: Clash, case: Case) -> int | None:
    """What speaks for it that the consumer of a clash asks; None where the paste excludes it."""
    asks, has = case.version(clash.consumer), case.version(clash.provider)
    if has and not lacks(clash, has) and not clash_next_to(clash, has):
        return None
    if asks:
        if is_before_all(clash.consumer, asks):
            return 1
        return 2 if is_asked_by(clash, asks) else None
    if case.mentions(clash.consumer):
        return 1
    people_ask = OF_PEOPLE.match(clash.symbol) or clash.provider in ("peft", "trl")
    return None if is_listed_in_full(case) or people_ask else 0


def clash_next_to(clash: Clash, version: str) -> bool:
    """Is a version a pre-release of the first that lacks it, or below the first clash of one reason?

    Where an older provider fails on another name first, the clash of that name is the one that is stored.
    """
    first, end = clash.providers
    return Interval("0", end).contains(version) if end else Interval(f"{first}.dev0").contains(version)


def is_listed_in_full(case: Case) -> bool:
    """Does a paste list so many packages that what it leaves out is not there?"""
    return bool(case.facts.packages and len(case.facts.packages.installed) >= MANY)
