"""ELF files as the loader of Linux reads them: by their segments alone, since sections may be stripped.

Layout: the System V ABI, and the LSB for symbol versions. Every count in a file may be garbage, so each loop
and each string has a limit.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from functools import cache
from typing import IO, Any, NamedTuple

from elftools.common.exceptions import ELFError
from elftools.common.utils import struct_parse
from elftools.elf.structs import ELFStructs

from doctor.objects import ObjectUnreadable, SharedObject

SEGMENTS, TAGS, VERSIONS = 128, 1024, 4096
STRING_BYTES = 1 << 16
HEADER_BYTES = {32: 52, 64: 64}
DF_1_NODEFLIB = 0x800
VER_FLG_WEAK = 0x2
MACHINES = {3: "i386", 21: "ppc64le", 22: "s390x", 40: "arm", 62: "x86_64", 183: "aarch64", 243: "riscv64"}
DAMAGED_HEADER = "has a damaged ELF header"
DAMAGED = "has a damaged dynamic section"
CUT_SHORT = "is cut short"

# What reading rubbish ends in.
RUBBISH = (ELFError, OSError, OverflowError, ValueError, KeyError, struct.error)

Tags = dict[str, list[int]]


def read_object(file: IO[bytes], size: int) -> SharedObject:
    """What a file of ``size`` bytes tells the loader. Raises :class:`ObjectUnreadable` for what is none."""
    try:
        bits, machine, _ = _identity(file, size)
    except OSError as error:
        raise ObjectUnreadable("cannot be read") from error
    try:
        told = _dynamic(image_of(file, size), size)
    except ObjectUnreadable as error:
        told = {"damage": str(error)}
    except RUBBISH:
        told = {"damage": DAMAGED}
    return SharedObject(machine=machine, bits=bits, **told)


def _identity(file: IO[bytes], size: int) -> tuple[int, str, bool]:
    """Bits (0 for rubbish), machine, and whether the file is little-endian: where any loader looks first."""
    if not size:
        raise ObjectUnreadable("is empty")
    file.seek(0)
    start = file.read(HEADER_BYTES[64])
    if start[:4] != b"\x7fELF":
        raise ObjectUnreadable("is no ELF file")
    bits = {1: 32, 2: 64}.get(start[4] if len(start) > 4 else 2, 0)
    if len(start) < HEADER_BYTES.get(bits, 64):
        raise ObjectUnreadable(CUT_SHORT)
    little_endian = start[5] != 2
    number = int.from_bytes(start[18:20], "little" if little_endian else "big")
    return bits, MACHINES.get(number, f"machine {number}"), little_endian


class Image(NamedTuple):
    """A file seen by the addresses that it will have in memory."""

    file: IO[bytes]
    structs: ELFStructs
    segments: list[Any]

    @property
    def loads(self) -> list[Any]:
        """The segments that are mapped."""
        return [one for one in self.segments if one["p_type"] == "PT_LOAD"]

    def segment(self, kind: str) -> Any | None:
        """The first segment of a kind."""
        return next((one for one in self.segments if one["p_type"] == kind), None)

    def offset(self, address: int) -> int:
        """Where in the file an address lies."""
        for one in self.loads:
            if one["p_vaddr"] <= address < one["p_vaddr"] + one["p_filesz"]:
                return int(address - one["p_vaddr"] + one["p_offset"])
        raise ObjectUnreadable(DAMAGED)

    def parse(self, kind: str, offset: int) -> Any:
        """One structure of ELF by its name in pyelftools: "Elf_Verneed"."""
        return struct_parse(getattr(self.structs, kind), self.file, offset)

    def read(self, offset: int, size: int) -> bytes:
        """Bytes of the file, fewer at its end."""
        self.file.seek(offset)
        return self.file.read(size)

    def string(self, offset: int) -> str:
        """The text that begins at an offset and ends with a zero byte."""
        text, end, _ = self.read(offset, STRING_BYTES).partition(b"\0")
        if not end:
            raise ObjectUnreadable(DAMAGED)
        return text.decode("utf-8", "surrogateescape")


def image_of(file: IO[bytes], size: int) -> Image:
    """The segments of a file. Raises :class:`ObjectUnreadable`, and what :data:`RUBBISH` names."""
    bits, _, little_endian = _identity(file, size)
    if not bits:
        raise ObjectUnreadable(DAMAGED_HEADER)
    structs = _structs(little_endian, bits)
    header = struct_parse(structs.Elf_Ehdr, file, 0)
    if header["e_type"] not in ("ET_DYN", "ET_EXEC"):
        raise ObjectUnreadable("is no shared object")
    image = Image(file, structs, _segments(file, size, structs, header))
    if not image.loads:
        raise ObjectUnreadable("has nothing to be mapped")
    return image


@cache
def _structs(little_endian: bool, bits: int) -> ELFStructs:
    structs = ELFStructs(little_endian, bits)
    structs.create_basic_structs()
    structs.create_advanced_structs()
    return structs


def _segments(file: IO[bytes], size: int, structs: ELFStructs, header: Any) -> list[Any]:
    count, each, start = header["e_phnum"], structs.Elf_Phdr.sizeof(), header["e_phoff"]
    if header["e_phentsize"] != each or count > SEGMENTS:
        raise ObjectUnreadable(DAMAGED_HEADER)
    if start + count * each > size:
        raise ObjectUnreadable(CUT_SHORT)
    return [struct_parse(structs.Elf_Phdr, file, start + index * each) for index in range(count)]


def tags_of(image: Image) -> Tags:
    """Values of the dynamic section by tag, in their order."""
    segment = image.segment("PT_DYNAMIC")
    if segment is None:
        raise ObjectUnreadable("has no dynamic section")
    each, found = image.structs.Elf_Dyn.sizeof(), Tags()
    for index in range(min(TAGS, segment["p_filesz"] // each)):
        entry = image.parse("Elf_Dyn", segment["p_offset"] + index * each)
        if entry["d_tag"] == "DT_NULL":
            return found
        found.setdefault(str(entry["d_tag"]), []).append(entry["d_val"])
    raise ObjectUnreadable(DAMAGED)


def versions_needed(image: Image, tags: Tags) -> Iterator[tuple[str, str, Any]]:
    """Library, version and entry of each version that a file asks for."""
    steps = iter(range(VERSIONS))  # of all libraries together
    for entry, at in _chain(image, tags, "DT_VERNEED", "Elf_Verneed", "vn"):
        library, auxiliary = _text(image, tags, entry["vn_file"]), at + entry["vn_aux"]
        for _ in zip(range(entry["vn_cnt"]), steps, strict=False):
            one = image.parse("Elf_Vernaux", auxiliary)
            yield library, _text(image, tags, one["vna_name"]), one
            if not one["vna_next"]:
                break
            auxiliary += one["vna_next"]


def _text(image: Image, tags: Tags, at: int) -> str:
    return image.string(image.offset(tags["DT_STRTAB"][-1]) + at)


def _dynamic(image: Image, size: int) -> dict[str, Any]:
    if any(one["p_offset"] + one["p_filesz"] > size for one in image.loads):
        raise ObjectUnreadable(CUT_SHORT)  # mapping succeeds; the first access beyond the end is SIGBUS
    tags = tags_of(image)
    if "DT_STRTAB" not in tags:  # zeros where a power cut left blocks unwritten; the loader dies of it
        raise ObjectUnreadable(DAMAGED)

    def texts(tag: str) -> list[str]:
        return [_text(image, tags, at) for at in tags.get(tag, ())]

    def folders(tag: str) -> tuple[str, ...]:
        # An empty part is the working folder.
        return tuple(folder or "." for text in texts(tag)[-1:] if text for folder in text.split(":"))

    interpreter = image.segment("PT_INTERP")
    return {
        "soname": "".join(texts("DT_SONAME")[-1:]),
        "needed": tuple(dict.fromkeys(texts("DT_NEEDED"))),
        "rpath": () if "DT_RUNPATH" in tags else folders("DT_RPATH"),
        "runpath": folders("DT_RUNPATH"),
        "has_runpath": "DT_RUNPATH" in tags,
        "needs": _needs(image, tags),
        "defines": _defines(image, tags),
        "has_versions": "DT_VERSYM" in tags,
        "no_default_folders": any(flags & DF_1_NODEFLIB for flags in tags.get("DT_FLAGS_1", ())),
        "interpreter": image.string(interpreter["p_offset"]) if interpreter else "",
    }


def _needs(image: Image, tags: Tags) -> dict[str, dict[str, bool]]:
    found: dict[str, dict[str, bool]] = {}
    for library, version, entry in versions_needed(image, tags):
        found.setdefault(library, {})[version] = bool(entry["vna_flags"] & VER_FLG_WEAK)
    return found


def _defines(image: Image, tags: Tags) -> tuple[str, ...]:
    chain = _chain(image, tags, "DT_VERDEF", "Elf_Verdef", "vd")
    first = [image.parse("Elf_Verdaux", at + entry["vd_aux"]) for entry, at in chain]
    return tuple(_text(image, tags, one["vda_name"]) for one in first)


def _chain(image: Image, tags: Tags, tag: str, kind: str, prefix: str) -> Iterator[tuple[Any, int]]:
    """Entries that each tell the distance to the next, with their offsets."""
    if tag not in tags:
        return
    at = image.offset(tags[tag][-1])
    for _ in range(VERSIONS):
        entry = image.parse(kind, at)
        yield entry, at
        if not entry[f"{prefix}_next"]:
            return
        at += entry[f"{prefix}_next"]
    raise ObjectUnreadable(DAMAGED)
