"""Holds what is stored against pairs that are evaluated anew: does it predict what the interpreter finds?"""

from __future__ import annotations

import random
from collections.abc import Iterator

from compute.clashes import faults_of
from compute.sources import Sources
from compute.sweep import PROVIDERS, Evaluate, Pair, asked_releases, asking_releases, sought, verdict
from doctor.matrix.computed import Clash
from doctor.versions import Interval


def drawn(sources: Sources, count: int, seed: int) -> Iterator[Pair]:
    """Pairs of releases at random, each pair of packages as likely as any other."""
    chance = random.Random(seed)
    packages = [(one, other) for one, providers in PROVIDERS.items() for other in providers]
    for _ in range(count):
        consumer, provider = chance.choice(packages)
        release = chance.choice(asking_releases(sources, consumer))
        yield Pair(consumer, release, provider, chance.choice(asked_releases(sources, provider)))


def disagreement(pair: Pair, clashes: list[Clash], evaluate: Evaluate) -> str:
    """What the stored clashes say of a pair and an evaluation does not find, or the reverse; "" for none."""
    done = sought(pair, evaluate)
    if done is None:
        return ""
    found = verdict(done, pair)
    faults = faults_of(found, (pair.consumer, pair.provider))
    seen = {stage for fault in faults for stage in fault.breaks if stage in found}
    said = {stage for clash in clashes if speaks_of(clash, pair) for stage in clash.breaks if stage in found}
    if seen == said:
        return ""
    words = ", ".join(fault.message for fault in faults) or "passes"
    return f"{' '.join(pair)}: {sorted(said - seen)} said, {sorted(seen - said)} not said; {words}"


def speaks_of(clash: Clash, pair: Pair) -> bool:
    """Do both releases of a pair lie in a clash?"""
    return (
        (clash.consumer, clash.provider) == (pair.consumer, pair.provider)
        and Interval(*clash.consumers).contains(pair.release)
        and Interval(*clash.providers).contains(pair.asked)
    )
