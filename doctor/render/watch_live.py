"""One line at the foot of a terminal while a run goes on, out of the way of what the run prints.

The terminal is told to scroll without its last row, as apt does for its progress bar: lines of the run, bars
that rewrite themselves and our line do not meet.
"""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Callable
from os import terminal_size
from typing import TextIO

from doctor.memory.amounts import amount
from doctor.render.layout import Layout
from doctor.render.watch_words import sparkline

HISTORY = 240  # moments in the sparkline
BARS = 20  # columns of it

SAVE, RESTORE, CLEAR = "\x1b7", "\x1b8", "\x1b[2K"


class Moment:
    """What the line shows, kept over time."""

    def __init__(self) -> None:
        self._history: deque[tuple[float, int]] = deque(maxlen=HISTORY)

    def text(
        self,
        layout: Layout,
        at_s: float,
        *,
        used: int | None,
        peak: int | None,
        total: int | None,
        free: int | None,
        others: int | None,
        allocated: int | None,
        gpu: int | None,
        step: int | None,
    ) -> str:
        """One line, without its end."""
        if used is None:
            return "watch: nothing seen yet"
        self._history.append((at_s, used))
        parts = [f"GPU {gpu}" if gpu is not None else "memory"]
        parts.append(sparkline(tuple(self._history), BARS, total, unicode=layout.unicode))
        parts.append(amount(used) + (f" of {amount(total)}" if total else ""))
        told = {"peak": peak, "free": free, "others": others or None, "torch": allocated}
        parts += [f"{label} {amount(size)}" for label, size in told.items() if size is not None]
        if step:
            parts.append(f"step {step:,}")
        line = "  ".join(parts)
        return line if layout.width is None else line[: layout.width - 1]


class Foot:
    """The last row of a terminal, taken out of what scrolls until it is given back."""

    def __init__(self, stream: TextIO, size: Callable[[], terminal_size]) -> None:
        self._stream, self._size = stream, size
        self._rows = 0

    def write(self, text: str) -> None:
        """Put a text into the last row; a terminal of few rows is left alone."""
        rows = self._size().lines
        if rows < 4:
            return
        scroll = "" if rows == self._rows else f"\n{SAVE}\x1b[1;{rows - 1}r{RESTORE}\x1b[1A"
        self._rows = rows
        self._put(f"{scroll}{SAVE}\x1b[{rows};1H{CLEAR}{text}{RESTORE}")

    def leave(self) -> None:
        """Let all rows scroll again and clear the last."""
        if self._rows:
            self._put(f"{SAVE}\x1b[r\x1b[{self._rows};1H{CLEAR}{RESTORE}")
            self._rows = 0

    def _put(self, text: str) -> None:
        with contextlib.suppress(OSError, ValueError):
            self._stream.write(text)
            self._stream.flush()
