"""Where one report ends and the next begins, in files and streams of any size.

Reports stand one a line, or indented and one behind the other. Both begin with a brace at the start of a
line, and within an indented one no other brace stands there; so a cut or corrupt report loses no other.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import msgspec

LIMIT_BYTES = 16 << 20  # of one report; those of real machines take 0.1 MiB
_START = b"\n{"
_JSON = json.JSONDecoder()


class Piece(NamedTuple):
    """What stands between two starts: a report and what may follow it."""

    data: bytes
    is_too_large: bool = False  # more than LIMIT_BYTES, which were not kept


def pieces(chunks: Iterable[bytes]) -> Iterator[Piece]:
    """The pieces of a stream in their order; no more than one of them and one chunk is held."""
    pending, too_large = b"", False
    for chunk in chunks:
        searched = max(len(pending) - 1, 0)
        pending += chunk
        start = 0
        while (end := pending.find(_START, max(start, searched))) >= 0:
            yield Piece(b"" if too_large else pending[start:end], too_large)
            start, too_large = end + 1, False
        pending = pending[start:]
        if too_large or len(pending) > LIMIT_BYTES:
            pending, too_large = pending[-1:], True
    if pending.strip() or too_large:
        yield Piece(b"" if too_large else pending, too_large)


def is_one(data: bytes) -> bool:
    """Is it one JSON object and nothing else?"""
    try:
        msgspec.json.decode(data, type=msgspec.Raw)
    except (ValueError, RecursionError):
        return False
    return data[:1] == b"{"


def objects_in(data: bytes) -> Iterator[bytes]:
    """The JSON objects of a piece that is not one as a whole: several on a line, or words around one."""
    text = data.decode("utf-8", "replace")
    at = text.find("{")
    while at >= 0:
        try:
            _, end = _JSON.raw_decode(text, at)
        except (ValueError, RecursionError):
            return
        yield text[at:end].encode("utf-8", "replace")
        at = text.find("{", end)
