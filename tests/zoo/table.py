"""docs/zoo.md: every environment, what the doctor said of it, and how long it took."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from .curing import Cure
from .environment import ENVIRONMENTS, repacks_weights
from .running import Outcome

PAGE = Path(__file__).parents[2] / "docs" / "zoo.md"
# Where this run's environments and stub libraries lay.
FOLDER = re.compile(r"[^\s(\"']*/(?:run-\d+(?:/tmp\w+)+|\w+-[0-9a-f]{12}|lora-doctor-stubs-\w+)(?=/)")
HEAD = """# The zoo

Real environments in which one thing is at fault, and what `lora-doctor check` says of each. `tests/zoo`
builds them and holds the doctor to it: the right finding first, no other error, the right exit code, and no
process left behind.
Written by `pytest tests/zoo --write-zoo`. Seconds are those of that run, of the check alone and two at a time
on two cores; quick checks import nothing.{processor}

| environment | at fault | first finding | exit | check | seconds |
|---|---|---|---|---|---|
"""
PROCESSOR = """ The processor of that run has avx512_bf16, on which every healthy
full check ends with the one warning that it must."""


class Row(NamedTuple):
    """One environment as its run went."""

    name: str
    id: str
    title: str
    code: int
    options: str
    seconds: float


def row_of(name: str, outcome: Outcome) -> Row:
    """What a run said first."""
    findings = outcome.report["findings"]
    first = next((one for one in findings if one["id"] == outcome.report["primary"]), None)
    options = " ".join(ENVIRONMENTS[name].expected.options).replace("--", "") or "full"
    id, title = (first["id"], FOLDER.sub("~", first["title"])) if first else ("", "")
    return Row(name, id, title, outcome.code, options, round(outcome.seconds, 1))


CURES = """
## Cures

`lora-doctor fix --apply` on each environment in which something is at fault, and a check of its own
afterwards that finds nothing any more. Where no change of packages can cure, the table says where the cure
lies: `fix` tells it and leaves it to a person. Of the faults in an environment's packages {cured} of {all}
were cured, {rate:.0%}. A build of torch that the base does not have was a stand-in of a few bytes, and so was
what the stub machines hold.

| environment | carried out | outcome | seconds |
|---|---|---|---|
"""


class CureRow(NamedTuple):
    """One environment as its cure went."""

    name: str
    steps: str
    outcome: str
    seconds: float


def cure_of(cure: Cure) -> CureRow:
    """What was carried out, or where the cure lies instead."""
    if not cure.steps:
        return CureRow(cure.name, "", f"by hand: {', '.join(sorted(cure.scopes))}", 0.0)
    titles = "; ".join(FOLDER.sub("~", step["title"]) for step in cure.all_steps)
    state = cure.state if cure.is_well else "not cured"
    state += f", in {len(cure.rounds)} rounds" if len(cure.rounds) > 1 else ""
    return CureRow(cure.name, titles, state, round(cure.seconds, 1))


def page(rows: Mapping[str, Row], cures: Mapping[str, CureRow]) -> str:
    """The page that shows these rows, in the order of the modules."""
    lines = [line(rows[name]) for name in ENVIRONMENTS if name in rows]
    carried_out = [row for row in cures.values() if row.steps]
    cured = sum(row.outcome.startswith("cured") for row in carried_out)
    rate = cured / len(carried_out) if carried_out else 0.0
    told = CURES.format(cured=cured, all=len(carried_out), rate=rate)
    head = HEAD.format(processor=PROCESSOR if repacks_weights() else "")
    told += "".join(cure_line(cures[name]) for name in ENVIRONMENTS if name in cures)
    return head + "".join(lines) + told


def cure_line(row: CureRow) -> str:
    """One row of the table of cures."""
    seconds = f"{row.seconds}" if row.steps else ""
    return "| " + " | ".join(map(cell, (f"`{row.name}`", row.steps, row.outcome, seconds))) + " |\n"


def cell(text: str) -> str:
    """A text that breaks no table."""
    return text.replace("|", "\\|").replace("\n", " ")


def line(row: Row) -> str:
    """One row of the table."""
    said = f"`{row.id}`: {row.title}" if row.id else "nothing"
    cells = [
        f"`{row.name}`",
        ENVIRONMENTS[row.name].fault,
        said,
        str(row.code),
        row.options,
        f"{row.seconds}",
    ]
    return "| " + " | ".join(map(cell, cells)) + " |\n"
