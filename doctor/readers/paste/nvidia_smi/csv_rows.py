"""``nvidia-smi --query-gpu=... --format=csv``: rows below a header, below the command, or alone."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from doctor.driver_text import LONGEST_ROW, MIB
from doctor.paste import Topic
from doctor.readers.paste import Block
from doctor.readers.paste.notes import Notes

COMMAND = re.compile(r"nvidia-smi(?:\.exe)?\b[^\n]{0,80}?--query-gpu[= ]([a-z_.,]{1,200})")
FIELD = re.compile(r"([a-z_]{2,40}(?:\.[a-z_]{1,30}){0,3})(?: \[(MiB|W|MHz|%|C)\])?")
# One of these makes a line a header; any word of prose looks like the name of some field.
TELLING = {"driver_version", "memory.total", "memory.free", "memory.used", "compute_cap", "gpu_name"}
SIZE = re.compile(r"(\d{1,9})(?: ?MiB)?")
SIZE_WITH_UNIT = re.compile(r"\d{1,9} ?MiB")
DRIVER = re.compile(r"\d{3,4}\.\d{1,4}(?:\.\d{1,4})?")
CAPABILITY = re.compile(r"\d{1,2}\.\d")
NAME = re.compile(r"(?:NVIDIA|Tesla|GeForce|Quadro|TITAN|RTX|GTX|GRID)\b.{0,80}|[AHLBVTP]\d{1,3}\b.{0,40}")
MOST_CELLS = 40
SHAPES = {
    **{"index": re.compile(r"\d{1,3}"), "name": NAME, "gpu_name": NAME, "driver_version": DRIVER},
    **{"compute_cap": CAPABILITY, "memory.total": SIZE, "memory.used": SIZE, "memory.free": SIZE},
}
# The shapes by which a cell is known where nothing names it.
UNMISTAKABLE = {
    "name": NAME,
    "memory.total": SIZE_WITH_UNIT,
    "driver_version": DRIVER,
    "compute_cap": CAPABILITY,
}
TOPICS: dict[str, Topic] = {
    **{"name": "gpu", "gpu_name": "gpu", "driver_version": "driver", "compute_cap": "gpu capability"},
}


def read(lines: Sequence[str]) -> Iterator[Block]:
    """Each run of rows."""
    rows: _Rows | None = None
    for number, line in enumerate(lines, 1):
        if not rows and "," not in line and "--query-gpu" not in line:
            continue
        row = row_of(line)
        fields = asked(line, row)
        if rows and (fields or (line.strip() and not rows.take(row, number))):
            yield from rows.notes.block()
            rows = None
        if fields:
            rows = _Rows(fields, number)
        elif not rows and (fields := guessed(row)):
            rows = _Rows(fields, number)
            rows.take(row, number)
    if rows:
        yield from rows.notes.block()


def asked(line: str, row: Sequence[str]) -> tuple[str, ...]:
    """The fields that a command asks for, or that a header names; empty for any other line."""
    if len(line) > LONGEST_ROW:
        return ()
    command = COMMAND.search(line) if "--query-gpu" in line else None
    if command:
        return tuple(command[1].split(","))
    found = [FIELD.fullmatch(cell) for cell in row]
    fields = tuple(one[1] for one in found if one)
    return fields if len(fields) == len(found) and TELLING.intersection(fields) else ()


def row_of(line: str) -> tuple[str, ...]:
    """The cells of a line, empty where it is no row."""
    if len(line) > LONGEST_ROW:
        return ()
    row = tuple(cell.strip() for cell in line.split(","))
    return row if len(row) <= MOST_CELLS and any(row) else ()


def fits(row: Sequence[str], fields: Sequence[str]) -> bool:
    """Is it a row of these fields? Prose with as many commas is none."""
    if len(row) != len(fields):
        return False
    return all(
        cell.startswith(("[", "N/A")) or not (shape := SHAPES.get(field)) or shape.fullmatch(cell)
        for field, cell in zip(fields, row, strict=True)
    )


def guessed(row: Sequence[str]) -> tuple[str, ...]:
    """The fields of a row that no header names: a GPU beside a size or a driver; empty for any other."""
    fields = tuple(
        next((field for field, shape in UNMISTAKABLE.items() if shape.fullmatch(cell)), "") for cell in row
    )
    told = [field for field in fields if field]
    is_clear = len(set(told)) == len(told) and "name" in told
    return fields if is_clear and {"memory.total", "driver_version"} & set(told) else ()


class _Rows:
    """Rows of one query while they go by."""

    def __init__(self, fields: tuple[str, ...], line: int) -> None:
        self.fields = fields
        self.notes = Notes("nvidia-smi", line)
        self.count = 0

    def take(self, row: Sequence[str], number: int) -> bool:
        """Read one row; False where it is none of these."""
        if not fits(row, self.fields):
            return False
        told = dict(zip(self.fields, row, strict=True))
        index = told.get("index", str(self.count))
        self.count += 1
        for field, topic in TOPICS.items():
            value = told.get(field, "")
            shape = SHAPES[field]
            self.notes.say(
                topic, value if shape.fullmatch(value) else "", number, index if "gpu" in topic else ""
            )
        self.memory(told, index, number)
        self.notes.last = number
        return True

    def memory(self, told: Mapping[str, str], index: str, number: int) -> None:
        """In all, and free where that is told or can be counted."""
        total, used, free = (size(told.get(f"memory.{which}", "")) for which in ("total", "used", "free"))
        self.notes.say("gpu memory", str(total) if total else "", number, index)
        if free is None and total is not None and used is not None:
            free = max(0, total - used)
        self.notes.say("gpu memory free", "" if free is None else str(free), number, index)


def size(cell: str) -> int | None:
    """Bytes of a cell in MiB, None where it holds no number."""
    found = SIZE.fullmatch(cell)
    return int(found[1]) * MIB if found else None
