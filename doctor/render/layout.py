"""How text is set for a terminal: width, colour and character set."""

from __future__ import annotations

import re
import textwrap
from typing import Literal

import msgspec

from doctor.plain import ascii_only, one_line, plain
from doctor.render.lines import Mark
from doctor.render.wide import broken, is_wide

Paint = Literal["ok", "note", "warn", "bad", "dim", "strong", "command"]

# SGR parameters of ECMA-48: the sixteen colours that every terminal theme sets itself.
_SGR: dict[Paint, str] = {
    "ok": "32", "note": "36", "warn": "33", "bad": "1;31", "dim": "2", "strong": "1", "command": "36",
}  # fmt: skip
PAINT_OF_MARK: dict[Mark, Paint] = {"ok": "ok", "note": "note", "warn": "warn", "FAIL": "bad", "?": "dim"}
_SIGNS: dict[Mark, str] = {"ok": "✓", "note": "i", "warn": "!", "FAIL": "✗"}
NARROWEST = 12  # columns of a paragraph; a terminal that is narrower breaks the line itself


_UNIT = re.compile(r"(?<=\d) (?=(?:s|GiB|CPUs?)\b)")


class Layout(msgspec.Struct, frozen=True):
    """What the terminal can do. ``width`` is None where lines are not broken (pipes, files)."""

    width: int | None = None
    color: bool = False
    unicode: bool = False

    def clean(self, text: str) -> str:
        """Foreign text made fit for this terminal; line breaks stay."""
        cleaned = plain(text).replace("\t", "    ")
        return cleaned if self.unicode else ascii_only(cleaned)

    def paint(self, text: str, paint: Paint) -> str:
        """Clean text in a colour, where there are colours."""
        return f"\x1b[{_SGR[paint]}m{text}\x1b[0m" if self.color and text else text

    def mark(self, mark: Mark) -> str:
        """A status as word and mark: "[FAIL]", or with Unicode "✗ FAIL"."""
        word = f"{_SIGNS.get(mark, mark)} {mark}" if self.unicode and mark != "?" else f"[{mark}]"
        return word if not self.unicode or mark != "?" else "?"

    def wrap(self, text: str, indent: int, paint: Paint | None = None) -> list[str]:
        """One paragraph in lines of equal indent; long words are never broken, so that they can be copied."""
        lines = _broken(one_line(self.clean(text)), None if self.width is None else self.width - indent)
        margin = " " * indent
        return [margin + (self.paint(line, paint) if paint else line) for line in lines]

    def labelled(self, label: str, text: str, column: int, paint: Paint | None = None) -> list[str]:
        """A paragraph that hangs from a label: both start on the same line."""
        first, *rest = self.wrap(text, column, paint)
        return [self.heading(label, column) + first[column:], *rest]

    def heading(self, label: str, column: int) -> str:
        """A label in the margin, as wide as the column."""
        return self.paint(f"  {label}", "dim") + " " * max(column - 2 - len(label), 0)

    def fits(self, length: int) -> bool:
        """True where a line of so many characters needs no break."""
        return self.width is None or length <= self.width


def _broken(text: str, room: int | None) -> list[str]:
    """A paragraph in lines, with a number and its unit on the same one."""
    if room is None:
        return [text]
    if is_wide(text):
        return broken(text, max(room, NARROWEST))
    held = _UNIT.sub("\xa0", text)
    lines = textwrap.wrap(held, max(room, NARROWEST), break_long_words=False, break_on_hyphens=False)
    return [line.replace("\xa0", " ") for line in lines] or [""]
