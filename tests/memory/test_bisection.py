"""The search for the largest run: the true maximum, in few trials, and what is left if it breaks off."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doctor.memory.bisection import GRID, Bisection, Found, Trial, largest


class Device:
    """A device of so many token places: batch times length, and a constant for each sequence."""

    def __init__(self, room: int, ending: Callable[[int], None] | None = None) -> None:
        self.room, self.ending = room, ending
        self.tried: list[tuple[int, int]] = []

    def run(self, batch_size: int, length: int) -> Trial:
        self.tried.append((batch_size, length))
        if self.ending:
            self.ending(len(self.tried))
        ran = batch_size * length <= self.room
        return Trial(batch_size=batch_size, sequence_length=length, outcome="ok" if ran else "out-of-memory")


def test_by_hand() -> None:
    asked: list[int] = []

    def runs(number: int) -> bool:
        asked.append(number)
        return number <= 11

    assert largest(runs, 4, 100) == 11
    # Doubling from 4: 4 and 8 run, 16 does not; then the middle of what is left, each time.
    assert asked == [4, 8, 16, 12, 10, 11]


@given(st.integers(0, 600), st.integers(1, 700), st.integers(1, 512))
def test_the_true_maximum_is_found_in_few_trials(true: int, first: int, most: int) -> None:
    asked: list[int] = []

    def runs(number: int) -> bool:
        asked.append(number)
        return number <= true

    found = largest(runs, first, most)
    assert found == min(true, most)
    assert len(asked) == len(set(asked)) and all(1 <= number <= most for number in asked)
    began = min(first, most)
    if true < began:  # nothing but halving: as few as any search by comparison needs
        assert len(asked) <= math.ceil(math.log2(began)) + 1
    else:
        doublings = math.ceil(math.log2(max(min(true, most) / began, 1))) + 1
        last = max(number for number in (began * 2**power for power in range(11)) if number <= max(found, 1))
        assert len(asked) <= doublings + math.ceil(math.log2(last)) + 1


@given(st.integers(0, 200_000), st.integers(1, 20_000), st.integers(64, 40_000))
def test_length_and_batch_are_the_largest_that_run(room: int, wanted: int, most: int) -> None:
    device = Device(room)
    found = Bisection(device.run, wanted, most).search()
    assert found.ended == "complete"
    longest = min(room, most) // GRID * GRID
    assert found.length == longest
    if longest:
        length = min(longest, math.ceil(wanted / GRID) * GRID)
        assert (found.batch_length, found.batch_size) == (length, min(room // length, 1024))
    assert len(device.tried) == len(set(device.tried)) == len(found.trials)
    assert all(length % GRID == 0 for _, length in device.tried)


def test_begins_with_batch_1_and_half_the_length() -> None:
    device = Device(10**9)
    Bisection(device.run, 2048, 4096).search()
    assert device.tried[0] == (1, 1024)


def test_what_is_known_is_not_tried_again() -> None:
    device = Device(5000)
    first = Bisection(device.run, 2048, 8192)
    told = first.search()
    again = Bisection(device.run, 2048, 8192, known=told.trials).search()
    assert again.trials == () and (again.length, again.batch_size) == (told.length, told.batch_size)


def broken_off(after: int) -> Found:
    def ending(trial: int) -> None:
        if trial > after:
            raise KeyboardInterrupt

    return Bisection(Device(5000, ending).run, 2048, 8192).search()


@pytest.mark.parametrize(
    ("after", "length", "batch_size"),
    [(0, 0, 0), (1, 1024, 0), (2, 2048, 0), (99, 4992, 2)],
)
def test_ctrl_c_leaves_the_best_so_far(after: int, length: int, batch_size: int) -> None:
    found = broken_off(after)
    assert (found.length, found.batch_size) == (length, batch_size)
    assert found.ended == ("interrupted" if after < 99 else "complete")


def test_a_trial_that_fails_otherwise_ends_the_search() -> None:
    def run(batch_size: int, length: int) -> Trial:
        outcome = "failed" if length > 1024 else "ok"
        reason = "ValueError: no such module" if length > 1024 else ""
        return Trial(batch_size=batch_size, sequence_length=length, outcome=outcome, reason=reason)  # type: ignore[arg-type]

    found = Bisection(run, 2048, 8192).search()
    assert (found.ended, found.reason, found.length) == ("failed", "ValueError: no such module", 1024)
    assert len(found.trials) == 2


def test_a_trial_that_hangs_does_not_run() -> None:
    def run(batch_size: int, length: int) -> Trial:
        outcome = "ok" if batch_size * length <= 1024 else "hung"
        return Trial(batch_size=batch_size, sequence_length=length, outcome=outcome)  # type: ignore[arg-type]

    assert Bisection(run, 1024, 4096).search().length == 1024
