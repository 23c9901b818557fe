#!/usr/bin/env python3
"""Holds the matrix against reality: random version sets are installed and run, and lint is asked about them.

    scripts/verify_matrix.py --random 40 --seed 7 [--python 3.11] [--jobs 1] [--record]

Prints each stage on which lint and the real run disagree, then one line of figures. What was installed and
run is kept in the cache folder, so that a second call with the same seed goes on where the first ended, and
after a change of the matrix asks lint alone. ``--record`` writes the figures into compat_matrix/README.md.
Linux; it needs uv (the extra `test`) and some gigabytes of disk; a set takes half a minute.
"""

from __future__ import annotations

import argparse
import datetime
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

from sandboxes import Workshop, cache_folder
from version_sets import STAGES, VersionSet, draw, try_out

README = Path(__file__).resolve().parents[1] / "compat_matrix" / "README.md"
BLOCK = re.compile(r"(<!-- verify_matrix -->\n).*?(<!-- end -->)", re.S)
# What the matrix is held to; below it the exit code is 1.
LEAST_RIGHT, LEAST_PRECISION = 0.985, 0.99

Line = dict[str, Any]


class Cell(NamedTuple):
    """One stage of one set: what happened, and what was said."""

    set_id: str
    stage: str
    outcome: str
    predicted: bool

    @property
    def broken(self) -> bool:
        """Did the stage fail?"""
        return self.outcome != "ok"


class Tally(NamedTuple):
    """How often lint was right."""

    right: int
    total: int
    broken: int
    said: int
    found: int  # broken, and said so

    @property
    def share(self) -> float:
        """Stages right, of all."""
        return self.right / max(1, self.total)

    @property
    def precision(self) -> float:
        """Broken stages, of those said to be; 1 where none was said to be."""
        return self.found / self.said if self.said else 1.0

    @property
    def recall(self) -> float:
        """Stages said to be broken, of those that were; 1 where none was."""
        return self.found / self.broken if self.broken else 1.0

    def __str__(self) -> str:
        return (
            f"stages right {self.right}/{self.total} = {self.share:.1%}; "
            f"precision {self.precision:.1%}, recall {self.recall:.1%} of {self.broken} broken"
        )


def truths(sets: Iterable[VersionSet], python: str, seed: int, jobs: int) -> Iterator[Line]:
    """Each set as it went, from the record of earlier calls or by installing and running it now."""
    record = cache_folder() / f"verify-{python}-{seed}.jsonl"
    record.parent.mkdir(parents=True, exist_ok=True)
    known = {line["id"]: line for line in map(json.loads, record.open())} if record.exists() else {}
    workshop = Workshop(python)

    def tried(wanted: VersionSet) -> Line:
        line = known.get(wanted.id, {})
        same = (line.get("pins"), line.get("free")) == (wanted.pins, list(wanted.free))
        return dict(line) if same else try_out(wanted, workshop)

    with ThreadPoolExecutor(jobs) as pool, record.open("a") as file:
        for line in pool.map(tried, sets):
            if line != known.get(line["id"]):
                file.write(json.dumps(line) + "\n")
                file.flush()
            yield line


def predictions(lines: Sequence[Line], python: str) -> list[set[str]]:
    """The stages that lint says will break, for each freeze."""
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder) / f"{number:04}.txt" for number in range(len(lines))]
        for file, line in zip(files, lines, strict=True):
            file.write_text("".join(f"{name}=={version}\n" for name, version in line["freeze"].items()))
        machine = ["--python-version", python, "--os", "linux"]
        command = [sys.executable, "-m", "doctor", "lint", "--format", "jsonl", *machine, *map(str, files)]
        done = subprocess.run(command, capture_output=True, text=True)
    reports = [json.loads(text) for text in done.stdout.splitlines() if text.startswith("{")]
    if len(reports) != len(lines):
        sys.exit(f"lint gave {len(reports)} reports on {len(lines)} files: {done.stderr[-2000:]}")
    return [broken_stages(report) for report in reports]


def broken_stages(report: Mapping[str, Any]) -> set[str]:
    """The stages that a report says will break: those of errors that are more than possible."""
    errors = [found for found in report["findings"] if found["severity"] == "error"]
    return {stage for found in errors if found["confidence"] != "possible" for stage in found["breaks"]}


def cells(lines: Sequence[Line], predicted: Sequence[set[str]]) -> Iterator[Cell]:
    """Every stage that was tried beside what was said of it."""
    for line, said in zip(lines, predicted, strict=True):
        for stage in STAGES:
            if stage in line["outcome"]:
                yield Cell(line["id"], stage, line["outcome"][stage], stage in said)


def tally(judged: Sequence[Cell]) -> Tally:
    """Counts of right and wrong."""
    return Tally(
        right=sum(cell.broken == cell.predicted for cell in judged),
        total=len(judged),
        broken=sum(cell.broken for cell in judged),
        said=sum(cell.predicted for cell in judged),
        found=sum(cell.broken and cell.predicted for cell in judged),
    )


def disagreement(cell: Cell, pins: Mapping[str, str]) -> str:
    """One line on a stage on which lint was wrong."""
    word = "MISSED" if cell.broken else "FALSE "
    versions = " ".join(f"{name}=={version}" for name, version in pins.items())
    return f"{word} {cell.set_id} {cell.stage}: {cell.outcome}  [{versions}]"


def recorded(readme: str, result: str) -> str:
    """The README with the result in its block. Raises ValueError where it has none."""
    text, count = BLOCK.subn(lambda block: f"{block[1]}{result}\n{block[2]}", readme)
    if not count:
        raise ValueError("no block for the result of verify_matrix")
    return text


def main() -> None:
    """Draw, install, run, ask lint, compare."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--random", type=int, default=40, metavar="N", help="how many sets")
    options.add_argument("--seed", type=int, required=True)
    options.add_argument("--python", default="3.11", metavar="X.Y")
    options.add_argument("--jobs", type=int, default=1, help="sets that run at once")
    options.add_argument("--record", action="store_true", help="write the figures into the README")
    given = options.parse_args()
    lines = []
    for line in truths(draw(given.random, given.seed, given.python), given.python, given.seed, given.jobs):
        lines.append(line)
        print(f"{line['id']} {line['pins']}", line.get("refused", "ran")[:200], file=sys.stderr, flush=True)
    ran = [line for line in lines if "outcome" in line]
    judged = list(cells(ran, predictions(ran, given.python)))
    pins = {line["id"]: line["pins"] for line in ran}
    for line in lines:
        if "refused" in line:
            print(f"NOT INSTALLED {line['id']} {line['pins']}: {line['refused'][:300]}")
    for cell in judged:
        if cell.broken != cell.predicted:
            print(disagreement(cell, pins[cell.set_id]))
    counts = tally(judged)
    result = (
        f"{counts}; {len(ran)} sets run, {len(lines) - len(ran)} not installable; "
        f"seed {given.seed}, Python {given.python}, {datetime.date.today()}"
    )
    if given.record:
        README.write_text(recorded(README.read_text(), result))
    print(result)
    sys.exit(0 if counts.share >= LEAST_RIGHT and counts.precision >= LEAST_PRECISION else 1)


if __name__ == "__main__":
    main()
