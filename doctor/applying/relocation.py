"""Text that names an environment's folder, made to name another: scripts, RECORDs, .pth, activation.

The two names have the same length, so that sizes stay true and compiled code can be changed too.
"""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import os
import random
import re
import string
from collections.abc import Sequence
from pathlib import PurePath

from doctor.applying import files
from doctor.applying.files import Entry

READ_BYTES = 16 << 20  # of a new file: no installer writes a path into a larger one
TEXT_BYTES = 1 << 20  # of an old file outside site-packages
TRIES = 100
IN_METADATA = ("RECORD", "direct_url.json", "installed-files.txt", "SOURCES.txt")
ALPHABET = string.ascii_lowercase + string.digits

Change = tuple[str, str, int]  # hash before, hash after, size after


def twin_name(name: str, taken: Sequence[str]) -> str | None:
    """Another folder's name of the same length that no installer treats differently; None without one.

    What is no letter or digit stays: a space or a quote decides how a script names its interpreter.
    """
    for _ in range(TRIES):
        made = "".join(random.choice(ALPHABET) if one.isascii() and one.isalnum() else one for one in name)
        if made not in taken:
            return made
    return None


class Names:
    """How text may spell one folder, and what stands for each in the other."""

    def __init__(self, olds: Sequence[str], new: str) -> None:
        pairs: dict[bytes, bytes] = {}
        for old in olds:
            pairs[os.fsencode(old)] = os.fsencode(new)
            pairs[in_url(old)] = in_url(new)
        self._pairs = pairs
        longest_first = sorted(pairs, key=len, reverse=True)
        # Not the start of a longer name: "venv" in "venv2", "venv-old" or "venv.old".
        self._any = re.compile(b"(?:" + b"|".join(map(re.escape, longest_first)) + rb")(?![\w.-])")

    def replaced(self, content: bytes) -> bytes:
        """The content with each spelling replaced."""
        return self._any.sub(lambda found: self._pairs[found[0]], content)

    def replaced_text(self, text: str) -> str:
        """The same for a path or a word of a command."""
        return os.fsdecode(self.replaced(os.fsencode(text)))


def in_url(path: str) -> bytes:
    """A path as a URL has it: "/my%20env"."""
    return PurePath(path).as_uri().removeprefix("file://").encode()


def move_in(twin: str, names: Names) -> None:
    """After cloning: what starts, installs or uninstalls must mean the twin and not its original."""
    for entry in files.entries(twin):
        if entry.is_link:
            _move_link(entry, names)
        elif entry.is_file and _may_name_its_place(entry):
            content = files.read(entry.path) or b""
            moved = names.replaced(content)
            if moved != content:
                files.rewrite(entry.path, moved)


def _may_name_its_place(entry: Entry) -> bool:
    """Is it one of the files into which installers write where they are?"""
    parts = entry.name.split(os.sep)
    if "site-packages" not in parts:
        return entry.state.st_size <= TEXT_BYTES
    depth = len(parts) - parts.index("site-packages") - 1
    if depth == 1:
        return entry.state.st_size <= TEXT_BYTES and not entry.name.endswith(".so")
    return depth == 2 and parts[-1] in IN_METADATA


def move_out(twin: str, original: str, back: Names, forth: Names) -> None:
    """Before the exchange: all that is new names the original's place, and RECORD agrees with it.

    A file that the steps left alone becomes the original's own again.
    """
    changes: dict[str, Change] = {}
    records: list[str] = []
    for entry in files.entries(twin):
        twin_of = os.path.join(original, entry.name)
        if entry.is_link:
            _move_link(entry, back)
        elif entry.is_file and files.inode(twin_of) != (entry.state.st_dev, entry.state.st_ino):
            if os.path.basename(entry.name) == "RECORD":
                records.append(entry.path)
            if not _restored(entry, twin_of, forth, changes):
                _move_file(entry, back, changes)
    for record in records:
        _agree(record, changes)


def _restored(entry: Entry, original: str, forth: Names, changes: dict[str, Change]) -> bool:
    """Is it what :func:`move_in` or cloning made of the original? Then it becomes that again."""
    if entry.state.st_size > READ_BYTES:
        return False
    old, now = files.read(original), files.read(entry.path)
    if old is None or now is None or not files.has_mode_of(original, entry.state):
        return False
    moved = forth.replaced(old)
    if now != moved or moved == old:
        return now == old and files.is_edited_in_place(entry.name)
    files.take_over(original, entry.path)
    changes[entry.path] = _change(now, old)
    return True


def _move_link(entry: Entry, names: Names) -> None:
    leads_to = files.link_target(entry.path)
    moved = names.replaced_text(leads_to)
    if moved != leads_to:
        files.relink(entry.path, moved)


def _move_file(entry: Entry, names: Names, changes: dict[str, Change]) -> None:
    if entry.state.st_size > READ_BYTES:
        return
    content = files.read(entry.path) or b""
    moved = names.replaced(content)
    if moved != content:
        files.rewrite(entry.path, moved)
        changes[entry.path] = _change(content, moved)


def _change(before: bytes, after: bytes) -> Change:
    return _hash(before), _hash(after), len(after)


def _hash(content: bytes) -> str:
    """As RECORD writes it."""
    return "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()


def _agree(record: str, changes: dict[str, Change]) -> None:
    """Give a RECORD the new hashes of the files that were changed, where it had the old ones."""
    content = files.read(record) or b""
    folder = os.path.dirname(os.path.dirname(record))
    lines = content.decode("utf-8", "surrogateescape").splitlines(keepends=True)
    told = "".join(_row(line, folder, changes) for line in lines)
    if (agreed := told.encode("utf-8", "surrogateescape")) != content:
        files.rewrite(record, agreed)


def _row(line: str, folder: str, changes: dict[str, Change]) -> str:
    row = next(csv.reader([line]), [])
    change = changes.get(os.path.normpath(os.path.join(folder, row[0]))) if len(row) == 3 else None
    if change is None or row[1] != change[0]:
        return line
    written = io.StringIO()
    csv.writer(written, lineterminator=line[len(line.rstrip("\r\n")) :]).writerow(
        [row[0], change[1], str(change[2])]
    )
    return written.getvalue()
