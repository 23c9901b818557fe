#!/usr/bin/env python3
"""Builds both sides of a row's bound with uv, runs the stages in each, and says whether the row is right.

    scripts/reproduce.py ROW [--bad "peft==0.17.1 ..."] [--good "..."] [--with "trl==1.0.0 ..."] [--record]

The sides are the row's `example` and `healthy`, or those that are named. The rest of the stack is what uv
takes beside them today, or what `--with` names. A row is reproduced where its stages fail on the bad side
alone, those apart that fail on the good one for a reason of their own. `--record` then writes the pair, with
the day, into the row in compat_matrix/incompatibilities/; for a computed row, which is in no such file, it is
printed.
"""

from __future__ import annotations

import argparse
import datetime
import re
import sys
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from sandboxes import CannotBuild, Venv, Workshop, run, uv
from version_sets import PACKAGES, run_stages

from doctor.failures import shows
from doctor.matrix.computed import computed_rows
from doctor.matrix.rows import FOLDER, PLATFORM_SUBJECTS, Row, load_rows

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

WIDTH = 110  # of a line of the matrix, its formatter's


class Side(NamedTuple):
    """One side of a bound: the pins that name it, and how each stage went."""

    pins: dict[str, str]
    outcome: dict[str, str]

    @property
    def name(self) -> str:
        """As the matrix writes it: "peft 0.17.1 + transformers 5.24.0"."""
        return " + ".join(f"{package} {version}" for package, version in self.pins.items())


def find_row(name: str) -> Row:
    """The row of this name, curated or computed. Ends the program where there is none."""
    rows = {row.row: row for row in (*computed_rows(), *load_rows())}
    return rows.get(name) or sys.exit(f"the matrix has no row {name}")


def pins_of(text: str) -> dict[str, str]:
    """Pins as they are typed: "peft==0.17.1 transformers==5.24.0"."""
    return {name: version for name, _, version in (word.partition("==") for word in text.split())}


def refuse_other_machines(pins: Mapping[str, str], workshop: Workshop) -> None:
    """Raise :class:`CannotBuild` for a side that asks for another machine or another torch than is here."""
    elsewhere = [subject for subject in pins if subject in PLATFORM_SUBJECTS and subject != "python"]
    here = workshop.torch.partition("==")[2].partition("+")[0]
    if "torch" in pins and pins["torch"] != here:
        elsewhere.append(f"torch {pins['torch']}")
    if elsewhere:
        raise CannotBuild(f"needs {', '.join(elsewhere)}, which this machine has not")


def try_side(pins: Mapping[str, str], rest: Mapping[str, str], absent: Sequence[str]) -> Side:
    """One side installed and run, without the packages that the row wants absent."""
    workshop = Workshop(".".join(pins.get("python", "3.11").split(".")[:2]))
    refuse_other_machines(pins, workshop)
    wanted = {**rest, **{name: version for name, version in pins.items() if name not in ("python", "torch")}}
    free = [package for package in PACKAGES if package not in wanted]
    with workshop.environment(workshop.resolve(wanted, free)) as venv:
        remove(venv, absent)
        return Side(dict(pins), run_stages(venv))


def remove(venv: Venv, packages: Sequence[str]) -> None:
    """Uninstall these, whether or not something asks for them."""
    if packages:
        run(uv(), "pip", "uninstall", "--quiet", "--python", venv.python, *packages)


class Judgement(NamedTuple):
    """The stages of a row, by what the two sides say of it."""

    shown: tuple[str, ...]  # failed on the bad side alone
    unshown: tuple[str, ...]  # failed on the good side too, for a reason that is not the row's
    refuted: tuple[str, ...]  # passed on the bad side, or failed on the good one for the row's reason

    @property
    def is_reproduced(self) -> bool:
        """Does something speak for the row, and nothing against it?"""
        return bool(self.shown) and not self.refuted


def judge(row: Row, bad: Side, good: Side) -> Judgement:
    """What the stages that were tried on both sides say of a row. 4 bits need a GPU beside old releases."""
    told: dict[str, list[str]] = {"shown": [], "unshown": [], "refuted": []}
    for stage in row.breaks:
        here, there = bad.outcome.get(stage), good.outcome.get(stage)
        if here is None or there is None:
            continue
        same = any(shows(symptom, there) for symptom in row.symptoms) if row.symptoms else here == there
        against = here == "ok" or (there != "ok" and same)
        told["refuted" if against else "shown" if there == "ok" else "unshown"].append(stage)
    return Judgement(*(tuple(told[name]) for name in Judgement._fields))


def table(row: Row, bad: Side, good: Side) -> str:
    """Every stage on both sides, those of the row marked."""
    lines = [f"{'':22}{'bad: ' + bad.name:60} good: {good.name}"]
    for stage in dict.fromkeys((*bad.outcome, *good.outcome)):
        mark = "*" if stage in row.breaks else " "
        here, there = (side.outcome.get(stage, "not tried") for side in (bad, good))
        lines.append(f"{mark} {stage:20}{here[:58]:60} {there[:58]}")
    return "\n".join(lines)


def with_runs(text: str, name: str, bad: str, good: str, today: datetime.date) -> str:
    """The text of a matrix file in which one row has this pair among its runs. Raises ValueError."""
    start = text.find(f'row = "{name}"\n')
    if start < 0:
        raise ValueError(f"no row {name}")
    end = text.find("[[incompatibility]]", start)
    row, rest = text[start : end if end > 0 else len(text)], text[end:] if end > 0 else ""
    row = re.sub(r"^checked = .*$", f"checked = {today}", row, count=1, flags=re.M)
    if "[incompatibility.reproduced]" not in row:
        # Blank lines and comments at the end belong to the next row.
        body = row[: re.search(r"(?:^(?:#.*)?\n)*\Z", row, re.M).start()]  # type: ignore[union-attr]
        row = f"{body}\n[incompatibility.reproduced]\nbad = []\ngood = []\n{row[len(body) :]}"
    for side, pair in (("bad", bad), ("good", good)):
        old = re.search(rf"^{side} = \[.*?\]$", row, re.M | re.S)
        if old is None:
            raise ValueError(f"row {name} has no list of runs named {side}")
        row = row[: old.start()] + with_run(old[0], pair) + row[old.end() :]
    return text[:start] + row + rest


def with_run(assignment: str, pair: str) -> str:
    """A TOML list of runs, on one line where it fits, that holds this pair."""
    ((name, runs),) = tomllib.loads(assignment).items()
    if pair in runs:
        return assignment
    quoted = [f'"{run}"' for run in sorted([*runs, pair])]
    line = f"{name} = [{', '.join(quoted)}]"
    return line if len(line) <= WIDTH else f"{name} = [\n" + "".join(f"    {one},\n" for one in quoted) + "]"


def record(row: Row, bad: Side, good: Side) -> None:
    """Write the pair into the row's file, or print it for a row that is in none."""
    today = datetime.date.today()
    for file in sorted((FOLDER / "incompatibilities").glob("*.toml")):
        text = file.read_text(encoding="utf-8")
        if f'row = "{row.row}"\n' in text:
            file.write_text(with_runs(text, row.row, bad.name, good.name, today), encoding="utf-8")
            print(f"recorded in {file.name}")
            return
    print(f'[incompatibility.reproduced]  # {today}\nbad = ["{bad.name}"]\ngood = ["{good.name}"]')


def main() -> None:
    """Build both sides, run, compare, record."""
    options = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    options.add_argument("row", help="the name of a row")
    options.add_argument("--bad", type=pins_of, metavar="PINS", help="in place of the row's example")
    options.add_argument("--good", type=pins_of, metavar="PINS", help="in place of its healthy neighbour")
    options.add_argument(
        "--with", type=pins_of, default={}, dest="rest", metavar="PINS", help="on both sides"
    )
    options.add_argument("--record", action="store_true", help="write the pair into the row")
    given = options.parse_args()
    row = find_row(given.row)
    absent = [subject for subject, term in row.when.items() if term.absent]
    try:
        bad = try_side(given.bad or row.example, given.rest, absent)
        good = try_side(given.good or row.healthy or {}, given.rest, ())
    except CannotBuild as refusal:
        sys.exit(f"cannot be reproduced here: {refusal}")
    print(table(row, bad, good))
    errors = "\n".join(bad.outcome.values())
    seen = [symptom for symptom in row.symptoms if shows(symptom, errors)]
    print("symptom seen: " + (seen[0] if seen else "none"))
    judgement = judge(row, bad, good)
    print(
        *(f"{word}: {', '.join(stages) or 'none'}" for word, stages in judgement._asdict().items()), sep="\n"
    )
    word = "reproduced" if judgement.is_reproduced else "NOT reproduced"
    print(f"{row.row}: {word}, {datetime.date.today()}")
    if judgement.is_reproduced and given.record:
        record(row, bad, good)
    sys.exit(0 if judgement.is_reproduced else 1)


if __name__ == "__main__":
    main()
