"""Which sets must be evaluated so that the outcome of every pair of releases is known.

A release is first evaluated in the set of its own time. What it asks of a package there, and how each release
of that package answers, divides those releases into classes; one set of each class is evaluated. Releases of
the asking package that ask the same share these evaluations.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import NamedTuple

import msgspec
from packaging.version import Version

from compute.evaluation import Evaluation, Failure
from compute.fingerprints import Question, Reader
from compute.sets import Unsolvable, complete, day_of, reference
from compute.sources import Sources
from doctor.static.stages import ALL, StaticStage

TRIES = 4  # releases of a class that are asked where other faults hide what they do
REPAIRS = 1  # how often another package of a set is exchanged so that the pair itself can be seen
PROVIDERS = {
    "transformers": (
        "accelerate",
        "peft",
        "huggingface-hub",
        "tokenizers",
        "datasets",
        "numpy",
        "safetensors",
    ),
    "peft": ("transformers", "accelerate", "huggingface-hub", "bitsandbytes"),
    "trl": ("transformers", "accelerate", "peft", "datasets"),
    "accelerate": ("huggingface-hub", "numpy"),
    "datasets": ("pyarrow", "huggingface-hub", "fsspec", "numpy", "dill"),
}
SINCE = {**{"transformers": "4.36", "peft": "0.7", "accelerate": "0.25", "trl": "0.7", "datasets": "2.14"}}
# Older releases of a package that is asked are as its oldest one here.
ASKED_SINCE = {
    **{
        "transformers": "4.31",
        "accelerate": "0.20",
        "peft": "0.4",
        "huggingface-hub": "0.17",
        "datasets": "2.12",
    },
    **{"fsspec": "2023.5", "pyarrow": "12", "numpy": "1.24", "safetensors": "0.3.1", "dill": "0.3.6"},
}
IMPORTS = tuple(stage for stage in ALL if stage.startswith("import-"))
# What is looked at where that is less than everything: whoever lacks a name of these fails at import.
ASKED_AT_IMPORT = {
    "huggingface-hub",
    "tokenizers",
    "numpy",
    "safetensors",
    "datasets",
    "pyarrow",
    "fsspec",
    "dill",
}
TRL_STAGES: tuple[StaticStage, ...] = ("import-transformers", "import-trl", "sft-step")
Verdict = dict[str, Failure | None]  # by stage; a stage that is hidden by another pair is left out
Evaluate = Callable[[Mapping[str, str], Sequence[StaticStage]], Evaluation]


class Pair(NamedTuple):
    """A release that asks, and a release that is asked."""

    consumer: str
    release: str
    provider: str
    asked: str


class Line(NamedTuple):
    """What came of one release before all releases of another package."""

    consumer: str
    release: str
    provider: str
    verdicts: dict[str, Verdict]  # by release of the provider
    evaluated: list[str]  # those that were evaluated; the rest answer like one of them


def stages_of(pair: Pair) -> tuple[StaticStage, ...]:
    """The stages that one package may break by what it asks of the other."""
    if pair.provider in ASKED_AT_IMPORT:
        return IMPORTS
    return TRL_STAGES if pair.consumer == "trl" else ALL


@cache
def reference_of(package: str, version: str) -> dict[str, str] | None:
    """The set of a release's own time, None where there is none."""
    try:
        return reference(package, version)
    except (Unsolvable, StopIteration):
        return None


def sets_for(pair: Pair) -> Iterator[dict[str, str]]:
    """Sets that hold both releases of a pair: with what goes with both, or else of the time of either."""
    fixed = {pair.consumer: pair.release, pair.provider: pair.asked}
    try:
        day = max(day_of(pair.consumer, pair.release), day_of(pair.provider, pair.asked))
        yield complete(fixed, day)
    except (Unsolvable, StopIteration):
        pass
    for home in (reference_of(pair.provider, pair.asked), reference_of(pair.consumer, pair.release)):
        if home:
            yield {**home, **fixed}


def repaired(versions: Mapping[str, str], failure: Failure, pair: Pair) -> dict[str, str] | None:
    """The set with another release of whatever else fails in it, None where there is no other."""
    homes = (reference_of(pair.provider, pair.asked), reference_of(pair.consumer, pair.release))
    for culprit in (failure.provider, failure.consumer):
        for home in homes if culprit not in (pair.consumer, pair.provider) else ():
            other = (home or {}).get(culprit)
            if other and other != versions.get(culprit):
                return {**versions, culprit: other}
    return None


def verdict(done: Evaluation, pair: Pair) -> Verdict:
    """What a set says of a pair: the stages that pass, and those that fail of this pair itself."""
    found: Verdict = dict.fromkeys(done.passed)
    for stage, failure in done.failures.items():
        if (failure.consumer, failure.provider) == (pair.consumer, pair.provider):
            found[stage] = of_any_release(failure, pair.asked)
    return found


def of_any_release(failure: Failure, asked: str) -> Failure:
    """A failure in words that hold for every release of its class: up to the one that was found."""
    found = list(re.finditer(rf"(?<![\d.]){re.escape(asked)}(?![\d.]*\d)", failure.message))
    if failure.kind != "refused" or not found:
        return failure
    return msgspec.structs.replace(failure, message=failure.message[: found[-1].start()].rstrip())


def stranger(done: Evaluation, pair: Pair) -> Failure | None:
    """A failure of other packages that hides the pair."""
    others = (
        one
        for one in done.failures.values()
        if (one.consumer, one.provider) != (pair.consumer, pair.provider)
    )
    return next(others, None)


def sought(pair: Pair, evaluate: Evaluate) -> Evaluation | None:
    """Evaluate a pair in one set after the other, until no other fault hides it; else where most is seen."""
    best: Evaluation | None = None
    for versions in sets_for(pair):
        tried: dict[str, str] | None = versions
        for _ in range(REPAIRS + 1):
            if tried is None:
                break
            done = evaluate(tried, stages_of(pair))
            failure = stranger(done, pair)
            if failure is None:
                return done
            if best is None or len(verdict(done, pair)) > len(verdict(best, pair)):
                best = done
            tried = repaired(tried, failure, pair)
    return best


def follow(
    pair: Pair,
    first: Evaluation,
    reader: Reader,
    releases: Iterable[str],
    evaluate: Evaluate,
    favoured: set[str],
) -> Line:
    """Evaluate one release of each class; ``favoured`` ones, which are at hand, are taken first."""
    questions = first.questions(pair.consumer, pair.provider)
    line = Line(pair.consumer, pair.release, pair.provider, {}, [])
    left, asked, in_vain = set(releases), pair.asked, Counter[tuple[str, ...]]()
    done: Evaluation | None = first
    while asked:
        left.discard(asked)
        kin: set[str] = set()
        if done:
            both = questions | done.questions(pair.consumer, pair.provider)
            answers, told = reader.answers(asked, both), verdict(done, pair._replace(asked=asked))
            kin = {one for one in left if reader.answers(one, both) == answers}
            seen = is_seen(done, told)
            in_vain[answers] += not seen
            if seen or in_vain[answers] == TRIES:
                line.verdicts.update(dict.fromkeys(kin, told))
                left -= kin
                favoured.add(asked)
            line.verdicts[asked] = told
            line.evaluated.append(asked)
        asked = next_of(left, kin & left, favoured, pair.asked)
        done = sought(pair._replace(asked=asked), evaluate) if asked else None
    return line


def is_seen(done: Evaluation, told: Verdict) -> bool:
    """Does an evaluation speak of the pair, or did other faults hide it?"""
    return any(told.values()) or not done.failures


def next_of(left: set[str], kin: set[str], favoured: set[str], home: str) -> str:
    """A release that is left, "" where none is.

    Where one was evaluated in vain, the far end of its class; else one at hand, else the newest below that of
    the pair's own time, else the next above.
    """
    if kin:
        return (min if len(kin) % 2 else max)(kin, key=Version)
    known = left & favoured or left
    below = [one for one in known if Version(one) < Version(home)]
    return max(below, key=Version) if below else min(known, key=Version, default="")


def alike(one: Verdict | None, other: Verdict | None) -> bool:
    """Do two verdicts name the same failures?"""
    told = [
        {stage: failure.message for stage, failure in (verdict or {}).items() if failure}
        for verdict in (one, other)
    ]
    return told[0] == told[1]


def gaps(releases: Sequence[str], known: Mapping[str, Mapping[str, Verdict]]) -> Iterator[str]:
    """Between two evaluated neighbours that differ, the middle of those that were not evaluated."""
    places = [place for place, release in enumerate(releases) if release in known]
    for before, after in zip(places, places[1:], strict=False):
        lines = known[releases[before]], known[releases[after]]
        asked = set(lines[0]) & set(lines[1])
        if after - before > 1 and not all(alike(lines[0][one], lines[1][one]) for one in asked):
            yield releases[(before + after) // 2]


def asked_releases(sources: Sources, provider: str) -> list[str]:
    """The releases of a package that are asked."""
    since = Version(ASKED_SINCE.get(provider, "0"))
    return [one for one in sources.published(provider) if Version(one) >= since]


def asking_releases(sources: Sources, consumer: str) -> list[str]:
    """The releases of a package that ask."""
    return [one for one in sources.published(consumer) if Version(one) >= Version(SINCE[consumer])]


def telling(questions: frozenset[Question], reader: Reader, releases: Iterable[str]) -> frozenset[Question]:
    """The questions that the releases do not all answer alike."""
    answers = [reader.answers(release, questions) for release in releases]  # one release after the other
    return frozenset(
        question
        for question, given in zip(sorted(questions), zip(*answers, strict=True), strict=True)
        if len({*given}) > 1
    )
