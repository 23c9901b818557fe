"""The allocator against worked examples, against the same rules written plainly, and against laws."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from doctor.memory.allocator import EMPTY_CACHE, Allocator, Heap, replay
from doctor.memory.pools import Block, OutOfMemory

from .blocks import PlainAllocator

KIB, MIB = 2**10, 2**20


def after(*requests: float, expandable: bool = False) -> tuple[Allocator, list[Block]]:
    """An allocator that was asked for so many MiB."""
    allocator = Allocator(expandable=expandable)
    return allocator, [allocator.allocate(int(size * MIB)) for size in requests]


def held(allocator: Allocator) -> tuple[float, float]:
    """Allocated and reserved MiB."""
    return allocator.allocated_bytes / MIB, allocator.reserved_bytes / MIB


@pytest.mark.parametrize(
    ("requested", "allocated", "reserved"),
    [
        (0, 0, 0),  # no memory for nothing
        (1, 512, 2 * MIB),
        (513, 1024, 2 * MIB),
        (MIB, MIB, 2 * MIB),  # the largest of the small pool
        (MIB + 1, MIB + 512, 20 * MIB),  # the smallest of the large one
        (10 * MIB - 512, 10 * MIB - 512, 20 * MIB),
        (10 * MIB, 10 * MIB, 10 * MIB),
        (10 * MIB + 1, 10 * MIB + 512, 12 * MIB),  # all but 512 bytes of 2 MiB are left, and cut off
        (11 * MIB, 12 * MIB, 12 * MIB),  # 1 MiB is left, which is not more than 1 MiB: given with the block
        (11 * MIB - 512, 11 * MIB - 512, 12 * MIB),
        (300 * MIB + 5, 300 * MIB + 512, 302 * MIB),
    ],
)
def test_one_allocation(requested: int, allocated: int, reserved: int) -> None:
    allocator = Allocator()
    allocator.allocate(requested)
    assert (allocator.allocated_bytes, allocator.reserved_bytes) == (allocated, reserved)


def test_allocations_below_ten_mib_share_a_segment_of_twenty() -> None:
    allocator, _ = after(6, 6, 6)
    assert held(allocator) == (18, 20)
    allocator.allocate(2 * MIB)  # the rest is exactly that
    assert held(allocator) == (20, 20)
    allocator.allocate(2 * MIB)
    assert held(allocator) == (22, 40)


def test_the_smallest_block_that_fits_is_taken() -> None:
    allocator, (first, _, third) = after(3, 3, 3)  # 11 MiB are left behind the third
    allocator.free(first)
    allocator.free(third)  # joins what is behind it: blocks of 3 and 14 MiB are free
    assert allocator.allocate(2 * MIB) == first  # 1 MiB would be left: the block is given as it is
    assert held(allocator) == (6, 20)
    assert allocator.allocate(4 * MIB)[0] == third[0]


def test_freed_neighbours_join_and_segments_do_not() -> None:
    allocator, blocks = after(10, 10)  # a segment each
    for block in blocks:
        allocator.free(block)
    allocator.allocate(20 * MIB)
    assert held(allocator) == (20, 40)
    allocator, blocks = after(5, 5, 5, 5)
    for block in (blocks[1], blocks[3], blocks[2]):
        allocator.free(block)
    allocator.allocate(15 * MIB)
    assert held(allocator) == (20, 20)


def test_small_and_large_blocks_never_mix() -> None:
    allocator, (small, large) = after(0.5, 2)
    allocator.free(large)
    for _ in range(4):
        allocator.allocate(MIB // 2)
    assert held(allocator) == (2.5, 24)
    allocator.free(small)
    assert held(allocator) == (2, 24)


def test_empty_cache_gives_back_what_is_wholly_free() -> None:
    allocator, blocks = after(30, 6, 6)
    allocator.free(blocks[0])
    allocator.free(blocks[1])
    allocator.empty_cache()
    assert held(allocator) == (6, 20)
    allocator.free(blocks[2])
    allocator.empty_cache()
    assert held(allocator) == (0, 0)


def test_expandable_segments_grow_by_pages() -> None:
    allocator, _ = after(30, expandable=True)
    assert held(allocator) == (30, 40)
    allocator.allocate(15 * MIB)  # 10 MiB at the end and one page more
    assert held(allocator) == (45, 60)
    allocator.allocate(11 * MIB)  # cut to size: no MiB is lost at its end
    assert held(allocator) == (56, 60)
    allocator.allocate(512)
    assert held(allocator) == (56 + 512 / MIB, 62)


def test_what_can_still_grow_is_spared() -> None:
    allocator, (first, _) = after(12, 2, expandable=True)  # 6 MiB are left at the end
    allocator.free(first)
    assert allocator.allocate(4 * MIB)[0] == first[0]


def test_empty_cache_unmaps_pages_in_the_middle_which_are_mapped_again_first() -> None:
    allocator, (first, second) = after(30, 25, expandable=True)
    assert held(allocator) == (55, 60)
    allocator.free(first)
    allocator.empty_cache()  # of 30 MiB the first page alone is wholly free; at the end are 5 MiB
    assert held(allocator) == (25, 40)
    assert allocator.allocate(18 * MIB) == (first[0], first[0] + 18 * MIB)
    assert held(allocator) == (43, 60)
    allocator.free(second)
    allocator.empty_cache()
    assert held(allocator) == (18, 20)


def test_a_full_device_gets_its_cache_back_before_it_is_out_of_memory() -> None:
    allocator = Allocator(limit_bytes=60 * MIB)
    allocator.free(allocator.allocate(40 * MIB))
    block = allocator.allocate(50 * MIB)  # the 40 MiB that are cached go back
    assert held(allocator) == (50, 50)
    with pytest.raises(OutOfMemory):
        allocator.allocate(12 * MIB)
    allocator.free(block)
    assert allocator.allocate(60 * MIB)


def test_a_replay_says_where_the_peak_is_and_where_memory_ends() -> None:
    sizes = [10 * MIB, 20 * MIB, 4 * MIB]
    events = [0, 1, 1, 2, EMPTY_CACHE, 0, 2]
    peaks = replay(events, sizes, Allocator(), marks=(2, 4))
    assert (peaks.allocated_bytes, peaks.reserved_bytes, peaks.event) == (30 * MIB, 30 * MIB, 1)
    assert [stretch.allocated_bytes // MIB for stretch in peaks.stretches] == [30, 30, 14]
    assert [stretch.reserved_bytes // MIB for stretch in peaks.stretches] == [30, 30, 30]
    assert [stretch.start for stretch in peaks.stretches] == [0, 2, 4]
    assert peaks.out_of_memory is None
    assert replay(events, sizes, Allocator(limit_bytes=20 * MIB)).out_of_memory == 1


def test_without_a_cache_nothing_is_rounded() -> None:
    peaks = replay([0, 1, 0, 1], [700, 5 * MIB], Heap())
    assert peaks.allocated_bytes == peaks.reserved_bytes == 700 + 5 * MIB


def test_nothing_is_nothing() -> None:
    peaks = replay([], [], Allocator())
    assert (peaks.allocated_bytes, peaks.reserved_bytes, peaks.stretches) == (0, 0, ())


requests = st.one_of(
    st.integers(0, 3 * KIB),
    st.integers(1, 3 * MIB),
    st.sampled_from([MIB, MIB + 1, 2 * MIB, 10 * MIB, 11 * MIB, 20 * MIB, 21 * MIB]),
    st.integers(MIB, 50 * MIB),
)
# A number is a request of so many bytes, (n,) frees the n-th of those that live, None empties the cache.
steps = st.lists(
    st.one_of(requests, requests, st.tuples(st.integers(0, 30)), st.tuples(st.integers(0, 30)), st.none()),
    max_size=60,
)


@given(steps, st.booleans())
@settings(deadline=None)
def test_it_does_what_the_plain_rules_say(steps: list[int | tuple[int] | None], expandable: bool) -> None:
    fast, plain = Allocator(expandable=expandable), PlainAllocator(expandable=expandable)
    live = []
    for step in steps:
        if isinstance(step, int):
            live.append((fast.allocate(step), plain.malloc(step)))
        elif step is None:
            fast.empty_cache()
            plain.empty_cache()
        elif live:
            block, plain_block = live.pop(step[0] % len(live))
            fast.free(block)
            plain.free(plain_block)
        assert fast.allocated_bytes == plain.bytes_of("used")
        assert fast.reserved_bytes == plain.bytes_of("used", "free")
        assert fast.reserved_bytes >= fast.allocated_bytes
        blocks = sorted(block for block, _ in live if block[0] != block[1])
        assert all(before[1] <= behind[0] for before, behind in zip(blocks, blocks[1:], strict=False))
    for block, _ in live:
        fast.free(block)
    assert fast.allocated_bytes == 0
    fast.empty_cache()
    assert fast.reserved_bytes == 0
