"""The smallest ELF files that a loader would read: for machines that are not there, and for mutation."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence

HEADER, PROGRAM_HEADER, SECTION_HEADER = 64, 56, 64
X86_64, AARCH64 = 62, 183
NEEDED, STRTAB, STRSZ, SONAME, RPATH, RUNPATH = 1, 5, 10, 14, 15, 29
VERSYM, VERDEF, VERDEFNUM, VERNEED, VERNEEDNUM = 0x6FFFFFF0, 0x6FFFFFFC, 0x6FFFFFFD, 0x6FFFFFFE, 0x6FFFFFFF


class Strings:
    """A string table that grows as it is asked."""

    def __init__(self) -> None:
        self.data = bytearray(b"\0")

    def at(self, text: str) -> int:
        """Where a text stands in it."""
        self.data += text.encode("utf-8", "surrogateescape") + b"\0"
        return len(self.data) - len(text.encode("utf-8", "surrogateescape")) - 1


def elf(
    *,
    needed: Sequence[str] = (),
    soname: str = "",
    rpath: str = "",
    runpath: str = "",
    needs: Mapping[str, Sequence[str]] | None = None,
    defines: Sequence[str] = (),
    machine: int = X86_64,
    fatbin: bytes = b"",
    interpreter: str = "",
) -> bytes:
    """A shared object of 64 bits whose addresses are its offsets."""
    strings = Strings()
    tags = [(NEEDED, strings.at(name)) for name in needed]
    for tag, text in ((SONAME, soname), (RPATH, rpath), (RUNPATH, runpath)):
        if text:
            tags.append((tag, strings.at(text)))
    needed_versions, defined = _version_needs(needs or {}, strings), _version_definitions(defines, strings)
    count = 3 if interpreter else 2
    at = HEADER + count * PROGRAM_HEADER
    tables = {VERNEED: needed_versions, VERDEF: defined, STRTAB: bytes(strings.data)}
    body = bytearray()
    for tag, table in tables.items():
        if table:
            tags.append((tag, at + len(body)))
            body += table + bytes(-len(table) % 8)
    counts = {VERNEEDNUM: len(needs or {}), VERDEFNUM: len(defines), STRSZ: len(strings.data)}
    tags += [(tag, count) for tag, count in counts.items() if count]
    if needed_versions or defined:
        tags.append((VERSYM, at))
    dynamic = b"".join(struct.pack("<QQ", *tag) for tag in (*tags, (0, 0)))
    dynamic_at = at + len(body)
    body += dynamic
    named_at, named = at + len(body), interpreter.encode() + b"\0"
    body += named + bytes(-len(named) % 8)
    sections_at, sections = _sections(at + len(body), body, fatbin)
    size = at + len(body)
    load = struct.pack("<IIQQQQQQ", 1, 5, 0, 0, 0, size, size, 4096)
    placed = (dynamic_at, dynamic_at, dynamic_at, len(dynamic), len(dynamic), 8)
    segments = load + struct.pack("<IIQQQQQQ", 2, 6, *placed)
    if interpreter:
        segments += struct.pack("<IIQQQQQQ", 3, 4, named_at, named_at, named_at, len(named), len(named), 1)
    counted = (HEADER, PROGRAM_HEADER, count, SECTION_HEADER, sections and 3, sections and 2)
    places = (0, HEADER, sections_at, 0)
    header = struct.pack("<16sHHIQQQIHHHHHH", IDENTITY, 3, machine, 1, *places, *counted)
    return header + segments + bytes(body)


IDENTITY = b"\x7fELF\x02\x01\x01" + bytes(9)


def _version_needs(needs: Mapping[str, Sequence[str]], strings: Strings) -> bytes:
    made = b""
    for index, (library, versions) in enumerate(needs.items()):
        following = 16 + 16 * len(versions) if index + 1 < len(needs) else 0
        made += struct.pack("<HHIII", 1, len(versions), strings.at(library), 16, following)
        for number, version in enumerate(versions):
            step = 16 if number + 1 < len(versions) else 0
            made += struct.pack("<IHHII", 0, 0, number + 2, strings.at(version), step)
    return made


def _version_definitions(defines: Sequence[str], strings: Strings) -> bytes:
    made = b""
    for index, version in enumerate(defines):
        following = 28 if index + 1 < len(defines) else 0
        made += struct.pack("<HHHHIII", 1, 0, index + 1, 1, 0, 20, following)
        made += struct.pack("<II", strings.at(version), 0)
    return made


def _sections(at: int, body: bytearray, fatbin: bytes) -> tuple[int, int]:
    """Put GPU code and a section table behind a body; where the table begins, and whether there is one."""
    if not fatbin:
        return 0, 0
    names = b"\0.nv_fatbin\0.shstrtab\0"
    code_at = at
    body += fatbin + bytes(-len(fatbin) % 8)
    names_at = code_at + len(fatbin) + -len(fatbin) % 8
    body += names + bytes(-len(names) % 8)
    table_at = names_at + len(names) + -len(names) % 8
    body += bytes(SECTION_HEADER)
    body += struct.pack("<IIQQQQIIQQ", 1, 1, 2, code_at, code_at, len(fatbin), 0, 0, 8, 0)
    body += struct.pack("<IIQQQQIIQQ", 12, 3, 0, 0, names_at, len(names), 0, 0, 1, 0)
    return table_at, 1


def fat_binary(*codes: str) -> bytes:
    """GPU code as nvcc packs it, without any code: "sm_80", "compute_90"."""
    entries = b""
    for code in codes:
        kind = 1 if code.startswith("compute_") else 2
        number = int(code.rpartition("_")[2])
        entries += struct.pack("<HHIQIIHHI32x", kind, 0x101, 64, 8, 0, 0, 0, 0, number) + bytes(8)
    return struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(entries)) + entries
