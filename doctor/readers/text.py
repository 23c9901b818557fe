"""Bytes to text: byte-order marks, UTF-16 as PowerShell writes it, Windows line ends, and what is no text."""

from __future__ import annotations

import codecs

from doctor.readers import Unreadable

LIMIT_BYTES = 16 << 20  # the largest locks of real projects have a tenth of it

# UTF-32 first: its mark begins like that of UTF-16.
MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


def decode(data: bytes) -> str:
    r"""The text of a file with ``\n`` as its line end. Raises :class:`Unreadable` for what is no text."""
    if len(data) > LIMIT_BYTES:
        raise Unreadable(f"it is larger than {LIMIT_BYTES >> 20} MiB, which no list of requirements is")
    encoding = next((name for mark, name in MARKS if data.startswith(mark)), "") or without_mark(data)
    try:
        text = data.decode(encoding)
    except (UnicodeDecodeError, UnicodeError):
        text = data.decode("cp1252", "replace")  # comments of an editor on Windows
    if text.count("\0") or control_share(text) > 0.02:
        raise Unreadable("it is binary, not text")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def without_mark(data: bytes) -> str:
    """UTF-16 that lost its mark has a zero in every other byte of plain text; all else is UTF-8."""
    head = data[:200]
    if len(head) > 3 and head[1::2].count(0) > len(head) // 3:
        return "utf-16-le"
    return "utf-16-be" if len(head) > 3 and head[0::2].count(0) > len(head) // 3 else "utf-8"


def control_share(text: str) -> float:
    """How much of the beginning is no character that stands in a text."""
    head = text[:4096]
    odd = sum(character < " " and character not in "\t\n\r\f\v\x1b" for character in head)
    return (odd + head.count("\ufffd")) / max(1, len(head))
