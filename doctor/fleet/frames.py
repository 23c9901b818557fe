"""A node's line cut into short lines that come whole through every launcher, and put together again.

Launchers read what a process prints in pieces and mix the pieces of many: srun cuts a line at 1 KiB,
Open MPI reads 4095 bytes of a pseudo-terminal wherever they end, others put a name in front. A frame is
a line of exactly :data:`FRAME_BYTES` with a checksum: a few of them fit into every such piece, and one
that came damaged is known for it.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
import zlib
from collections.abc import Mapping

MARK = "lora-doctor-part:"
FRAME_BYTES = 512  # with its line break
AT_ONCE = 7  # frames that may be written without a pause: fewer bytes than any launcher reads at once
MOST_FRAMES = 1 << 16
MOST_BYTES = 64 << 20  # of one line put together: a lying node must not fill the memory
NAME_KEPT = 64  # characters of a node's name in a frame; the whole name stands in the line itself
PAD = "~"  # no character of base64

_FRAME = re.compile(
    re.escape(MARK) + r"([\w.-]{1,64}):([0-9a-f]{16}):([0-9a-f]{8}):(\d{1,5})/(\d{1,5}):([\w+/=]*)~*",
    re.ASCII,
)


def cut(line: str, node: str) -> list[str]:
    """The frames of a node's line, each with its line break, to be written one by one."""
    data = zlib.compress(line.encode("utf-8"), 9)
    identity = hashlib.sha256(data).hexdigest()[:16]
    text = base64.b64encode(data).decode("ascii")
    head = f"{MARK}{short_name(node)}:{identity}:"
    room = FRAME_BYTES - 1 - len(head) - len("01234567:65536/65536:")
    pieces = [text[at : at + room] for at in range(0, len(text), room)]
    bodies = (f"{index}/{len(pieces)}:{piece}" for index, piece in enumerate(pieces, 1))
    return [f"{head}{checksum(body)}:{body}".ljust(FRAME_BYTES - 1, PAD) + "\n" for body in bodies]


def short_name(node: str) -> str:
    """A node's name in letters that stand in a frame, cut where it is long."""
    return re.sub(r"[^\w.-]", "_", node, flags=re.ASCII)[:NAME_KEPT] or "_"


def checksum(body: str) -> str:
    """CRC-32 in eight hexadecimal digits."""
    return f"{zlib.crc32(body.encode('ascii', 'replace')):08x}"


class Joiner:
    """Puts the frames of many nodes together, in whatever order and with whatever in front they come."""

    def __init__(self) -> None:
        self._parts: dict[tuple[str, str], dict[int, str]] = {}
        self._counts: dict[tuple[str, str], int] = {}
        self._done: set[tuple[str, str]] = set()
        self._damaged: dict[str, str] = {}

    def feed(self, line: str) -> str | None:
        """A node's whole line, once the last of its frames has come; None for every other line."""
        found = _FRAME.search(line)
        if found is None:
            return None
        node, identity, check, index, count, piece = found.groups()
        key, number, total = (node, identity), int(index), int(count)
        if checksum(f"{index}/{count}:{piece}") != check or key in self._done:
            return None
        if not 1 <= number <= total <= MOST_FRAMES or self._counts.setdefault(key, total) != total:
            return None
        parts = self._parts.setdefault(key, {})
        parts[number] = piece
        return self._whole(key) if len(parts) == total else None

    def _whole(self, key: tuple[str, str]) -> str | None:
        parts = self._parts.pop(key)
        self._counts.pop(key)
        self._done.add(key)  # it may come twice
        text = _told("".join(parts[index] for index in sorted(parts)), key[1])
        if text is None:
            self._damaged[key[0]] = "its answer arrived damaged"
        return text

    def incomplete(self) -> Mapping[str, str]:
        """Nodes whose line never came whole, with what came of it."""
        begun = {
            node: f"{len(parts)} of {self._counts[node, identity]} parts of its answer came"
            for (node, identity), parts in self._parts.items()
        }
        return {**begun, **self._damaged}


def _told(text: str, identity: str) -> str | None:
    """What was cut, None where it is not what its frames say it is."""
    try:
        data = base64.b64decode(text, validate=True)
        if hashlib.sha256(data).hexdigest()[:16] != identity:
            return None
        reader = zlib.decompressobj()
        line = reader.decompress(data, MOST_BYTES)
        return None if reader.unconsumed_tail else line.decode("utf-8")
    except (binascii.Error, zlib.error, ValueError):
        return None
