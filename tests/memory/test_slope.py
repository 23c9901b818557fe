from __future__ import annotations

from statistics import median

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doctor.memory.slope import MOST_POINTS, slope, thinned


def test_a_line_is_found_as_it_is() -> None:
    line = slope([(x, 3.0 * x + 100) for x in range(40)])
    assert line is not None
    assert (line.value, line.low, line.high, line.scatter) == (3.0, 3.0, 3.0, 0.0)


def test_the_bounds_are_those_of_sens_own_rule() -> None:
    # n = 10: 45 slopes; C = 2.576 * sqrt(10*9*25/18) = 28.8; the ranks are (45 -+ 28.8) / 2 = 8.1 and 36.9.
    points = [(float(x), float(y)) for x, y in enumerate((1, 4, 2, 5, 3, 7, 6, 9, 8, 12))]
    slopes = sorted((b[1] - a[1]) / (b[0] - a[0]) for i, a in enumerate(points) for b in points[i + 1 :])
    line = slope(points)
    assert line is not None
    assert (line.value, line.low, line.high) == (median(slopes), slopes[8], slopes[37])


def test_one_wild_point_changes_little() -> None:
    line = slope([(x, 2.0 * x + (10_000 if x == 20 else 0)) for x in range(40)])
    assert line is not None and line.value == pytest.approx(2.0, abs=0.01)


@pytest.mark.parametrize(
    "points", [[], [(1.0, 2.0)], [(1.0, 2.0), (1.0, 5.0), (1.0, 7.0)], [(0.0, 1.0), (1.0, 1.0)]]
)
def test_too_little_is_no_line(points: list[tuple[float, float]]) -> None:
    assert slope(points) is None


@given(
    st.floats(-1e6, 1e6),
    st.floats(-1e9, 1e9),
    st.lists(st.integers(-5, 5), min_size=10, max_size=60),
)
def test_the_true_slope_lies_within_bounds_of_its_noise(value: float, start: float, noise: list[int]) -> None:
    line = slope([(float(x), start + value * x + shift) for x, shift in enumerate(noise)])
    assert line is not None
    assert line.low <= line.value <= line.high
    assert value - 10.01 <= line.value <= value + 10.01  # a slope of two points is off by 10 at most


@given(st.lists(st.tuples(st.floats(0, 1e6), st.floats(0, 1e12)), max_size=900))
def test_thinning_keeps_within_what_it_was_given(points: list[tuple[float, float]]) -> None:
    points.sort()
    few = thinned(points)
    assert len(few) == min(len(points), MOST_POINTS)
    if points:
        assert {min(y for _, y in points) <= y <= max(y for _, y in points) for _, y in few} == {True}
