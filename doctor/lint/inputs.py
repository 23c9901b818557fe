"""The files of a run: folders looked through, bytes made text, includes opened where they are named."""

from __future__ import annotations

import os
import posixpath
import sys
from collections.abc import Iterator, Sequence
from functools import partial

from doctor.host import Host
from doctor.readers import Source, Unreadable
from doctor.readers.recognition import is_looked_at
from doctor.readers.text import LIMIT_BYTES, decode

STANDARD_INPUT = "-"
DEEPEST = 2  # folders below the one that is named
LEFT_OUT = ("node_modules", "site-packages", "build", "dist", "venv", "env", "__pycache__")


def open_source(host: Host, path: str) -> Source:
    """A file, or standard input, as a text. Raises :class:`Unreadable`."""
    if path == STANDARD_INPUT:
        return Source("standard input", decode(sys.stdin.buffer.read(LIMIT_BYTES + 1)), partial(read, host))
    return Source(path.replace(os.sep, "/"), read(host, path), partial(read, host))


def read(host: Host, path: str) -> str:
    """The text of a file. Raises :class:`Unreadable`."""
    try:
        return decode(host.read_bytes(path, LIMIT_BYTES + 1))
    except (OSError, ValueError) as error:
        raise Unreadable(f"it cannot be read: {getattr(error, 'strerror', None) or error}") from error


def expand(host: Host, paths: Sequence[str]) -> Iterator[str]:
    """The paths in their order, each folder replaced by the files in it that can be linted."""
    for path in paths:
        if path != STANDARD_INPUT and host.is_folder(path):
            yield from inside(host, path.rstrip("/") or "/", DEEPEST)
        else:
            yield path


def inside(host: Host, folder: str, depth: int) -> Iterator[str]:
    """The files of a folder and of those below it, hidden and installed ones left out."""
    for name in host.list_folder(folder):
        path = posixpath.join(folder, name)
        if host.is_folder(path):
            if depth and not name.startswith(".") and name not in LEFT_OUT and not host.is_link(path):
                yield from inside(host, path, depth - 1)
        elif is_looked_at(name):
            yield path
