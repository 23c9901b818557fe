"""Curves that stay small however long they are drawn."""

from __future__ import annotations

from typing import TypeVar

MOST = 2048

_T = TypeVar("_T")


class Track:
    """Bytes over time. Where it grows too long, of two neighbours the larger stays: no peak is lost."""

    def __init__(self) -> None:
        self._points: list[tuple[float, int]] = []
        self.peak = 0

    def __bool__(self) -> bool:
        return bool(self._points)

    def add(self, at_s: float, amount_bytes: int) -> None:
        """A point at the end."""
        self.peak = max(self.peak, amount_bytes)
        self._points.append((round(at_s, 3), amount_bytes))
        if len(self._points) > 2 * MOST:
            pairs = zip(self._points[::2], self._points[1::2], strict=False)
            self._points = [max(pair, key=lambda point: point[1]) for pair in pairs] + self._points[-1:]

    @property
    def last(self) -> int:
        """The newest; there must be one."""
        return self._points[-1][1]

    @property
    def points(self) -> tuple[tuple[float, int], ...]:
        """All that is kept, in the order of time."""
        return tuple(self._points)


def kept(rows: list[_T]) -> list[_T]:
    """Rows, or every second of them where they have become too many."""
    return rows[::2] if len(rows) > 2 * MOST else rows
