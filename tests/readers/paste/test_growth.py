"""Hostile text costs no more than its length: by counting calls, and by the shape of the patterns."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from types import FrameType, ModuleType

import pytest

from doctor.readers.paste import (
    chains,
    clean,
    frames,
    kinds,
    messages,
    prefixes,
    programs,
    shapes,
    tracebacks,
    voice,
)
from tests.readers.paste.pastes import complaints

parse = import_module("re._parser" if sys.version_info >= (3, 11) else "sre_parse").parse
MODULES = (chains, clean, frames, kinds, messages, prefixes, programs, shapes, tracebacks, voice)
BAIT: dict[str, Callable[[int], str]] = {
    "errors that differ": lambda at: f"ImportError: cannot import {at}",
    "lines that differ": lambda at: f"could not open the file{at}",
    "ranks that differ": lambda at: f"[rank{at}]: ValueError: it is {at}",
    "frames without an end": lambda at: f'  File "a.py", line {at}, in f',
    "headings": lambda at: "Traceback (most recent call last):",
    "chains": lambda at: (
        f"ValueError: {at}\nDuring handling of the above exception, another exception occurred:"
    ),
    "groups": lambda at: f"  + Exception Group Traceback (most recent call last):\n  | ExceptionGroup: {at}",
    "wrappers": lambda at: f"RuntimeError: Caught ImportError in DataLoader worker process {at}.",
    "messages without an end": lambda at: f"OSError: {at}:\n\n",
    "warnings": lambda at: f"/a.py:{at}: UserWarning: x\n  w()",
}


def calls(text: str) -> int:
    """How many functions of Python and C are called to read a text."""
    count = 0

    def tell(frame: FrameType, event: str, argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(tell)
    try:
        complaints(text)
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize("bait", BAIT)
def test_twice_the_lines_take_twice_the_work(bait: str) -> None:
    def lines(count: int) -> str:
        return "\n".join(BAIT[bait](at) for at in range(count))

    complaints(lines(10))  # what is compiled once
    assert calls(lines(2000)) < 2.5 * calls(lines(1000))


def patterns(module: ModuleType) -> Iterator[str]:
    for value in vars(module).values():
        for one in value if isinstance(value, tuple) else (value,):
            if isinstance(one, re.Pattern):
                yield one.pattern


def repetitions(tree: object) -> Iterator[tuple[int, str]]:
    """Every repetition in a parsed pattern: how often at most, and what it repeats."""
    for name, argument in tree:  # type: ignore[attr-defined]
        if str(name) in ("MAX_REPEAT", "MIN_REPEAT"):
            _, most, repeated = argument
            yield int(most), "+".join(str(one[0]) for one in repeated)
            yield from repetitions(repeated)
        elif str(name) == "SUBPATTERN":
            yield from repetitions(argument[-1])
        elif str(name) == "BRANCH":
            for branch in argument[1]:
                yield from repetitions(branch)


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__.rpartition(".")[2])
def test_what_repeats_without_bound_is_one_character(module: ModuleType) -> None:
    for pattern in patterns(module):
        endless = [what for most, what in repetitions(parse(pattern)) if most > 10_000]
        assert set(endless) <= {"IN", "ANY", "LITERAL"}, pattern
        assert endless.count("ANY") <= 1, pattern


BETWEEN = [
    "Error: ",
    "a.",
    "/a",
    "`",
    "(",
    " ",
    "1 requires ",
    "not ",
    "'a'",
    "-",
    ">",
    "|",
    "│",
    "版",
    "_",
    ":",
    '"',
    "\\",
]


@pytest.mark.parametrize("bait", BETWEEN)
def test_a_line_of_bait(bait: str) -> None:
    """Ten megabytes of it in one line, which end."""
    found = complaints(bait * (10_000_000 // len(bait)))
    assert all(len(one.message) <= 4000 for one in found)
