"""The allocator once more, as slow and plain as its rules: lists of blocks that are searched from end to end.

Written from c10/cuda/CUDACachingAllocator.cpp, whose names it keeps, and apart from ``doctor.memory.pools``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

MIB = 2**20
State = Literal["used", "free", "unmapped"]


@dataclass(eq=False)
class Block:
    size: int
    state: State


class PlainAllocator:
    """Each segment is a list of blocks, by address; and so are the segments."""

    def __init__(self, *, expandable: bool) -> None:
        self.expandable = expandable
        self.pools: dict[bool, list[list[Block]]] = {True: [], False: []}
        if expandable:
            self.pools = {small: [[Block(2**50, "unmapped")]] for small in (True, False)}

    def malloc(self, requested: int) -> Block | None:
        if requested == 0:
            return None
        size = max(512, (requested + 511) // 512 * 512)
        small = size <= MIB
        found = self.get_free_block(small, size)
        if found is None:
            self.alloc_block(small, size)
            found = self.get_free_block(small, size)
        assert found is not None
        segment, block = found
        remaining = block.size - size
        if remaining >= 512 if small or self.expandable else remaining > MIB:
            segment.insert(segment.index(block) + 1, Block(remaining, "free"))
            block.size = size
        block.state = "used"
        return block

    def get_free_block(self, small: bool, size: int) -> tuple[list[Block], Block] | None:
        fitting = [
            (segment, block)
            for segment in self.pools[small]
            for block in segment
            if block.state == "free" and block.size >= size
        ]
        fitting.sort(key=lambda pair: pair[1].size)  # stable: the lowest address first
        if not fitting:
            return None
        place = 0
        if self.expandable:
            while place + 1 < len(fitting) and room(*fitting[place + 1]) < room(*fitting[place]):
                place += 1
        return fitting[place]

    def alloc_block(self, small: bool, size: int) -> None:
        if not self.expandable:
            step = 2 * MIB
            taken = step if small else 20 * MIB if size < 10 * MIB else (size + step - 1) // step * step
            self.pools[small].append([Block(taken, "free")])
            return
        (segment,) = self.pools[small]
        for place, first in enumerate(segment):
            if first.state == "unmapped":
                start = place - 1 if place and segment[place - 1].state == "free" else place
                if free_room(segment[start:]) >= size:
                    self.map_from(segment, start, size, 2 * MIB if small else 20 * MIB)
                    return

    def map_from(self, segment: list[Block], start: int, size: int, page: int) -> None:
        have = 0
        for block in segment[start:]:
            if have >= size:
                break
            if block.state == "unmapped":
                mapped = min(block.size, (size - have + page - 1) // page * page)
                if block.size > mapped:
                    segment.insert(segment.index(block) + 1, Block(block.size - mapped, "unmapped"))
                block.size, block.state = mapped, "free"
            have += block.size
        merge(segment)

    def free(self, block: Block | None) -> None:
        if block is not None:
            block.state = "free"
            for segments in self.pools.values():
                for segment in segments:
                    merge(segment)

    def empty_cache(self) -> None:
        for small, segments in self.pools.items():
            if not self.expandable:
                self.pools[small] = [one for one in segments if [block.state for block in one] != ["free"]]
                continue
            self.pools[small] = [self.unmapped(segments[0], 2 * MIB if small else 20 * MIB)]

    def unmapped(self, segment: list[Block], page: int) -> list[Block]:
        found: list[Block] = []
        address = 0
        for block in segment:
            first, last = -(-address // page) * page, (address + block.size) // page * page
            if block.state == "free" and first < last:
                found += [
                    Block(first - address, "free"),
                    Block(last - first, "unmapped"),
                    Block(address + block.size - last, "free"),
                ]
            else:
                found.append(block)
            address += block.size
        found = [block for block in found if block.size]
        merge(found)
        return found

    def bytes_of(self, *states: State) -> int:
        blocks = [block for segments in self.pools.values() for segment in segments for block in segment]
        return sum(block.size for block in blocks if block.state in states)


def room(segment: list[Block], block: Block) -> int:
    """What a free block could grow to."""
    after = segment[segment.index(block) + 1 :][:1]
    return block.size + (after[0].size if after and after[0].state == "unmapped" else 0)


def free_room(blocks: list[Block]) -> int:
    total = 0
    for block in blocks:
        if block.state == "used":
            break
        total += block.size
    return total


def merge(segment: list[Block]) -> None:
    """Neighbours of one state that nobody uses become one block."""
    place = 0
    while place + 1 < len(segment):
        here, after = segment[place], segment[place + 1]
        if here.state == after.state != "used":
            here.size += after.size
            del segment[place + 1]
        else:
            place += 1
