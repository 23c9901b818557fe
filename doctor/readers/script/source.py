"""Text of a script or notebook -> a tree, with the parts that are no Python blanked line by line."""

from __future__ import annotations

import ast
import re
import sys
import warnings
from typing import Any, NamedTuple

import msgspec

from doctor.readers import Unreadable

LIMIT_BYTES = 2_000_000  # of source; the largest script that a person wrote is far below

# Cells that are not Python at all, and line magics that hold a rest of Python.
FOREIGN_CELL = re.compile(
    r"%%(?:!|bash|sh|script|html|javascript|js|latex|markdown|perl|ruby|svg|writefile|file|cmd|sql|bigquery)"
)
MAGIC = re.compile(r"^(\s*)(?:[%!?]|(?:[A-Za-z_][\w.]*)\?{1,2}\s*$)")
MAGIC_VALUE = re.compile(r"^(\s*[\w, ]+=\s*)[!%].*$")


class ScriptUnreadable(Unreadable):
    """Text that is no script for Python 3; the message says why, for the user."""


class Source(NamedTuple):
    """A parsed script."""

    tree: ast.Module
    text: str  # what was parsed
    cells: tuple[int, ...] = ()
    cell_numbers: tuple[int, ...] = ()
    skipped: tuple[str, ...] = ()


class Cell(NamedTuple):
    """One code cell: its number among all cells, from 1, and its text."""

    number: int
    text: str


def parse_source(text: str, name: str) -> Source:
    """A script or notebook as a tree. Raises :class:`ScriptUnreadable`."""
    if name.endswith(".ipynb") or looks_like_notebook(text):
        return parse_notebook(text)
    text = text.removeprefix("\ufeff")
    refuse_oversize(text)
    try:
        return Source(parse(text), text)
    except ScriptUnreadable:
        blanked = without_magics(text)
        if blanked == text:
            raise
        return Source(parse(blanked), blanked)


def looks_like_notebook(text: str) -> bool:
    """Is this JSON with cells, whatever it is called?"""
    return text.lstrip()[:1] == "{" and '"cells"' in text and '"cell_type"' in text


def parse(text: str) -> ast.Module:
    """One tree. Raises :class:`ScriptUnreadable` with line and reason."""
    if "\0" in text:
        raise ScriptUnreadable("it holds NUL bytes: this is no text")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of escapes and comparisons: not our business
            return ast.parse(text)
    except SyntaxError as error:
        grammar = "{}.{}".format(*sys.version_info)
        raise ScriptUnreadable(f"line {error.lineno}: {error.msg} (read as Python {grammar})") from error
    except (RecursionError, MemoryError) as error:
        raise ScriptUnreadable("it is nested too deeply to be read") from error
    except ValueError as error:  # digits beyond the interpreter's limit, lone surrogates
        raise ScriptUnreadable(f"it cannot be read as Python: {error}") from error


def refuse_oversize(text: str) -> None:
    """Raises :class:`ScriptUnreadable` where no person wrote this."""
    if len(text) > LIMIT_BYTES:
        size, limit = len(text) / 1e6, LIMIT_BYTES / 1e6
        raise ScriptUnreadable(f"it has {size:.0f} MB of code; more than {limit:.0f} MB is not read")


def parse_notebook(text: str) -> Source:
    """The code cells of a notebook, joined; a cell that does not parse is left out and named."""
    cells = code_cells(text)
    refuse_oversize("".join(cell.text for cell in cells))
    lines: list[str] = []
    starts, skipped, faults = [], [], []
    for cell in cells:
        code, fault = readable(cell.text)
        starts.append(len(lines) + 1)
        lines += code.split("\n")
        if fault:
            faults.append(fault)
            skipped.append(f"cell {cell.number}: {fault}")
    if faults and len(faults) == sum(bool(cell.text.strip()) for cell in cells):
        raise ScriptUnreadable(f"none of its code cells is Python 3; {skipped[0]}")
    joined = "\n".join(lines)
    numbers = tuple(cell.number for cell in cells)
    return Source(parse(joined), joined, tuple(starts), numbers, tuple(skipped))


def code_cells(text: str) -> list[Cell]:
    """The code cells of a notebook, formats 3 and 4. Raises :class:`ScriptUnreadable`."""
    try:
        document: Any = msgspec.json.decode(text.removeprefix("\ufeff").encode("utf-8", "replace"))
    except (msgspec.DecodeError, RecursionError) as error:
        raise ScriptUnreadable(f"it is no notebook: {error}") from error
    sheets = document.get("worksheets") if isinstance(document, dict) else None
    holders = sheets if isinstance(sheets, list) else [document]
    cells = [cell for holder in holders if isinstance(holder, dict) for cell in as_list(holder.get("cells"))]
    found = []
    for number, cell in enumerate(cells, 1):
        if isinstance(cell, dict) and cell.get("cell_type") == "code":
            source = cell.get("source", cell.get("input", ""))
            found.append(Cell(number, "".join(map(str, source)) if isinstance(source, list) else str(source)))
    if not found:
        raise ScriptUnreadable("it is no notebook with code cells")
    return found


def as_list(value: object) -> list[Any]:
    """A list as it is, anything else as no entries."""
    return value if isinstance(value, list) else []


def readable(text: str) -> tuple[str, str]:
    """A cell as code of the same number of lines, and why it was blanked where it is no Python."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    blank = "\n" * text.count("\n")
    if FOREIGN_CELL.match(text.lstrip()):
        return blank, ""
    for attempt in (text, without_magics(text)):
        try:
            parse(attempt)
        except ScriptUnreadable as error:
            fault = str(error)
        else:
            return attempt, ""
    return blank, fault


def without_magics(text: str) -> str:
    """The text with lines for the shell and for IPython blanked; indented ones leave a ``pass``."""
    lines, in_command = [], False
    for line in text.split("\n"):
        if in_command:
            in_command = line.rstrip().endswith("\\")
            lines.append("")
        elif found := MAGIC.match(line):
            in_command = line.rstrip().endswith("\\")
            lines.append(found[1] + "pass" if found[1] else "")
        else:
            lines.append(MAGIC_VALUE.sub(r"\1None", line))
    return "\n".join(lines)
