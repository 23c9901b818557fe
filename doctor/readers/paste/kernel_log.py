"""Lines that the kernel and NVIDIA's module write: Xids, versions that do not fit, the module that is loaded.

They complain, so no line is taken from those who look for complaints.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from doctor.driver_text import XID
from doctor.readers.paste import Block
from doctor.readers.paste.notes import Notes

LOOK = 1_000  # characters of a line that are looked at
APART = 60  # lines between two that belong together
MISMATCH_LINES = 6  # over which the module spreads that sentence

VERSION = r"(\d{3,4}\.\d{1,4}(?:\.\d{1,4})?)"
# "the client has the version 535.183.01, but this kernel module has the version 535.171.04", since 2025 with
# "the client 'kwin_wayland' (pid 1005) has the version".
MISMATCH = re.compile(
    rf"the client(?: '[^'\n]{{0,80}}' \(pid \d{{1,10}}\))? has the version {VERSION}"
    rf",? but this kernel module has the version {VERSION}"
)
# "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat ...",
# "NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  550.67  Release Build"
MODULE = re.compile(
    r"NVRM(?: version)?: (?:loading )?NVIDIA UNIX (?:(?!Open |Kernel )\w{1,12} )?(?:Open )?Kernel Module"
    rf"(?: for \w{{1,12}})? {{1,4}}{VERSION}"
)
FALLEN = re.compile(r"NVRM: (?:[^\n]{0,80} )?fallen off the bus")
ADDRESS = re.compile(r"[0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}")
MAGIC = re.compile(r"version magic '[^'\n]{1,120}' should be '([^' \n]{1,100})")
KILLED = re.compile(r"Out of memory: Kill(?:ed)? process \d{1,10}|oom-kill:constraint=|invoked oom-killer:")
FALLEN_XID = "79 GPU has fallen off the bus"


def read(lines: Sequence[str]) -> Iterator[Block]:
    """Each group of such lines."""
    notes: Notes | None = None
    for number, line in enumerate(lines, 1):
        told = line[:LOOK]
        if not ("NVRM" in told or "version magic" in told or KILLED.search(told)):
            continue
        if notes and number - notes.last > APART:
            yield from notes.block()
            notes = None
        notes = notes or begun(number)
        tell(lines, number, told, notes)
        notes.last = number
    if notes:
        yield from notes.block()


def begun(number: int) -> Notes:
    """Notes on a log that begins at a line."""
    notes = Notes("kernel log", number)
    notes.is_whole = False
    return notes


def tell(lines: Sequence[str], number: int, line: str, notes: Notes) -> None:
    """What one line says, or the sentence that begins in it."""
    xids = list(XID.finditer(line))
    for xid in xids:
        notes.say("xid", f"{xid[2]} {xid[3] or ''}", number, xid[1])
    if not xids and FALLEN.search(line):
        above = " ".join(lines[max(0, number - 3) : number])[-3 * LOOK :]
        address = ADDRESS.search(above)
        notes.say("xid", FALLEN_XID, number, address[0] if address else "")
    if "API mismatch" in line and (found := MISMATCH.search(sentence(lines, number))):
        notes.say("driver", found[1], number)
        notes.say("kernel module", found[2], number)
    if found := MODULE.search(line):
        notes.say("kernel module", found[1], number)
    if found := MAGIC.search(line):
        notes.say("kernel", found[1], number)


def sentence(lines: Sequence[str], number: int) -> str:
    """The sentence that begins in a line, the marks of the module and of syslog taken out."""
    joined = " ".join(line[:LOOK] for line in lines[number - 1 : number - 1 + MISMATCH_LINES])
    return " ".join(joined.replace("#012", " ").replace("NVRM:", " ").split())
