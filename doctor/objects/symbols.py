"""Symbols of ELF files: what one asks of a library, and what another offers."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import IO, NamedTuple

from doctor.objects import ObjectUnreadable
from doctor.objects.elf import RUBBISH, Image, Tags, image_of, tags_of, versions_needed

WEAK = 2  # STB_WEAK: may be absent
SYMBOLS, NAME_BYTES = 1 << 20, 1 << 27


class Symbol(NamedTuple):
    """One entry of the dynamic symbol table."""

    name: str
    version: int  # its index into the versions of the file; 0 and 1 stand for none
    is_defined: bool
    is_weak: bool


class Symbols:
    """The dynamic symbol table of a file of 64 bits. Raises :class:`ObjectUnreadable` where it is damaged."""

    def __init__(self, file: IO[bytes], size: int) -> None:
        try:
            image = image_of(file, size)
            if image.structs.elfclass != 64:
                raise ObjectUnreadable("has symbols of 32 bits")
            tags = tags_of(image)
            self._all = list(_symbols(image, tags))
            self._libraries = _libraries(image, tags)
        except RUBBISH as error:
            raise ObjectUnreadable("has a damaged symbol table") from error

    def offered(self) -> set[str]:
        """Names that it defines."""
        return {one.name for one in self._all if one.is_defined}

    def asked(self, library: str) -> set[str]:
        """Names that it needs in a version of a library."""
        return {one.name for one in self._needed() if self._libraries.get(one.version) == library}

    def asked_of_any(self) -> set[str]:
        """Names that it needs, of whatever library and in no version."""
        return {one.name for one in self._needed() if one.version not in self._libraries}

    def _needed(self) -> Iterator[Symbol]:
        return (one for one in self._all if not one.is_defined and not one.is_weak and one.name)


def _symbols(image: Image, tags: Tags) -> Iterator[Symbol]:
    order = "<" if image.structs.little_endian else ">"
    count = min(_count(image, tags, order), SYMBOLS)
    entry = struct.Struct(order + "IBBHQQ")
    table = image.read(image.offset(tags["DT_SYMTAB"][-1]), count * entry.size)
    names = image.read(image.offset(tags["DT_STRTAB"][-1]), min(tags["DT_STRSZ"][-1], NAME_BYTES))
    versions: tuple[int, ...] = (0,) * count
    if "DT_VERSYM" in tags:
        versions = struct.unpack(
            f"{order}{count}H", image.read(image.offset(tags["DT_VERSYM"][-1]), 2 * count)
        )
    for (name, info, _, section, _, _), version in zip(entry.iter_unpack(table), versions, strict=True):
        text = names[name : names.find(b"\0", name)].decode("utf-8", "surrogateescape")
        yield Symbol(text, version & 0x7FFF, bool(section), info >> 4 == WEAK)


def _count(image: Image, tags: Tags, order: str) -> int:
    """How many symbols there are, which the hash tables alone tell."""

    def words(at: int, count: int) -> tuple[int, ...]:
        return struct.unpack(f"{order}{count}I", image.read(at, 4 * count))

    if "DT_HASH" in tags:
        return words(image.offset(tags["DT_HASH"][-1]), 2)[1]
    start = image.offset(tags["DT_GNU_HASH"][-1])
    buckets, first, bloom, _ = words(start, 4)
    buckets_at = start + 16 + bloom * 8
    last = max(words(buckets_at, min(buckets, SYMBOLS)))
    if last < first:  # it defines none
        return first
    chains_at = buckets_at + 4 * buckets
    for index in range(last, last + SYMBOLS):
        if words(chains_at + 4 * (index - first), 1)[0] & 1:  # the end of the last chain
            return index + 1
    raise ObjectUnreadable("has a damaged symbol table")


def _libraries(image: Image, tags: Tags) -> dict[int, str]:
    """By index of a version, the library that has to offer it."""
    return {entry["vna_other"] & 0x7FFF: library for library, _, entry in versions_needed(image, tags)}
