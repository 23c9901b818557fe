"""GPU code inside ELF files: which architectures it was built for.

NVIDIA documents the header of a fat binary (fatbinary_section.h of the toolkit), not the entries after it.
Their layout here is what nvcc of CUDA 11.8 to 13 writes; the tests hold it against libraries whose
architectures are known.
"""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Iterator
from typing import IO, Any

from elftools.elf.elffile import ELFFile

from doctor.objects.elf import RUBBISH

SECTIONS = (".nv_fatbin", "__nv_relfatbin")
MAGIC = 0xBA55ED50
CONTAINER = struct.Struct("<IHHQ")  # magic, version, bytes of this header, bytes of all entries
ENTRY = struct.Struct("<HHIQ12xI")  # kind, version, bytes of this header, bytes of the code, architecture
PTX, ELF = 1, 2
STEPS = 200_000  # from header to header in one file; libtorch_cuda takes 3 300
SECTION_COUNT = 2000


def architectures(file: IO[bytes], size: int) -> tuple[str, ...]:
    """("sm_80", "sm_90", "compute_90"): what at least half of the fat binaries in a file hold code for.

    The rest is a kernel or two that was built for one GPU besides. Only headers are read. Empty without GPU
    code, and for what is no ELF file or is damaged before the first of it.
    """
    counts: Counter[tuple[int, int]] = Counter()
    containers = 0
    try:
        for held in _containers(file, size):
            containers += 1
            counts.update(held)
    except RUBBISH:
        pass  # a file that is cut short: what came before counts
    usual = sorted(one for one, count in counts.items() if 2 * count >= containers)
    codes = [f"sm_{number}" for kind, number in usual if kind == ELF]
    return (*codes, *(f"compute_{number}" for kind, number in usual if kind == PTX))


def _containers(file: IO[bytes], size: int) -> Iterator[set[tuple[int, int]]]:
    """Of each fat binary the kinds and architectures of its entries."""
    steps = iter(range(STEPS))
    for section in _sections(file):
        position, end = section["sh_offset"], min(section["sh_offset"] + section["sh_size"], size)
        while position < end and next(steps, None) is not None:
            magic, _, header, length = CONTAINER.unpack(_read(file, position, CONTAINER.size))
            if magic != MAGIC:
                position += 8  # room between two of them
                continue
            inside = position + header
            position = inside + length
            yield set(_entries(file, inside, position, steps))


def _entries(file: IO[bytes], position: int, end: int, steps: Iterator[int]) -> Iterator[tuple[int, int]]:
    while position < end and next(steps, None) is not None:
        kind, _, header, length, number = ENTRY.unpack(_read(file, position, ENTRY.size))
        if kind in (PTX, ELF) and 20 <= number < 1000:
            yield kind, number
        position += header + length


def _read(file: IO[bytes], position: int, size: int) -> bytes:
    file.seek(position)
    return file.read(size)


def _sections(file: IO[bytes]) -> list[Any]:
    elf = ELFFile(file)
    if elf.num_sections() > SECTION_COUNT:
        return []
    return [section for section in elf.iter_sections() if section.name in SECTIONS]
