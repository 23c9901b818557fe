"""TOML with limits, and the lines that its values stand on."""

from __future__ import annotations

import re
import sys
from typing import Any

from doctor.readers import Unreadable

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

# Nine tenths of a lock are archives and edges of the graph, one a line, which say nothing that is asked here.
DETAIL = re.compile(
    r"^[ \t]{0,8}(?:\{ ?(?:url|file|name|path) ?= ?\"[^\n]{0,2000}\},?|sdist = \{[^\n]{0,2000}\})$", re.M
)
LIMIT_BYTES = 4 << 20
MOST_MISSED = 100  # searches in vain, each of the whole text
MOST_DOTS = 200  # in one key: the parser's time grows with their square


def load(text: str) -> dict[str, Any]:
    """A document. Raises :class:`Unreadable`."""
    if len(text) > LIMIT_BYTES:
        raise Unreadable(f"as TOML it is larger than {LIMIT_BYTES >> 20} MiB")
    if any(part.count(".") > MOST_DOTS for line in text.split("\n") for part in keys_of(line)):
        raise Unreadable(f"it has a key of more than {MOST_DOTS} parts")
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, ValueError) as error:
        raise Unreadable(f"it is no TOML: {error}") from error
    except RecursionError as error:
        raise Unreadable("its TOML is nested too deeply") from error


def keys_of(line: str) -> list[str]:
    """The parts of a line that may be keys: all before its last sign of equality, or a header."""
    if line.count(".") <= MOST_DOTS:
        return []
    return [line] if line.lstrip().startswith("[") else line.split("=")[:-1]


def load_lock(text: str) -> dict[str, Any]:
    """A lock without its archives and edges. Raises :class:`Unreadable`."""
    return load(DETAIL.sub("", text))


def table(value: Any) -> dict[str, Any]:
    """A table as it stands, an empty one for what is none."""
    return value if isinstance(value, dict) else {}


def array(value: Any) -> list[Any]:
    """An array as it stands, an empty one for what is none."""
    return value if isinstance(value, list) else []


def text_of(value: Any) -> str:
    """A string as it stands, "" for what is none."""
    return value if isinstance(value, str) else ""


class Places:
    """Where words stand in a text. Documents are read in order, so a search begins at the last hit."""

    def __init__(self, text: str) -> None:
        self._text, self._at, self._line, self._missed = text, 0, 1, 0

    def line_of(self, *spellings: str) -> int:
        """The line of the first spelling that is found, counted from 1; 0 where none is."""
        if self._missed > MOST_MISSED:
            return 0
        for start in (self._at, 0):
            for spelling in spellings:
                place = self._text.find(spelling, start)
                if place >= 0:
                    self._move_to(place)
                    return self._line
        self._missed += 1
        return 0

    def _move_to(self, place: int) -> None:
        if place < self._at:
            self._at, self._line = 0, 1
        self._line += self._text.count("\n", self._at, place)
        self._at = place
