"""docs/zoo.md: every environment, what the doctor said of it, and how long it took."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

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


def page(rows: Mapping[str, Row]) -> str:
    """The page that shows these rows, in the order of the modules."""
    lines = [line(rows[name]) for name in ENVIRONMENTS if name in rows]
    return HEAD.format(processor=PROCESSOR if repacks_weights() else "") + "".join(lines)


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
    return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |\n"
