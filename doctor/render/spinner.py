"""One moving line at the foot of a terminal, drawn over itself and taken away without a trace."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from threading import Event, Thread
from typing import TextIO

from doctor.render.layout import Layout
from doctor.render.plain import one_line

FRAME_S = 0.12  # work that is done sooner is never announced
NARROW = 40  # columns, where the width is not known


class Spinner:
    """Says what runs and for how long, until it is stopped. No escape sequence: every console can show it."""

    def __init__(self, stream: TextIO, layout: Layout, label: str, clock: Callable[[], float]) -> None:
        self._stream, self._clock, self._start = stream, clock, clock()
        self._label = one_line(layout.clean(label))
        self._frames = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏" if layout.unicode else "|/-\\"
        # A full last column would break the line, and the next frame start below it.
        self._room = max((layout.width or NARROW) - 1, 0)
        self._over = Event()
        self._thread = Thread(target=self._turn, daemon=True)

    def start(self) -> None:
        """Begin to turn."""
        self._thread.start()

    def stop(self) -> None:
        """Leave an empty line; the next text takes its place."""
        self._over.set()
        self._thread.join()

    def _turn(self) -> None:
        count = 0
        # A pipe that breaks meanwhile is met again, and told, by whoever writes the next line.
        with suppress(OSError, ValueError):
            while not self._over.wait(FRAME_S):
                frame = self._frames[count % len(self._frames)]
                self._draw(f"{frame}  {self._label}  {self._clock() - self._start:.0f} s")
                count += 1
            if count:
                self._draw("")
                self._stream.write("\r")

    def _draw(self, text: str) -> None:
        self._stream.write(f"\r{text[: self._room]:{self._room}}")
        self._stream.flush()
