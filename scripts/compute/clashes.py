"""Outcomes of pairs become clashes: exact intervals, each with its message, chain and ways out."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import product
from typing import NamedTuple, get_args

from packaging.version import Version

from compute.evaluation import Failure
from compute.rectangles import Cell, Rectangle, cover
from compute.sweep import Verdict
from doctor.facts import Stage
from doctor.matrix.computed import Clash, Kind, Releases
from doctor.matrix.releases import releases_of
from doctor.matrix.rows import Remedy

KINDS: Mapping[str, Kind] = {
    "missing-name": "name",
    "missing-module": "module",
    "missing-attribute": "attribute",
    "unexpected-keyword": "keyword",
    "missing-argument": "argument",
    "too-many-arguments": "argument",
    "refused": "version",
}
# A stage that does the first as a part of itself fails with it.
FOLLOWS: Mapping[str, tuple[str, ...]] = {
    "import-accelerate": ("import-transformers", "import-peft"),
    "import-transformers": ("import-trl", "trainer-step"),
    "import-peft": ("lora-step",),
    "import-bitsandbytes": ("load-4bit", "qlora-step"),
    "import-trl": ("sft-step",),
    "lora-step": ("qlora-step", "trainer-step"),
    "trainer-step": ("sft-step",),
}


class Grid(NamedTuple):
    """All releases of a pair, and what came of each."""

    consumer: str
    provider: str
    consumers: Sequence[str]  # ascending
    providers: Sequence[str]
    cells: Mapping[Cell, Verdict]  # a cell that is not there is not known


class Fault(NamedTuple):
    """What equal failures of neighbouring pairs have in common."""

    kind: Kind
    module: str
    symbol: str
    message: str
    breaks: tuple[Stage, ...]


class Spread(NamedTuple):
    """One fault over a grid."""

    fault: Fault
    failures: Mapping[Cell, Failure]  # where it was seen
    stages: frozenset[str]  # that were seen to fail of it, and not only follow

    def tells(self, verdict: Verdict) -> bool:
        """Was a stage tried there that could have shown the fault?"""
        return not self.stages.isdisjoint(verdict)


def clashes_of(grid: Grid) -> Iterator[Clash]:
    """The clashes of one pair of packages, in the order of their releases."""
    found = [(rectangle, spread) for spread in spreads_of(grid) for rectangle in rectangles_of(grid, spread)]
    broken = {cell for rectangle, _ in found for cell in rectangle.cells()}
    for rectangle, spread in sorted(found, key=lambda one: (one[0], one[1].fault)):
        yield clash_of(grid, rectangle, spread, broken)


def spreads_of(grid: Grid) -> Iterator[Spread]:
    """Every fault of a pair, and where it was seen."""
    failures: dict[Fault, dict[Cell, Failure]] = {}
    for cell, verdict in grid.cells.items():
        for fault, failure in faults_of(verdict, (grid.consumer, grid.provider)).items():
            failures.setdefault(fault, {})[cell] = failure
    for fault, cells in failures.items():
        stages = {
            stage
            for cell in cells
            for stage, why in grid.cells[cell].items()
            if why and stage in fault.breaks
        }
        yield Spread(fault, cells, frozenset(stages))


def rectangles_of(grid: Grid, spread: Spread) -> Iterator[Rectangle]:
    """The rectangles of one fault; to the edge of the grid where nothing on the way there is known."""
    height, width = len(grid.consumers), len(grid.providers)
    told = {cell for cell, verdict in grid.cells.items() if spread.tells(verdict) or any(verdict.values())}
    unknown = set(product(range(height), range(width))) - told
    for one in cover(set(spread.failures), unknown, height, width):
        whole = [one]
        if one.right < width:
            whole.append(one._replace(left=0))
        else:
            whole.append(one._replace(bottom=height))
        whole = [wider for wider in whole if set(wider.cells()) <= set(one.cells()) | unknown]
        yield whole[-1]


def faults_of(verdict: Verdict, packages: tuple[str, str]) -> dict[Fault, Failure]:
    """The faults of one cell, each with the stages that it breaks."""
    stages: dict[tuple[Kind, str, str, str], set[str]] = {}
    failures: dict[tuple[Kind, str, str, str], Failure] = {}
    for stage, failure in verdict.items():
        if failure is not None and failure.kind in KINDS and is_of(stage, packages):
            kind = KINDS[failure.kind]
            key = (kind, failure.module, symbol_of(kind, failure), failure.message)
            stages.setdefault(key, set()).add(stage)
            failures.setdefault(key, failure)
    passed = {stage for stage, failure in verdict.items() if failure is None}
    return {
        Fault(*key, breaks=with_followers(broken, passed)): failures[key] for key, broken in stages.items()
    }


def is_of(stage: str, packages: tuple[str, str]) -> bool:
    """Is a stage the pair's own, or one that every release of its package has with it?

    Which releases of accelerate and bitsandbytes import what else, their own pairs tell.
    """
    package = stage.removeprefix("import-")
    return package not in ("accelerate", "bitsandbytes") or package in packages


def with_followers(broken: set[str], passed: set[str]) -> tuple[Stage, ...]:
    """Stages that fail, and those that do so as a part of themselves, unless they were seen to pass.

    SFTTrainer is a Trainer: a look at it that ends early is no pass.
    """
    reached, waiting = set(broken), list(broken)
    while waiting:
        for stage in FOLLOWS.get(waiting.pop(), ()):
            if stage not in reached and (stage == "sft-step" or stage not in passed):
                reached.add(stage)
                waiting.append(stage)
    return tuple(stage for stage in get_args(Stage) if stage in reached)


def symbol_of(kind: Kind, failure: Failure) -> str:
    """The name, keyword, module or bound that is asked for."""
    if kind == "version":
        stated = re.search(rf"{re.escape(failure.provider)}\s?(?:[<>=!~]=?\s?[\d.*]+,?\s?)+", failure.message)
        return stated.group().rstrip("., ") if stated else ""
    if kind in ("keyword", "argument") and "(" in failure.symbol:
        return failure.symbol.partition("(")[2].rstrip(")")
    return failure.symbol


def clash_of(grid: Grid, rectangle: Rectangle, spread: Spread, broken: set[Cell]) -> Clash:
    """One rectangle in words."""
    row, column = newest = max(cell for cell in rectangle.cells() if cell in spread.failures)
    failure, fault = spread.failures[newest], spread.fault
    since, until = interval(grid.provider, grid.providers, rectangle.left, rectangle.right)
    good = {cell for cell in set(grid.cells) - broken if spread.tells(grid.cells[cell])}
    return Clash(
        consumer=grid.consumer,
        consumers=interval(grid.consumer, grid.consumers, rectangle.top, rectangle.bottom),
        provider=grid.provider,
        providers=("0", until) if rectangle.left == 0 and until else (since, until),
        kind=fault.kind,
        symbol=fault.symbol,
        message=fault.message,
        breaks=fault.breaks,
        bad=(grid.consumers[row], grid.providers[column]),
        good=neighbour(grid, newest, good),
        fix=ways_out(grid, rectangle, broken, good),
        chain=tuple(module for module in failure.chain if module != "__main__"),
        module=fault.module,
        file=failure.where.partition(":")[0],
    )


def interval(package: str, releases: Sequence[str], first: int, last: int) -> Releases:
    """Releases from an index to below another one."""
    return edge(package, releases, first) or "0", edge(package, releases, last)


def edge(package: str, releases: Sequence[str], index: int) -> str | None:
    """The release at which an interval begins or ends, None where there is none yet.

    Releases that were withdrawn are not evaluated; they go with the evaluated ones of their minor.
    """
    if index == len(releases):
        return None
    found = Version(releases[index])
    before = Version(releases[index - 1]) if index else found
    every = (Version(one.version) for one in releases_of(package))
    same_minor = (one for one in every if before < one < found and one.release[:2] == found.release[:2])
    return str(min((one for one in same_minor if not one.is_prerelease), default=found))


def neighbour(grid: Grid, bad: Cell, good: set[Cell]) -> tuple[str, str]:
    """The nearest pair that is good, with one of the two releases kept where that can be."""
    row, column = bad
    near = [cell for cell in good if cell[0] == row or cell[1] == column] or list(good) or [bad]
    best = min(near, key=lambda cell: abs(cell[0] - row) + abs(cell[1] - column))
    return grid.consumers[best[0]], grid.providers[best[1]]


def ways_out(grid: Grid, rectangle: Rectangle, broken: set[Cell], good: set[Cell]) -> tuple[Remedy, ...]:
    """At most two releases that lead out of everything that is broken between the two packages."""
    top, bottom, left, right = rectangle

    def along(column: int) -> set[Cell]:
        return {(row, column) for row in range(top, bottom)}

    def across(row: int) -> set[Cell]:
        return {(row, column) for column in range(left, right)}

    def first(indices: Iterable[int], cells: Callable[[int], set[Cell]]) -> int | None:
        """The nearest release with which something was seen to go well, and nothing to fail."""
        return next((one for one in indices if not cells(one) & broken and cells(one) & good), None)

    ways = [
        up(grid.provider, grid.providers, first(range(right, len(grid.providers)), along), right),
        up(grid.consumer, grid.consumers, first(range(bottom, len(grid.consumers)), across), bottom),
        down(grid.provider, grid.providers, first(range(left - 1, -1, -1), along), left),
        down(grid.consumer, grid.consumers, first(range(top - 1, -1, -1), across), top),
    ]
    return tuple(way for way in ways if way)[:2]


def up(package: str, releases: Sequence[str], found: int | None, bound: int) -> Remedy | None:
    """To a newer release: the bound itself, or a later one where the bound leads into another clash."""
    if found is None:
        return None
    return Remedy(upgrade=package) if found == bound else Remedy(install=f"{package}>={releases[found]}")


def down(package: str, releases: Sequence[str], found: int | None, bound: int) -> Remedy | None:
    """To an older release, likewise."""
    if found is None:
        return None
    return (
        Remedy(downgrade=package) if found == bound - 1 else Remedy(install=f"{package}=={releases[found]}")
    )
