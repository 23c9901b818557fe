"""Lines of text in which some characters are two columns wide, as Chinese ones are.

Standard: Unicode TR 11 for the width of a character.
"""

from __future__ import annotations

import re
from unicodedata import east_asian_width

# A word with the wide marks that may not begin a line, or one wide character with them.
_PIECE = re.compile(r"\s+|(?:[^\s\u2e80-\u9fff\uff00-\uffef]+|\S)[，。；：、？！）》」』”’]*")


def columns(text: str) -> int:
    """How wide a text is in a terminal."""
    return sum(2 if east_asian_width(char) in "WF" else 1 for char in text)


def is_wide(text: str) -> bool:
    """Has it characters of two columns?"""
    return not text.isascii() and columns(text) > len(text)


def broken(text: str, room: int) -> list[str]:
    """A paragraph in lines of so many columns; words of one column a character are never broken."""
    lines, line, used = [], "", 0
    for piece in _PIECE.findall(text):
        wide = columns(piece)
        if used + wide > room and line.strip():
            lines.append(line.rstrip())
            line, used = "", 0
        if line or not piece.isspace():
            line, used = line + piece, used + wide
    return [*lines, line.rstrip()] if line.strip() or not lines else lines
