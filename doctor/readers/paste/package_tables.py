"""Tables of packages: pip list, uv pip list, conda list, poetry show. Rows that are cut are left out."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from packaging.utils import canonicalize_name

from doctor.paste import Statement, Topic
from doctor.readers.conda_names import CUDA, pypi_name
from doctor.readers.paste import LONGEST
from doctor.readers.paste.names import ALIASES, canonical

HEADER = re.compile(r"[\s|#`]{0,12}(?:Package|Name)[ \t|]{1,80}Version\b", re.I)
PLACE = re.compile(r"# packages in environment at (\S{1,250})")
NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,80}(?<![.-])")
VERSION = re.compile(r"[vV]?(\d[A-Za-z0-9.!]{0,60}(?:\+[A-Za-z0-9._-]{1,60})?)(?<![._-])")
BUILD = re.compile(r"[\w.]{1,80}_\d{1,6}")
BUILD_CUDA = re.compile(r"cuda_?(\d{1,2}\.\d{1,2}|\d{3})(?![\d.])")
LONGEST_LINE = 3000
FEWEST_ROWS = 3  # of a table without a header that has more than names and versions
ODD_ROWS = 3  # in succession, at which a table ends
HEAD = 8  # lines within which the rows of a table begin
# "peft 0.18.0 requires transformers, ..." is a complaint of pip.
SENTENCES = (("requires",), ("has",), ("depends",), ("is",), ("was",), ("and",), ("with",), ("on",))
# What people put into such lists beside packages.
TOPICS: dict[str, Topic] = {
    "python": "python",
    "cuda": "cuda",  # whose it is, nobody says
    "cudnn": "cudnn",
    "driver": "driver",
    "nvidia-driver": "driver",
    "ubuntu": "distribution",
    "gpu": "gpu",
}


class Row(NamedTuple):
    """One row of a table."""

    name: str
    version: str
    rest: tuple[str, ...]
    line: int


def stated(topic: Topic, value: str, line: int, name: str = "") -> Statement:
    """A statement of a list of packages."""
    return Statement(topic=topic, value=value[:LONGEST], name=name[:LONGEST], form="package list", line=line)


def release_of(name: str, version: str, line: int) -> Statement:
    """A release of a package, or of what else people list."""
    plain = canonicalize_name(name)
    if topic := TOPICS.get(plain):
        return stated(topic, f"Ubuntu {version}" if topic == "distribution" else version, line)
    return stated("package", version, line, ALIASES.get(plain, plain))


def header_table(lines: Sequence[str], index: int) -> tuple[int, list[Statement]]:
    """The index behind a table that begins with its header, and what it says."""
    place = PLACE.match(lines[index].strip()[:LONGEST])
    if not (place or is_header(lines[index]) or is_rule(lines[index])):
        return index, []
    rows: list[Row] = []
    end, odd, is_conda = index, 0, bool(place)
    while end < len(lines) and odd < ODD_ROWS and (lines[end].strip() if rows else end < index + HEAD):
        line = lines[end]
        row = row_of(line, end + 1)
        if row and not is_header(line):
            rows.append(row)
        is_conda = is_conda or (is_header(line) and "build" in line.lower())
        odd = 0 if row or is_frame(line) else odd + 1
        end += 1
    if not rows:
        return index, []
    folder = [stated("executable", place[1].rstrip(":"), index + 1)] if place else []
    return rows[-1].line, [*folder, *told(rows, is_conda)]


def bare_table(lines: Sequence[str], index: int) -> tuple[int, list[Statement]]:
    """Rows without a header: what ``pip list | grep`` leaves, a cut list, ``poetry show``."""
    if index and row_of(lines[index - 1], 0):  # they were looked at from their first
        return index, []
    rows: list[Row] = []
    while index + len(rows) < len(lines) and (row := row_of(lines[index + len(rows)], index + len(rows) + 1)):
        rows.append(row)
    known = sum(bool(canonical(row.name)) for row in rows)
    if any(row.rest[:1] in SENTENCES for row in rows):
        return index, []
    is_short = all(not row.rest for row in rows)
    is_conda = any(row.rest and len(row.rest) < 3 and BUILD.fullmatch(row.rest[0][:120]) for row in rows)
    if not known or not (is_conda or len(rows) >= (2 if is_short else FEWEST_ROWS)):
        return index, []
    return rows[-1].line, told(rows, is_conda)


def is_header(line: str) -> bool:
    """Is it the names of the columns?"""
    return HEADER.match(line[:LONGEST]) is not None


def is_rule(line: str) -> bool:
    """Is it the dashed rule of some columns under a header?"""
    cells = line[:LONGEST_LINE].replace("|", " ").replace(":", " ").split()
    return 2 <= len(cells) <= 5 and all(len(cell) >= 3 and not cell.strip("-") for cell in cells)


def is_frame(line: str) -> bool:
    """Does a line of a table hold no row: its header, its rule, a comment, nothing?"""
    return not line.strip() or is_rule(line) or is_header(line) or line.lstrip().startswith("#")


def row_of(line: str, number: int) -> Row | None:
    """One row of a table, None where it is none."""
    cells = line[:LONGEST_LINE].replace("|", " ").strip(" \t`").split()
    if cells and cells[0] in ("-", "*", "•"):
        del cells[0]
    if len(cells) > 2 and cells[1] == "(!)":  # of poetry: not installed as locked
        del cells[1]
    if len(cells) < 2 or not NAME.fullmatch(cells[0]):
        return None
    version = VERSION.fullmatch(cells[1])
    return Row(cells[0], version[1], tuple(cells[2:40]), number) if version else None


def told(rows: Sequence[Row], is_conda: bool) -> list[Statement]:
    """What rows say."""
    return [one for row in rows for one in (of_conda(row) if is_conda else [release_of(*row[:2], row.line)])]


def of_conda(row: Row) -> list[Statement]:
    """A row of conda, which calls some packages otherwise, and whose builds tell CUDA from CPU."""
    if "pypi" in row.rest or not row.rest:
        return [release_of(row.name, row.version, row.line)]
    if row.name == "cuda-nvcc":
        return [stated("toolkit", minor(row.version), row.line)]
    if row.name == "pytorch-cuda":
        return [stated("torch cuda", minor(row.version), row.line)]
    # Rules ask for conda's MKL, though no rule of PyPI does.
    name = "mkl" if row.name == "mkl" else "" if row.name in CUDA else pypi_name(row.name)
    found = [release_of(name, row.version, row.line)] if name else []
    cuda = cuda_of_build(row.rest[0][:LONGEST]) if name == "torch" else ""
    return [*found, *([stated("torch cuda", cuda, row.line)] if cuda else [])]


def cuda_of_build(build: str) -> str:
    """The CUDA of a conda build of torch, "none" for one without, "" where it does not tell."""
    found = BUILD_CUDA.search(build)
    if not found:
        return "none" if "cpu" in build else ""
    return found[1] if "." in found[1] else f"{found[1][:-1]}.{found[1][-1]}"


def minor(version: str) -> str:
    """ "12.1" of "12.1.105"."""
    return ".".join(version.split(".")[:2])
