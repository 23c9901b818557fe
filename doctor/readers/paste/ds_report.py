"""``ds_report``, DeepSpeed's report on itself: dotted lines, and a table of what can be compiled.

Source: https://github.com/deepspeedai/DeepSpeed/blob/master/deepspeed/env_report.py
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from doctor.paste import Form
from doctor.readers.paste import LONGEST, Block
from doctor.readers.paste.devices import bytes_of
from doctor.readers.paste.labels import LONGEST_LINE, Label
from doctor.readers.paste.platforms import Said
from doctor.readers.paste.readings import said_by, version_at
from doctor.readers.paste.reports import BREAK, statement

FORM: Form = "ds_report"
# Key -> what it is about, by the meanings of labels; "" is read here.
KEYS = {
    "torch install path": "executable",
    "torch version": "torch",
    "torch cuda version": "torch cuda",
    "torch hip version": "torch hip",
    "nvcc version": "toolkit",
    "deepspeed install path": "executable",
    "deepspeed info": "",
    "deepspeed wheel compiled w.": "",  # of the wheel: it says nothing of what is installed now
    "shared memory (/dev/shm) size": "",
    "ninja": "",
}
_DOTTED = re.compile(r"(" + "|".join(re.escape(key) for key in KEYS) + r")[ \t]{0,4}\.{2,60}[ \t]{0,4}")
_HEADS = ("DeepSpeed C++/CUDA extension op report", "DeepSpeed general environment info")
_OPERATION = re.compile(r"[ \t]{0,4}[a-z_0-9]{2,40} \.{1,40} ?\[(?:YES|NO)\]|op name \.")
_BESIDE = re.compile(
    r"[ \t]{0,4}\[WARNING\]|-{40,60}$|NOTE: Ops not installed|JIT compiled ops|[ \t]{4,8}(?:runtime|meet) "
)
_PYTHON_OF_PATH = re.compile(r"[/\\][Pp]ython(3\.\d{1,2})[/\\]")
_GAP = 3


class Dotted(NamedTuple):
    """ "torch version .................... 2.1.0+cu118"."""

    key: str
    value: str
    line: int


def read(lines: Sequence[str]) -> Iterator[Block]:
    """Each report in a text."""
    part: list[int] = []
    for number, line in enumerate(lines, 1):
        if part and (number - part[-1] > _GAP or BREAK.match(line)):
            yield from _block(lines, part)
            part = []
        if _begins(line) or (part and _BESIDE.match(line)):
            part.append(number)
    yield from _block(lines, part)


def _begins(line: str) -> bool:
    is_dotted = " .." in line and _DOTTED.search(line[:LONGEST_LINE]) is not None
    return is_dotted or any(head in line[:120] for head in _HEADS) or _OPERATION.match(line) is not None


def _block(lines: Sequence[str], part: Sequence[int]) -> Iterator[Block]:
    dotted = [one for number in part for one in _dotted(lines[number - 1], number)]
    said = [statement(one, FORM, entry.line) for entry in dotted for one in of_line(entry.key, entry.value)]
    told = {entry.key: entry for entry in dotted}
    hip, cuda = told.get("torch hip version"), told.get("torch cuda version")
    if hip and cuda and hip.value == cuda.value == "None":
        said.append(statement(Said("torch cuda", "none"), FORM, cuda.line))
    if said:
        yield Block(FORM, part[0], part[-1], tuple(said))


def _dotted(line: str, number: int) -> Iterator[Dotted]:
    """The dotted entries of a line: more than one where a report was collapsed."""
    marks = list(_DOTTED.finditer(line[:LONGEST_LINE]))
    ends = [mark.start() for mark in marks[1:]] + [len(line)] * bool(marks)
    for mark, end in zip(marks, ends, strict=True):
        yield Dotted(mark[1], line[mark.end() : end].strip()[:LONGEST], number)


def of_line(key: str, value: str) -> Iterator[Said]:
    """What one dotted line says."""
    if KEYS[key] == "executable":
        yield from _of_path(value)
    elif key == "deepspeed info":
        yield from (Said("package", found, "deepspeed") for found in [version_at(value)] if found)
    elif key.startswith("shared memory"):
        size = bytes_of(value)
        yield from [Said("shared memory", str(size))] if size is not None else []
    elif key == "ninja" and "[FAIL]" in value:
        yield Said("absent", "", "ninja")
    elif KEYS[key] and "FAIL" not in value:
        yield from _of_label(KEYS[key], value)


def _of_label(meaning: str, value: str) -> Iterator[Said]:
    """A line that other reports have too. "None" alone may be a build for the CPU, for ROCm or for XPU."""
    if value != "None":
        yield from said_by(Label("", meaning, "", "", value, 0, True))


def _of_path(value: str) -> Iterator[Said]:
    """ "['/opt/conda/lib/python3.10/site-packages/torch']"."""
    path = value.strip("[]'\" ")
    if "/" in path or "\\" in path:
        yield Said("executable", path)
    python = _PYTHON_OF_PATH.search(path)
    if python:
        yield Said("python", python[1])
