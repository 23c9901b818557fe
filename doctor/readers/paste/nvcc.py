"""``nvcc --version``, whole or the one line of it that is quoted.

A folder such as /usr/local/cuda-12.1 tells of no compiler and is not read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from doctor.readers.paste import Block
from doctor.readers.paste.doubt import is_doubted
from doctor.readers.paste.notes import Notes

LOOK = 1_000  # characters of a line that are looked at

RELEASE = re.compile(r"Cuda compilation tools, release (\d{1,2}\.\d{1,2})")
# "nvcc: release 12.4", "nvcc --version: 12.4.131", "nvcc is 11.8", "nvcc -V shows V11.8.89"
QUOTED = re.compile(
    r"\bnvcc(?:\.exe)?[`'\"]{0,3}(?: (?:--version|-V|version))?[`'\"]{0,3} {0,3}[:=]? {0,3}"
    r"(?:(?:is|says|shows|reports|gives|prints|output|release|version|cuda|CUDA),? ){0,3}"
    r"[vV]?(\d{1,2}(?:\.\d{1,2})?)(?:\.\d{1,4}){0,2}(?!\.?\w)"
)
# The other lines that the program prints.
OWN = re.compile(
    r"\s{0,8}(?:nvcc: NVIDIA \(R\) Cuda compiler driver|Copyright \(c\) \d{4}-\d{4} NVIDIA Corporation"
    r"|Built on [A-Z][a-z]{2}_[A-Z]|Cuda compilation tools, release |Build cuda_\d)"
)
WIDEST = 200  # characters of a line of the program


def read(lines: Sequence[str]) -> Iterator[Block]:
    """Each answer of nvcc, and each sentence that quotes one."""
    notes: Notes | None = None
    for number, line in enumerate(lines, 1):
        if len(line) <= WIDEST and OWN.match(line):
            notes = notes or Notes("nvcc", number)
            found = RELEASE.search(line)
            notes.say("toolkit", found[1] if found else "", number)
            notes.last = number
            continue
        if notes and (line.strip() or number - notes.last > 2):
            yield from notes.block()
            notes = None
        yield from quoted(line[:LOOK], number)
    if notes:
        yield from notes.block()


def quoted(line: str, number: int) -> Iterator[Block]:
    """What a sentence quotes of it."""
    found = RELEASE.search(line) or ("nvcc" in line and QUOTED.search(line)) or None
    if found and not is_doubted(line, found.start(), found.end()):
        notes = Notes("nvcc", number)
        notes.say("toolkit", found[1], number)
        notes.is_whole = False
        yield from notes.block()
