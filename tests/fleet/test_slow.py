"""Which durations are too long to be chance."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doctor.fleet.slow import FEWEST, limit_s, slowest_stage


@pytest.mark.parametrize(
    ("usual", "late", "is_slow"),
    [
        ([1.0] * 9, 2.9, False),  # two seconds more are never slow
        ([1.0] * 9, 3.1, True),
        ([20.0] * 9, 29.0, False),  # nor is half as long again
        ([20.0] * 9, 31.0, True),
        ([10.0, 12.0, 15.0, 18.0, 20.0, 22.0, 25.0, 28.0], 60.0, False),  # they differ anyway
        ([10.0, 12.0, 15.0, 18.0, 20.0, 22.0, 25.0, 28.0], 90.0, True),
        ([1.0] * (FEWEST - 2), 99.0, False),  # too few to tell
    ],
)
def test_what_is_slow(usual: list[float], late: float, is_slow: bool) -> None:
    assert (late > limit_s([*usual, late])) == is_slow


@given(st.lists(st.floats(0.1, 1e4), min_size=FEWEST, max_size=40), st.randoms(use_true_random=False))
def test_no_more_than_half_are_slow_in_whatever_order(seconds: list[float], chance: random.Random) -> None:
    limit = limit_s(seconds)
    assert sum(one > limit for one in seconds) <= len(seconds) // 2
    chance.shuffle(seconds)
    assert limit_s(seconds) == limit


def test_the_stage_that_takes_longest() -> None:
    assert slowest_stage(
        {"import-torch": 9.0, "lora-step": 30.0}, {"import-torch": 2.0, "lora-step": 29.0}
    ) == ("import-torch")
