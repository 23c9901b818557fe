"""A robust line through measured points: Theil and Sen's median of slopes, with its bounds."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import NamedTuple

MOST_POINTS = 150  # pairs grow with the square: more points are taken together first
Z_99 = 2.576  # normal quantile of a 99 % interval

Point = tuple[float, float]


class Slope(NamedTuple):
    """Growth of the second coordinate by one of the first. ``low`` and ``high`` hold the true one at 99 %."""

    value: float
    low: float
    high: float
    scatter: float  # median distance of the points from the line


def slope(points: Sequence[Point]) -> Slope | None:
    """The line through points; None below three different first coordinates.

    The bounds are those of P. K. Sen, JASA 63 (1968), by the variance of Kendall's statistic.
    """
    few = thinned(points)
    pairs = sorted(
        (later[1] - earlier[1]) / (later[0] - earlier[0])
        for at, earlier in enumerate(few)
        for later in few[at + 1 :]
        if later[0] != earlier[0]
    )
    if len({x for x, _ in few}) < 3:
        return None
    value = median(pairs)
    spread = Z_99 * (len(few) * (len(few) - 1) * (2 * len(few) + 5) / 18) ** 0.5
    low = max(int((len(pairs) - spread) / 2), 0)
    high = min(int((len(pairs) + spread) / 2) + 1, len(pairs) - 1)
    start = median(y - value * x for x, y in few)
    scatter = median(abs(y - value * x - start) for x, y in few)
    return Slope(value, pairs[low], pairs[high], scatter)


def thinned(points: Sequence[Point], most: int = MOST_POINTS) -> list[Point]:
    """At most so many points: neighbours are replaced by the medians of both coordinates."""
    if len(points) <= most:
        return list(points)
    edges = [round(part * len(points) / most) for part in range(most + 1)]
    groups = [points[start:end] for start, end in zip(edges, edges[1:], strict=False)]
    return [(median(x for x, _ in group), median(y for _, y in group)) for group in groups]
