"""The cover of bad cells is exact, disjoint and small."""

from __future__ import annotations

from compute.rectangles import Cell, Rectangle, cover
from hypothesis import given
from hypothesis import strategies as st

HEIGHT, WIDTH = 7, 9
cells = st.tuples(st.integers(0, HEIGHT - 1), st.integers(0, WIDTH - 1))


@given(bad=st.sets(cells), unknown=st.sets(cells))
def test_every_known_cell_is_told_as_it_was_evaluated(bad: set[Cell], unknown: set[Cell]) -> None:
    unknown -= bad
    covered = [cell for one in cover(bad, unknown, HEIGHT, WIDTH) for cell in one.cells()]
    assert len(covered) == len(set(covered))
    assert bad <= set(covered) <= bad | unknown


@given(
    top=st.integers(0, 3), bottom=st.integers(4, HEIGHT), left=st.integers(0, 4), right=st.integers(5, WIDTH)
)
def test_a_rectangle_is_one_rectangle(top: int, bottom: int, left: int, right: int) -> None:
    whole = Rectangle(top, bottom, left, right)
    assert cover(set(whole.cells()), set(), HEIGHT, WIDTH) == [whole]


def test_a_step_in_the_border_costs_one_more() -> None:
    upper, lower = Rectangle(0, 2, 0, 3), Rectangle(2, 5, 0, 6)
    assert cover({*upper.cells(), *lower.cells()}, set(), HEIGHT, WIDTH) == [upper, lower]


def test_what_is_not_known_may_join_two_parts() -> None:
    bad = {(0, 0), (0, 2)}
    assert cover(bad, {(0, 1)}, HEIGHT, WIDTH) == [Rectangle(0, 1, 0, 3)]
    assert len(cover(bad, set(), HEIGHT, WIDTH)) == 2


@given(bad=st.sets(cells))
def test_the_column_after_a_rectangle_leads_out(bad: set[Cell]) -> None:
    for one in cover(bad, set(), HEIGHT, WIDTH):
        assert not {(row, one.right) for row in range(one.top, one.bottom)} & bad


def test_nothing_bad_is_nothing() -> None:
    assert cover(set(), {(1, 1)}, HEIGHT, WIDTH) == []
