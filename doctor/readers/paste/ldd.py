"""What ``ldd`` and ``ldconfig -p`` print: which file the loader takes for a name."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from doctor.readers.paste import Block
from doctor.readers.paste.notes import Notes

WIDEST = 600  # characters of a line
# "libcudart.so.12 => not found", "libm.so.6 => /lib/x86_64-linux-gnu/libm.so.6 (0x00007f...)",
# "libcudart.so.11.0 (libc6,x86-64) => /usr/local/cuda/lib64/libcudart.so.11.0"
NAMED = re.compile(
    r"\s{0,16}([A-Za-z][\w+.-]{1,100}\.so(?:\.[\w.]{1,20})?) (?:\([^()]{1,80}\) )?(?:=|-)> {1,2}"
    r"(not found|/[^\n()]{1,300})"
)


def read(lines: Sequence[str]) -> Iterator[Block]:
    """Each run of such lines."""
    notes: Notes | None = None
    for number, line in enumerate(lines, 1):
        found = NAMED.match(line) if len(line) <= WIDEST else None
        if notes and number - notes.last > 3:  # linux-vdso and ld-linux have no arrow
            yield from notes.block()
            notes = None
        if not found:
            continue
        notes = notes or Notes("ldd", number)
        is_missing = found[2] == "not found"
        # What is missing may be the very fault that the paste is about.
        notes.is_whole = notes.is_whole and not is_missing and number - notes.last <= 1
        notes.say("library", "" if is_missing else found[2], number, found[1])
        notes.last = number
    if notes:
        yield from notes.block()
