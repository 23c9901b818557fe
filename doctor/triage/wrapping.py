"""Lines that a terminal or an editor broke, put together again.

The wording of an error is looked for in its lines as they stand, and then in these. A break within a word is
known by its place: at the width of the terminal, which is that of the longest lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

SHORTEST = 60  # characters; no line is broken before
LONGEST = 4_000  # characters of one line that is put together
# The next thing begins here: a frame, another error, a heading, a row.
BEGINS = re.compile(
    r"\s*(?:File \"|Traceback \(|[\w.]{1,60}(?:Error|Exception|Warning): |#|\||[-*] |>>> |\$ )"
)


class Rejoined(NamedTuple):
    """One line of several."""

    line: int  # where the first stands, counted from 1
    text: str


def rejoined(lines: Sequence[str]) -> tuple[Rejoined, ...]:
    """Every run of lines that may be one, with and without a space where they meet."""
    width = max(map(len, lines), default=0)
    return tuple(
        Rejoined(first + 1, text)
        for first, last in runs(lines)
        for text in dict.fromkeys((spaced(lines[first : last + 1]), unbroken(lines[first : last + 1], width)))
    )


def runs(lines: Sequence[str]) -> Iterator[tuple[int, int]]:
    """The first and last index of lines that go on in the next one."""
    first = 0
    for index in range(1, len(lines) + 1):
        goes_on = (
            index < len(lines)
            and len(lines[index - 1]) >= SHORTEST
            and lines[index].strip()
            and not BEGINS.match(lines[index])
        )
        if not goes_on:
            if index - 1 > first:
                yield first, index - 1
            first = index


def spaced(lines: Sequence[str]) -> str:
    """Lines that were broken between words."""
    return " ".join(line.strip() for line in lines)[:LONGEST]


def unbroken(lines: Sequence[str], width: int) -> str:
    """Lines that were broken at the width of a terminal, within a word or not."""
    parts = [line if len(line) == width else f"{line.strip()} " for line in lines]
    return "".join(parts)[:LONGEST].strip()
