"""The peaks of a stream of births and deaths: on a GPU by torch's allocator (``pools``), or without one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

from doctor.memory.pools import (
    LARGE_BASE,
    LARGE_SEGMENT_BYTES,
    ROUNDING_BYTES,
    SMALL_BYTES,
    SMALL_SEGMENT_BYTES,
    Block,
    ExpandablePool,
    NativePool,
    OutOfMemory,
    Pool,
)

EMPTY_CACHE = -1  # among the events of a stream: torch.cuda.empty_cache()


class Stretch(NamedTuple):
    """The peaks between two marks."""

    start: int  # the event that it begins with
    allocated_bytes: int
    reserved_bytes: int


class Peaks(NamedTuple):
    """What a replay found, in bytes as torch.cuda.max_memory_allocated and max_memory_reserved count them."""

    allocated_bytes: int
    reserved_bytes: int
    event: int  # the one that brings the peak of what is allocated
    out_of_memory: int | None  # the event that found no room; nothing after it was replayed
    stretches: tuple[Stretch, ...]


class Allocator:
    """The two pools of one device, and what they hold; ``limit_bytes`` is what it can give at most."""

    def __init__(self, *, expandable: bool = False, limit_bytes: int | None = None) -> None:
        self.allocated_bytes = self.reserved_bytes = self.peak_reserved_bytes = 0
        self.limit_bytes = float("inf") if limit_bytes is None else limit_bytes
        self.small: Pool
        self.large: Pool
        if expandable:
            self.small = ExpandablePool(0, SMALL_SEGMENT_BYTES)
            self.large = ExpandablePool(LARGE_BASE, LARGE_SEGMENT_BYTES)
        else:
            self.small = NativePool(0, ROUNDING_BYTES)
            self.large = NativePool(LARGE_BASE, SMALL_BYTES + 1)

    def allocate(self, size_bytes: int) -> Block:
        """The addresses where a block begins and ends; of an empty request no memory.

        :raises OutOfMemory: the device cannot give what is missing.
        """
        if not size_bytes:  # c10::Allocator gives a null pointer and asks for nothing
            return 0, 0
        size = (
            ROUNDING_BYTES
            if size_bytes <= ROUNDING_BYTES
            else -(-size_bytes // ROUNDING_BYTES) * ROUNDING_BYTES
        )
        pool = self.small if size <= SMALL_BYTES else self.large
        block = pool.take(size) or self.with_more(pool, size)
        self.allocated_bytes += block[1] - block[0]
        return block

    def with_more(self, pool: Pool, size: int) -> Block:
        """A block for which the device must give memory, if need be after the cache was given back."""
        grown = pool.grow(size, self.limit_bytes - self.reserved_bytes)
        if not grown:
            self.empty_cache()
            grown = pool.grow(size, self.limit_bytes - self.reserved_bytes)
        self.reserved_bytes += grown
        self.peak_reserved_bytes = max(self.peak_reserved_bytes, self.reserved_bytes)
        block = pool.take(size) if grown else None
        if block is None:
            raise OutOfMemory
        return block

    def free(self, block: Block) -> None:
        """A block that ``allocate`` gave is no longer in use."""
        start, end = block
        if start != end:
            self.allocated_bytes -= end - start
            (self.small if start < LARGE_BASE else self.large).give(start, end)

    def empty_cache(self) -> None:
        """torch.cuda.empty_cache: give back what no block in use lies in."""
        self.reserved_bytes -= self.small.release() + self.large.release()


class Heap:
    """The system's memory, which gives and takes back each block as it is: nothing is reserved."""

    def __init__(self) -> None:
        self.allocated_bytes = self.peak_reserved_bytes = 0

    @property
    def reserved_bytes(self) -> int:
        return self.allocated_bytes

    def allocate(self, size_bytes: int) -> Block:
        self.allocated_bytes += size_bytes
        self.peak_reserved_bytes = max(self.peak_reserved_bytes, self.allocated_bytes)
        return 0, size_bytes

    def free(self, block: Block) -> None:
        self.allocated_bytes -= block[1]

    def empty_cache(self) -> None:
        """There is none."""


class Replay:
    """A stream on its way through an allocator."""

    def __init__(self, allocator: Allocator | Heap, sizes_bytes: Sequence[int]) -> None:
        self.allocator = allocator
        self.sizes_bytes = sizes_bytes
        self.live: dict[int, Block] = {}
        self.allocated_bytes = 0  # the peak
        self.event = 0
        self.out_of_memory: int | None = None

    def stretch(self, events: Sequence[int], first: int, last: int) -> Stretch:
        """Replay some of the events, as far as the device has room."""
        before = self.allocator.allocated_bytes
        self.allocator.peak_reserved_bytes = self.allocator.reserved_bytes
        highest, index = self.highest(events, first, last)
        if highest > self.allocated_bytes:
            self.allocated_bytes, self.event = highest, index
        return Stretch(first, max(before, highest), self.allocator.peak_reserved_bytes)

    def highest(self, events: Sequence[int], first: int, last: int) -> tuple[int, int]:
        """The peak that allocations of a stretch bring, and the event that brings it."""
        allocator, sizes, live = self.allocator, self.sizes_bytes, self.live
        allocate, free, pop = allocator.allocate, allocator.free, live.pop
        highest, index = 0, first
        position = first
        try:
            for position in range(first, last):
                event = events[position]
                block = pop(event, None)
                if block is not None:
                    free(block)
                elif event == EMPTY_CACHE:
                    allocator.empty_cache()
                else:
                    live[event] = allocate(sizes[event])
                    if allocator.allocated_bytes > highest:
                        highest, index = allocator.allocated_bytes, position
        except OutOfMemory:
            self.out_of_memory = position
        return highest, index


def replay(
    events: Sequence[int],
    sizes_bytes: Sequence[int],
    allocator: Allocator | Heap,
    marks: Iterable[int] = (),
) -> Peaks:
    """Replay events: an index into ``sizes_bytes`` is allocated when first met, and freed when met again.

    ``marks`` are positions among the events, between which peaks are wanted.
    """
    run = Replay(allocator, sizes_bytes)
    stretches: list[Stretch] = []
    for first, last in pairwise(sorted({0, len(events), *marks})):
        stretches.append(run.stretch(events, first, last))
        if run.out_of_memory is not None:
            break
    return Peaks(
        allocated_bytes=run.allocated_bytes,
        reserved_bytes=max((stretch.reserved_bytes for stretch in stretches), default=0),
        event=run.event,
        out_of_memory=run.out_of_memory,
        stretches=tuple(stretches),
    )
