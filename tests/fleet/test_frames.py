"""A node's line comes whole through launchers that mix, cut, repeat and label lines."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from doctor.fleet.frames import AT_ONCE, FRAME_BYTES, MARK, Joiner, cut

NODES = st.text(min_size=1, max_size=300)
LINES = st.text(st.characters(codec="utf-8"), max_size=3000)


@given(line=LINES, node=NODES)
def test_every_line_comes_back(line: str, node: str) -> None:
    frames = cut(line, node)
    assert {len(frame.encode()) for frame in frames} == {FRAME_BYTES}
    joiner = Joiner()
    assert [whole for frame in frames if (whole := joiner.feed(frame)) is not None] == [line]
    assert joiner.incomplete() == {}


def test_what_is_written_at_once_is_less_than_a_launcher_reads() -> None:
    assert AT_ONCE * FRAME_BYTES < 4095 and 1024 % FRAME_BYTES == 0


def noise(size: int, seed: int) -> str:
    return random.Random(seed).randbytes(size).hex()


def test_lines_of_many_nodes_mixed_doubled_labelled_and_out_of_order() -> None:
    lines = {f"n{index}": noise(2000, index) for index in range(5)}
    frames = [f"{node} [pod/x] {frame}" for node, line in lines.items() for frame in cut(line, node) * 2]
    random.Random(1).shuffle(frames)
    joiner = Joiner()
    assert {joiner.feed(frame) for frame in frames} - {None} == set(lines.values())
    assert joiner.incomplete() == {}


def test_a_frame_that_came_damaged_is_replaced_by_its_second_coming() -> None:
    first, second, *rest = cut(noise(2000, 1), "n1")
    damaged = first[:200] + second[:100] + first[300:]
    joiner = Joiner()
    assert [joiner.feed(frame) for frame in (damaged, second, *rest)] == [None] * (2 + len(rest))
    assert joiner.incomplete() == {"n1": f"{1 + len(rest)} of {2 + len(rest)} parts of its answer came"}
    assert joiner.feed(first) == noise(2000, 1)


@given(st.text(max_size=300))
def test_foreign_lines_are_none_of_ours(text: str) -> None:
    joiner = Joiner()
    assert joiner.feed(text) is None and joiner.feed(MARK + text) is None
    assert joiner.incomplete() == {}


def test_a_line_that_is_not_what_its_frames_promise_is_damaged() -> None:
    frame = cut("one", "n1")[0]
    identity = frame.split(":")[2]
    joiner = Joiner()
    assert joiner.feed(frame.replace(identity, "0" * 16)) is None
    assert joiner.incomplete() == {"n1": "its answer arrived damaged"}
