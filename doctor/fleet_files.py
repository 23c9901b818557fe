"""The reports of a fleet as they lie about: files, folders, compressed ones, a stream of any length."""

from __future__ import annotations

import gzip
import os
import posixpath
import sys
import zlib
from collections.abc import Iterable, Iterator, Sequence
from typing import IO

from doctor.fleet.documents import LIMIT_BYTES, Piece, is_one, objects_in, pieces
from doctor.fleet.frames import MARK, Joiner
from doctor.fleet.hostlist import expand
from doctor.fleet.roll import Roll
from doctor.host import Host

STANDARD_INPUT = "-"
CHUNK_BYTES = 1 << 20
DEEPEST = 4  # folders below the one that is named
ENDINGS = (".json", ".jsonl", ".ndjson")
UTF_16 = (b"\xff\xfe", b"\xfe\xff")  # as PowerShell writes what is redirected
TOO_LARGE = f"its report is larger than {LIMIT_BYTES >> 20} MiB"
MOST_RUBBISH = 100  # parts of one file in a row; behind them the file is given up


def call_up(roll: Roll, host: Host, paths: Sequence[str]) -> None:
    """Enter every report of files, folders and standard input; what cannot be read is a row of its own."""
    files = []
    for path in dict.fromkeys(paths):
        meant = found(host, path)
        if not meant:
            roll.trouble("", path, "unreadable", "there is no report in this folder")
        files += meant
    for path, name in named(files).items():
        if path == STANDARD_INPUT:
            if sys.stdin is None:
                roll.trouble("", "standard input", "unreadable", "it is closed")
            else:
                enter(roll, chunks(sys.stdin.buffer), "standard input", "")
            continue
        try:
            with host.open_binary(path) as file:
                enter(roll, chunks(unpacked(file)), path, name)
        except (OSError, EOFError, ValueError, zlib.error) as error:
            why = getattr(error, "strerror", None) or str(error)
            roll.trouble(name, path, "unreadable", f"it cannot be read: {why}")


def found(host: Host, path: str) -> list[str]:
    """The files that are meant: of a folder the reports in it."""
    if path == STANDARD_INPUT or not host.is_folder(path):
        return [path]
    return list(inside(host, path.rstrip("/") or "/", DEEPEST))


def inside(host: Host, folder: str, depth: int) -> Iterator[str]:
    """The reports of a folder and of those below it, hidden ones left out."""
    for name in host.list_folder(folder):
        path = posixpath.join(folder, name)
        if name.startswith("."):
            continue
        if stem(name) != name:
            yield path
        elif depth and host.is_folder(path) and not host.is_link(path):
            yield from inside(host, path, depth - 1)


def stem(name: str) -> str:
    """The name of a file without what says that it is a report."""
    bare = name.removesuffix(".gz")
    return next((bare[: -len(ending)] for ending in ENDINGS if bare.endswith(ending)), name)


def named(paths: Sequence[str]) -> dict[str, str]:
    """Each file once, with the name of its node: as short as tells it from the others."""
    unique = list(dict.fromkeys(paths))
    parts = {path: stem(path.replace(os.sep, "/")).split("/") for path in unique}
    names, length = {path: own[-1] for path, own in parts.items()}, 1
    while len(set(names.values())) < len(names) and length < 8:
        length += 1
        counts: dict[str, int] = {}
        for name in names.values():
            counts[name] = counts.get(name, 0) + 1
        names = {
            path: "/".join(part for part in parts[path][-length:] if part) if counts[name] > 1 else name
            for path, name in names.items()
        }
    return names


def unpacked(file: IO[bytes]) -> IO[bytes]:
    """The file, unpacked where it begins as gzip does."""
    start = file.read(2)
    file.seek(0)
    return gzip.GzipFile(fileobj=file) if start == b"\x1f\x8b" else file  # type: ignore[return-value]


def chunks(file: IO[bytes]) -> Iterator[bytes]:
    """The bytes of a file, never all of a long one; UTF-16 and marks of byte order taken off."""
    start = file.read(CHUNK_BYTES)
    if start[:2] in UTF_16:
        yield (start + file.read(LIMIT_BYTES)).decode("utf-16", "replace").encode("utf-8", "replace")
        return
    yield start.removeprefix(b"\xef\xbb\xbf")
    while more := file.read(CHUNK_BYTES):
        yield more


def enter(roll: Roll, stream: Iterable[bytes], source: str, name: str) -> None:
    """Enter the reports of one file; those that do not say whose they are get numbers, from the second on."""
    entered = rubbish = faults = 0
    for piece in pieces(joined(roll, stream, source)):
        before = entered
        for data in objects_of(piece):
            called = f"{name}#{entered + 1}" if entered or not name else name
            fault = TOO_LARGE if data is None else fault_of(roll, data, source, called)
            if fault:
                faults += 1
                roll.trouble(name, source, "unreadable", fault)
            else:
                entered += 1
        rubbish = 0 if entered > before else rubbish + 1
        if rubbish == MOST_RUBBISH:
            why = f"{MOST_RUBBISH} parts in a row are no reports; the rest of it is not read"
            roll.trouble(name, source, "unreadable", why)
            return
    if not entered and not faults:
        roll.trouble(name, source, "unreadable", "there is no report in it")


def fault_of(roll: Roll, data: bytes, source: str, name: str) -> str:
    """Enter one JSON object; what is wrong with it, "" where it was entered."""
    try:
        roll.add(data, source, name)
    except ValueError as error:
        return str(error)
    return ""


def objects_of(piece: Piece) -> Iterable[bytes | None]:
    """The JSON objects of a piece, None for what is too large; nothing for mere words around reports."""
    if piece.is_too_large:
        return (None,)
    data = piece.data.strip()
    if is_one(data):
        return (data,)
    return list(objects_in(data)) or ((data,) if data[:1] in (b"{", b"[") else ())


def joined(roll: Roll, stream: Iterable[bytes], source: str) -> Iterator[bytes]:
    """The stream with the lines that launchers had to cut put together again."""
    joiner, mark, carried = Joiner(), MARK.encode(), b""
    for chunk in stream:
        data = carried + chunk
        cut = len(data) if len(data) > LIMIT_BYTES else data.rfind(b"\n") + 1
        whole, carried = data[:cut], data[cut:]
        yield from lines_joined(joiner, whole) if mark in whole else (whole,)
    yield from lines_joined(joiner, carried) if mark in carried else (carried,)
    for node, why in sorted(joiner.incomplete().items()):
        roll.trouble(node, source, "failed", why)


def lines_joined(joiner: Joiner, data: bytes) -> Iterator[bytes]:
    """Lines as they are, and in place of the last frame of a line the line."""
    for line in data.splitlines(keepends=True):
        if MARK.encode() not in line:
            yield line
        elif whole := joiner.feed(line.decode("utf-8", "replace")):
            yield b"\n" + whole.encode("utf-8", "replace") + b"\n"


def node_names(host: Host, text: str) -> tuple[str, ...]:
    """Names of a file, one a line as host files have them, or of an expression. Raises ValueError."""
    if not host.is_file(text):
        return expand(text)
    lines = (host.read_text(text) or "").splitlines()
    words = (line.split("#")[0].split() for line in lines)
    return expand(",".join(line[0] for line in words if line))
