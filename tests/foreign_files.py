"""The smallest native files of Windows and macOS."""

from __future__ import annotations

import struct
from collections.abc import Sequence

LOAD, WEAK, IDENTITY, RPATH = 0xC, 0x80000018, 0xD, 0x8000001C
ARM64, INTEL64 = 0x0100000C, 0x01000007
ADDRESS, FILE_OFFSET = 0x1000, 512


def dll(imports: Sequence[str], delayed: Sequence[str] = (), machine: int = 0x8664) -> bytes:
    """A DLL of 64 bits that imports."""
    symbols = ADDRESS + 20 * (len(imports) + 1) + 32 * (len(delayed) + 1)
    listed_symbols = struct.pack("<QQ", 1 << 63 | 1, 0)  # one, by its number
    at, names = symbols + len(listed_symbols), b""
    tables = [b"", b""]
    for index, listed in enumerate((imports, delayed)):
        for name in listed:
            place = at + len(names)
            plain, late = (symbols, 0, 0, place, symbols), (1, place, 0, symbols, symbols, 0, 0, 0)
            tables[index] += struct.pack("<8I", *late) if index else struct.pack("<5I", *plain)
            names += name.encode() + b"\0"
        tables[index] += bytes(32 if index else 20)
    content = (tables[0] + tables[1] + listed_symbols + names).ljust(1024, b"\0")
    folders = [(0, 0)] * 16
    folders[1] = (ADDRESS, len(tables[0]))
    folders[13] = (ADDRESS + len(tables[0]), len(tables[1]))
    optional = struct.pack("<HBB5I", 0x20B, 14, 0, 0, len(content), 0, 0, ADDRESS)
    optional += struct.pack("<QII6HIIIIHH", 0x180000000, 4096, 512, 6, 0, 0, 0, 6, 0, 0, 8192, 512, 0, 2, 0)
    optional += struct.pack("<4QII", 1 << 20, 4096, 1 << 20, 4096, 0, 16)
    optional += b"".join(struct.pack("<II", *one) for one in folders)
    coff = struct.pack("<HHIIIHH", machine, 1, 0, 0, 0, len(optional), 0x2022)
    size = len(content)
    section = struct.pack("<8sIIIIIIHHI", b".rdata", size, ADDRESS, size, FILE_OFFSET, 0, 0, 0, 0, 0x40000040)
    start = b"MZ".ljust(60, b"\0") + struct.pack("<I", 64)
    return (start + b"PE\0\0" + coff + optional + section).ljust(FILE_OFFSET, b"\0") + content


def dylib(
    identity: str = "",
    loads: Sequence[str] = (),
    weak: Sequence[str] = (),
    rpaths: Sequence[str] = (),
    processor: int = ARM64,
) -> bytes:
    """A library of macOS that loads others."""
    commands = [_command(LOAD, name) for name in loads] + [_command(WEAK, name) for name in weak]
    commands += [_command(IDENTITY, identity)] if identity else []
    commands += [_command(RPATH, folder) for folder in rpaths]
    body = b"".join(commands)
    return struct.pack("<8I", 0xFEEDFACF, processor, 0, 6, len(commands), len(body), 0, 0) + body


def _command(kind: int, text: str) -> bytes:
    named = text.encode() + b"\0"
    begins = 12 if kind == RPATH else 24
    size = begins + len(named) + -(begins + len(named)) % 8
    between = () if kind == RPATH else (0, 0x10000, 0x10000)
    packed = struct.pack(f"<{3 + len(between)}I", kind, size, begins, *between)
    return (packed + named).ljust(size, b"\0")
