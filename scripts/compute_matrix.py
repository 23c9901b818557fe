#!/usr/bin/env python3
"""Compute where releases clash, from their own code, and write compat_matrix/computed/*.json.

    scripts/compute_matrix.py [--sources FOLDER] [--cache FOLDER] [--only CONSUMER ...]
    scripts/compute_matrix.py --check COUNT --seed SEED    # random pairs against what is stored

FOLDER is what ``scripts/harvest.py`` keeps. Outcomes are cached by set and by the interpreter's code, so an
interruption loses nothing, and a new release costs minutes. Two processes.
"""

from __future__ import annotations

import argparse
import datetime
import gc
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import TypeVar

import msgspec
from compute.check import disagreement, drawn
from compute.clashes import Grid, clashes_of
from compute.evaluation import Evaluation, Evaluator
from compute.fingerprints import Question, Reader
from compute.sources import Sources
from compute.sweep import (
    PROVIDERS,
    Line,
    Pair,
    Verdict,
    alike,
    asked_releases,
    asking_releases,
    follow,
    gaps,
    reference_of,
    telling,
)
from compute.telling import with_tellers
from packaging.version import Version

from doctor.matrix.computed import Clash, Sweep, sweeps
from doctor.matrix.rows import FOLDER

Result = TypeVar("Result")
Lines = dict[str, dict[str, Verdict]]  # by release that asks, by release that is asked
Known = dict[tuple[str, str], Lines]  # by consumer and provider
PROCESSES = 2
CACHE = Path.home() / ".cache" / "lora-doctor"


class Worker:
    """What one process keeps between tasks."""

    def __init__(self, sources: Path, cache: Path) -> None:
        gc.set_threshold(500_000, 20, 50)  # trees are large and long-lived
        self.sources = Sources(sources)
        self.cache = cache
        self.evaluator = Evaluator(self.sources, cache)
        self.readers: dict[str, Reader] = {}
        self.favoured: dict[str, set[str]] = {}

    def reader(self, package: str) -> Reader:
        """The answers of one package's releases."""
        if package not in self.readers:
            self.readers[package] = Reader(self.sources, package, self.cache)
        return self.readers[package]


worker: Worker


def start(sources: Path, cache: Path) -> None:
    """Prepare a process."""
    global worker
    worker = Worker(sources, cache)


def look(task: tuple[str, str]) -> Evaluation | None:
    """One release in the set of its own time."""
    versions = reference_of(*task)
    return worker.evaluator.evaluate(versions) if versions else None


def walk(task: tuple[str, str, str]) -> Line | None:
    """One release before all releases of one package."""
    consumer, release, provider = task
    first = look((consumer, release))
    if first is None or provider not in first.versions:
        return None
    pair = Pair(consumer, release, provider, first.versions[provider])
    releases = asked_releases(worker.sources, provider)
    favoured = worker.favoured.setdefault(provider, set())
    return follow(pair, first, worker.reader(provider), releases, worker.evaluator.evaluate, favoured)


def chosen(sources: Sources, consumer: str) -> list[str]:
    """The releases of a package that are evaluated: the first and the last patch of every minor."""
    minors: dict[tuple[int, ...], list[str]] = {}
    for version in asking_releases(sources, consumer):
        minors.setdefault(Version(version).release[:2], []).append(version)
    return [one for patches in minors.values() for one in dict.fromkeys((patches[0], patches[-1]))]


def leaders(
    sources: Sources, cache: Path, consumer: str, provider: str, looks: dict[str, Evaluation]
) -> dict[str, str]:
    """Who is evaluated for whom: releases that ask the same of a package follow the first of them."""
    reader, releases = Reader(sources, provider, cache), asked_releases(sources, provider)
    first: dict[frozenset[Question], str] = {}
    asked = {
        one: done.questions(consumer, provider) for one, done in looks.items() if provider in done.versions
    }
    told = {question for questions in asked.values() for question in questions}
    differing = telling(frozenset(told), reader, releases)
    reader.keep()
    return {release: first.setdefault(questions & differing, release) for release, questions in asked.items()}


def sweep(
    pool: ProcessPoolExecutor, sources: Sources, cache: Path, consumers: Sequence[str]
) -> Iterator[Grid]:
    """Every pair of packages, all releases of both."""
    tasks = [(consumer, release) for consumer in consumers for release in chosen(sources, consumer)]
    looked = dict(zip(tasks, told("own time", pool.map(look, tasks), len(tasks)), strict=True))
    follows: dict[tuple[str, str], dict[str, str]] = {}
    for consumer in consumers:
        looks = {release: done for (name, release), done in looked.items() if name == consumer and done}
        for provider in PROVIDERS[consumer]:
            follows[consumer, provider] = leaders(sources, cache, consumer, provider, looks)
    walks = sorted(
        {
            (consumer, leader, provider)
            for (consumer, provider), who in follows.items()
            for leader in who.values()
        },
        key=lambda one: (one[2] == "transformers", one[0], Version(one[1])),
    )
    lines = dict(zip(walks, told("pairs", pool.map(walk, walks), len(walks)), strict=True))
    known: Known = {
        (consumer, provider): {
            release: line.verdicts
            for release, leader in who.items()
            if (line := lines[consumer, leader, provider])
        }
        for (consumer, provider), who in follows.items()
    }
    refine(pool, sources, known)
    for (consumer, provider), verdicts in known.items():
        yield grid_of(sources, consumer, provider, verdicts)


def refine(pool: ProcessPoolExecutor, sources: Sources, known: Known) -> None:
    """Find the very release at which something changed: evaluate the middle of gaps until there are none."""
    while tasks := [
        (consumer, release, provider)
        for (consumer, provider), lines in known.items()
        for release in gaps(asking_releases(sources, consumer), lines)
    ]:
        for task, line in zip(tasks, told("gaps", pool.map(walk, tasks), len(tasks)), strict=True):
            known[task[0], task[2]][task[1]] = line.verdicts if line else {}


def grid_of(sources: Sources, consumer: str, provider: str, known: Lines) -> Grid:
    """The lines of one pair as a grid. A release between two evaluated ones that agree is as they are."""
    consumers, providers = asking_releases(sources, consumer), asked_releases(sources, provider)
    places = {release: column for column, release in enumerate(providers)}
    cells = {
        (row, places[asked]): verdict
        for row, release in enumerate(consumers)
        for asked, verdict in (known.get(release) or between(consumers, row, known)).items()
        if asked in places
    }
    return Grid(consumer, provider, consumers, providers, cells)


def between(consumers: Sequence[str], row: int, known: Lines) -> dict[str, Verdict]:
    """What the nearest evaluated releases on both sides agree on."""
    before = next((known[one] for one in reversed(consumers[:row]) if one in known), {})
    after = next((known[one] for one in consumers[row + 1 :] if one in known), {})
    return {asked: after[asked] for asked in after if asked in before and alike(before[asked], after[asked])}


def told(what: str, results: Iterable[Result], count: int) -> Iterator[Result]:
    """Results as they come, with progress and an estimate on standard error."""
    began = time.monotonic()
    for done, result in enumerate(results, 1):
        yield result
        took = time.monotonic() - began
        left = took / done * (count - done)
        print(f"\r{what}: {done}/{count}, {took:.0f} s, about {left:.0f} s left   ", end="", file=sys.stderr)
    print(file=sys.stderr)


def write(file: Path, sweep: Sweep) -> None:
    """One file for each consumer, one clash a line."""
    lines = ",\n".join(msgspec.json.encode(clash).decode() for clash in with_tellers(sweep).clashes)
    head = f'{{"evaluated":"{sweep.evaluated}","clashes":[\n'
    file.parent.mkdir(exist_ok=True)
    file.write_text(f"{head}{lines}\n]}}\n", encoding="utf-8")


def write_tellers() -> None:
    """Name the written rows anew beside the stored clashes, after one of them has changed."""
    for known in sweeps():
        write(FOLDER / "computed" / f"{known.clashes[0].consumer}.json", known)


def check(sources: Sources, cache: Path, count: int, seed: int) -> int:
    """Evaluate random pairs, print each that the stored clashes tell otherwise; 1 where there is one."""
    stored = [clash for stored_sweep in sweeps() for clash in stored_sweep.clashes]
    start(sources.folder, cache)
    wrong = [disagreement(pair, stored, worker.evaluator.evaluate) for pair in drawn(sources, count, seed)]
    for line in filter(None, wrong):
        print(line)
    print(f"{count} pairs, {len(list(filter(None, wrong)))} told otherwise")
    return int(any(wrong))


def main() -> None:
    """Sweep, merge, write; one line for each pair of packages."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sources", type=Path, default=CACHE / "sources")
    parser.add_argument("--cache", type=Path, default=CACHE / "outcomes")
    parser.add_argument("--only", nargs="*", default=list(PROVIDERS), choices=list(PROVIDERS))
    parser.add_argument("--check", type=int, default=0, metavar="COUNT")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--told", action="store_true", help="only name the written rows beside the clashes")
    options = parser.parse_args()
    if options.told:
        write_tellers()
        return
    sources = Sources(options.sources)
    if options.check:
        sys.exit(check(sources, options.cache, options.check, options.seed))
    found: dict[str, list[Clash]] = {}
    with ProcessPoolExecutor(PROCESSES, initializer=start, initargs=(options.sources, options.cache)) as pool:
        for grid in sweep(pool, sources, options.cache, options.only):
            clashes = list(clashes_of(grid))
            found.setdefault(grid.consumer, []).extend(clashes)
            print(f"{grid.consumer} x {grid.provider}: {len(grid.cells)} pairs, {len(clashes)} clashes")
    today = datetime.datetime.now(datetime.timezone.utc).date()
    for consumer, clashes in found.items():
        write(FOLDER / "computed" / f"{consumer}.json", Sweep(evaluated=today, clashes=tuple(clashes)))


if __name__ == "__main__":
    main()
