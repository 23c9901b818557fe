"""What c10::cuda::CUDACachingAllocator does with memory: blocks of segments in two pools.

The rules are those of c10/cuda/CUDACachingAllocator.cpp (pytorch at eb42ad6 and 001074d), for one stream and
default settings:

- ``round_size``: sizes are multiples of 512 bytes. Up to 1 MiB they live in the small pool.
- ``get_free_block``: the smallest free block that is large enough, of equals the one with the lowest address.
- ``should_split``: what is left over stays free if it has 512 bytes, in the large pool more than 1 MiB. Else
  the block is given as it is, and counts as allocated with all its bytes. Expandable: 512 bytes in both.
- ``try_merge_blocks``: a freed block joins its free neighbours of the same segment.
- ``get_allocation_size``: a new segment has 2 MiB in the small pool, in the large one 20 MiB for less than
  10 MiB, else the size rounded up to 2 MiB. It goes back if it is wholly free: by empty_cache, or when the
  device is full.
- ``find_expandable_block``: an expandable segment is one range of addresses a pool, mapped in pages of 2 MiB
  (small) and 20 MiB (large), at the lowest address where a free block and unmapped pages beside it suffice.
  ``get_free_block`` spares a block that can still grow for one that is larger but cannot. ``unmap_block``:
  empty_cache gives back the pages that lie wholly within a free block.

One thing is assumed: cudaMalloc gives ascending addresses, which decides between free blocks of equal size.
"""

from __future__ import annotations

from bisect import bisect_left, insort

MIB = 2**20
ROUNDING_BYTES = 512  # kMinBlockSize
SMALL_BYTES = MIB  # kSmallSize
SMALL_SEGMENT_BYTES = 2 * MIB  # kSmallBuffer, and a page of the small pool's expandable segment
LARGE_SEGMENT_BYTES = 20 * MIB  # kLargeBuffer, and a page of the large pool's
LEAST_LARGE_BYTES = 10 * MIB  # kMinLargeAlloc
SEGMENT_ROUNDING_BYTES = 2 * MIB  # kRoundLarge
EMPTY_CACHE = -1  # among the events of a stream: torch.cuda.empty_cache()

# A free block in a sorted list is one integer, its size above its address.
ADDRESS_BITS = 48
ADDRESS = (1 << ADDRESS_BITS) - 1
# The large pool begins here, so that an address tells its pool.
LARGE_BASE = 1 << 46

Block = tuple[int, int]  # the addresses where it begins and ends


class OutOfMemory(Exception):
    """The device has no room for an allocation, not even after the cache was given back."""


def rounded(size_bytes: int) -> int:
    """The bytes that a request takes at least."""
    return max(ROUNDING_BYTES, -(-size_bytes // ROUNDING_BYTES) * ROUNDING_BYTES)


def segment_bytes(size_bytes: int) -> int:
    """What a request of a rounded size asks cudaMalloc for."""
    if size_bytes <= SMALL_BYTES:
        return SMALL_SEGMENT_BYTES
    if size_bytes < LEAST_LARGE_BYTES:
        return LARGE_SEGMENT_BYTES
    return -(-size_bytes // SEGMENT_ROUNDING_BYTES) * SEGMENT_ROUNDING_BYTES


class Pool:
    """The free blocks of one pool; an allocated block is known by its two addresses alone."""

    def __init__(self, base: int, least_rest_bytes: int) -> None:
        self.base = base
        self.least_rest_bytes = (
            least_rest_bytes  # what is left over of a block must have this much to stay free
        )
        self.blocks: list[int] = []  # free ones, by size and then address
        self.ends: dict[int, int] = {}  # of a free block by its start
        self.starts: dict[int, int] = {}  # of a free block by its end

    def take(self, size: int) -> Block | None:
        """The best free block, cut to size if the rest may stay free; None where none is large enough."""
        blocks = self.blocks
        place = self.choice(size)
        if place == len(blocks):
            return None
        start = blocks.pop(place) & ADDRESS
        end = self.ends.pop(start)
        if end - start - size >= self.least_rest_bytes:
            cut = start + size
            self.ends[cut] = end
            self.starts[end] = cut
            insort(blocks, (end - cut) << ADDRESS_BITS | cut)
            return start, cut
        del self.starts[end]
        return start, end

    def choice(self, size: int) -> int:
        """The place in ``blocks`` of the block to take for a size, their number where none fits."""
        return bisect_left(self.blocks, size << ADDRESS_BITS)

    def give(self, start: int, end: int) -> None:
        """A block becomes free, and one with its free neighbours."""
        after = self.ends.pop(end, None)
        if after is not None:
            self.forget(end, after)
            end = after
        before = self.starts.pop(start, None)
        if before is not None:
            self.forget(before, start)
            start = before
        self.ends[start] = end
        self.starts[end] = start
        insort(self.blocks, (end - start) << ADDRESS_BITS | start)

    def forget(self, start: int, end: int) -> None:
        """A free block is no longer in the list."""
        blocks = self.blocks
        del blocks[bisect_left(blocks, (end - start) << ADDRESS_BITS | start)]

    def remove(self, start: int, end: int) -> None:
        """A free block leaves the pool."""
        self.forget(start, end)
        del self.ends[start], self.starts[end]

    def grow(self, size: int, room: float) -> int:
        """Make room for a size; return the bytes that the device gives, 0 if they are above ``room``."""
        raise NotImplementedError

    def release(self) -> int:
        """Give back to the device what can be; return its bytes."""
        raise NotImplementedError


class NativePool(Pool):
    """Segments are taken by cudaMalloc one by one; a gap between two of them keeps their blocks apart."""

    def __init__(self, base: int, least_rest_bytes: int) -> None:
        super().__init__(base, least_rest_bytes)
        self.segments: dict[int, int] = {}  # end of each by its start
        self.next = base

    def grow(self, size: int, room: float) -> int:
        taken = segment_bytes(size)
        if taken > room:
            return 0
        start = self.next
        self.next = start + taken + SEGMENT_ROUNDING_BYTES
        self.segments[start] = start + taken
        self.give(start, start + taken)
        return taken

    def release(self) -> int:
        whole = [(start, end) for start, end in self.segments.items() if self.ends.get(start) == end]
        for start, end in whole:
            self.remove(start, end)
            del self.segments[start]
        return sum(end - start for start, end in whole)


class ExpandablePool(Pool):
    """One range of addresses without an end, of which pages are mapped as they are needed."""

    def __init__(self, base: int, page_bytes: int) -> None:
        super().__init__(base, ROUNDING_BYTES)
        self.page_bytes = page_bytes
        self.top = base  # nothing is mapped from here on
        self.holes: dict[int, int] = {}  # unmapped pages below it: end by start

    def choice(self, size: int) -> int:
        place = bisect_left(self.blocks, size << ADDRESS_BITS)
        # By what they can grow to the blocks below unmapped pages are larger than they look.
        while place + 1 < len(self.blocks) and self.extent(place + 1) < self.extent(place):
            place += 1
        return place

    def extent(self, place: int) -> float:
        """What a free block can grow to, without end for the last one."""
        block = self.blocks[place]
        end = (block & ADDRESS) + (block >> ADDRESS_BITS)
        return (block >> ADDRESS_BITS) + self.unmapped(end)

    def unmapped(self, address: int) -> float:
        """The bytes that are not mapped from an address on."""
        if address == self.top:
            return float("inf")
        return self.holes.get(address, address) - address

    def grow(self, size: int, room: float) -> int:
        pages = next(
            filter(None, (self.pages_from(start, size) for start in [*sorted(self.holes), self.top]))
        )
        taken = sum(pages.values())
        if taken > room:
            return 0
        for start, mapped in pages.items():
            self.map(start, mapped)
        return taken

    def pages_from(self, start: int, size: int) -> dict[int, int]:
        """What to map for a size, from the free block before an unmapped page on; empty if it fails."""
        at = begin = self.starts.get(start, start)
        pages: dict[int, int] = {}
        while at - begin < size:
            unmapped = self.unmapped(at)
            if unmapped:
                missing = -(-(size - (at - begin)) // self.page_bytes) * self.page_bytes
                pages[at] = int(min(missing, unmapped))
                at += pages[at]
            elif at in self.ends:
                at = self.ends[at]
            else:
                return {}
        return pages

    def map(self, start: int, taken: int) -> None:
        """Unmapped pages become free ones."""
        if start == self.top:
            self.top += taken
        else:
            end = self.holes.pop(start)
            if start + taken < end:
                self.holes[start + taken] = end
        self.give(start, start + taken)

    def release(self) -> int:
        return sum(self.unmap(start, end) for start, end in list(self.ends.items()))

    def unmap(self, start: int, end: int) -> int:
        """Give back the pages that lie wholly within a free block."""
        first = self.base + -(-(start - self.base) // self.page_bytes) * self.page_bytes
        last = self.base + (end - self.base) // self.page_bytes * self.page_bytes
        if first >= last:
            return 0
        self.remove(start, end)
        for rest_start, rest_end in ((start, first), (last, end)):
            if rest_start < rest_end:
                self.give(rest_start, rest_end)
        self.leave(first, last)
        return last - first

    def leave(self, first: int, last: int) -> None:
        """Unmapped pages join the holes beside them, or the room above."""
        before = next((start for start, end in self.holes.items() if end == first), first)
        self.holes.pop(before, None)
        last = self.holes.pop(last, last)
        if last == self.top:
            self.top = before
        else:
            self.holes[before] = last
