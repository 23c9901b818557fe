"""Covers cells of a grid by few rectangles, exactly: the shape of a row of the matrix."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from itertools import product
from typing import NamedTuple

Cell = tuple[int, int]


class Rectangle(NamedTuple):
    """Half-open in both directions: rows ``top`` to below ``bottom``, columns ``left`` to below ``right``."""

    top: int
    bottom: int
    left: int
    right: int

    def cells(self) -> Iterator[Cell]:
        """Every cell inside."""
        return product(range(self.top, self.bottom), range(self.left, self.right))


def cover(bad: set[Cell], unknown: set[Cell], height: int, width: int) -> list[Rectangle]:
    """Disjoint rectangles that hold every bad cell and, of all others, unknown ones only; few of them.

    None cuts a run of bad cells in its row in two: the column after a rectangle leads out of what is bad. The
    largest is taken first: with few steps in the border that is as few as there can be, or nearly so.
    """
    signs = [[sign((row, column), bad, unknown) for column in range(width)] for row in range(height)]
    rows = runs([tuple(line) for line in signs])
    columns = runs([tuple(signs[row][column] for row, _ in rows) for column in range(width)])
    small = {
        (row, column): signs[rows[row][0]][columns[column][0]]
        for row, column in product(range(len(rows)), range(len(columns)))
    }
    return [
        Rectangle(rows[one.top][0], rows[one.bottom - 1][1], columns[one.left][0], columns[one.right - 1][1])
        for one in cover_small(small, len(rows), len(columns))
    ]


def sign(cell: Cell, bad: set[Cell], unknown: set[Cell]) -> str:
    """ "bad", "unknown" or "good"."""
    return "bad" if cell in bad else "unknown" if cell in unknown else "good"


def runs(lines: Sequence[Hashable]) -> list[tuple[int, int]]:
    """Half-open runs of equal neighbours."""
    found: list[tuple[int, int]] = []
    for index, line in enumerate(lines):
        if found and lines[found[-1][0]] == line:
            found[-1] = (found[-1][0], index + 1)
        else:
            found.append((index, index + 1))
    return found


def cover_small(signs: dict[Cell, str], height: int, width: int) -> list[Rectangle]:
    """The cover of a grid without equal neighbours, which is a handful of cells."""
    left = {cell for cell, sign in signs.items() if sign == "bad"}
    usable = {cell for cell, sign in signs.items() if sign != "good"}
    found = []
    while left:
        best = largest(left, usable, height, width)
        found.append(shrunk(best, left))
        left -= set(found[-1].cells())
        usable -= set(found[-1].cells())
    return sorted(found)


def largest(left: set[Cell], usable: set[Cell], height: int, width: int) -> Rectangle:
    """Of the rectangles of usable cells that cut no run of bad ones, one that holds the most."""
    best, most = Rectangle(0, 0, 0, 0), 0
    for top, start in product(range(height), range(width)):
        stop = width
        for bottom in range(top, height):
            stop = next((column for column in range(start, stop) if (bottom, column) not in usable), stop)
            for end in range(start + 1, stop + 1):
                candidate = Rectangle(top, bottom + 1, start, end)
                held = len(left.intersection(candidate.cells()))
                if held > most and not cuts(candidate, left):
                    best, most = candidate, held
    return best


def cuts(rectangle: Rectangle, bad: set[Cell]) -> bool:
    """Does a run of bad cells go on beside the rectangle?"""
    beside = (rectangle.left - 1, rectangle.right)
    return any((row, column) in bad for row in range(rectangle.top, rectangle.bottom) for column in beside)


def shrunk(rectangle: Rectangle, bad: set[Cell]) -> Rectangle:
    """Its smallest part that holds the same bad cells."""
    inside = bad.intersection(rectangle.cells())
    rows, columns = {row for row, _ in inside}, {column for _, column in inside}
    return Rectangle(min(rows), max(rows) + 1, min(columns), max(columns) + 1)
