"""Complaints of a paste: exceptions with their frames, warnings, and lines that complain by themselves.

Lines of processes that wrote at the same time are told apart by the speakers that ``clean.cleaned`` gives.
Formats: Python 3.8 to 3.14, exception groups, IPython, rich, and whatever part of them was pasted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from doctor.paste import Complaint
from doctor.readers.paste.chains import complaints_of
from doctor.readers.paste.clean import Line
from doctor.readers.paste.messages import Numbered
from doctor.readers.paste.voice import Draft, Voice

LONGEST_LINE = 20_000
IMPORT = re.compile(r"\s{0,40}from \w[\w.]{0,120} import \w[\w, ]{0,300}")
FAR = 50  # lines; what stands so far apart is not one message


def read(lines: Sequence[str], origins: Sequence[Line] = ()) -> tuple[Complaint, ...]:
    """All complaints in the order of their lines, equal ones counted, chains from their first cause on."""
    drafts: list[Draft] = []
    for speaker, told in by_speaker(lines, origins).items():
        drafts += Voice(told, speaker).listen()
    drafts = drafts or list(imports_alone(lines))
    return complaints_of(sorted(drafts, key=lambda draft: draft.chain_line))


def imports_alone(lines: Sequence[str]) -> Iterator[Draft]:
    """Lines of import between empty ones: where nothing complains, a traceback pointed at them."""
    for at, text in enumerate(lines):
        around = [*lines[max(at - 1, 0) : at], *lines[at + 1 : at + 2]]
        if IMPORT.fullmatch(text) and not any(one.strip() for one in around):
            yield Draft("", text.strip(), at + 1, "line", (), "", at + 1, (at + 1, at + 1))


def by_speaker(lines: Sequence[str], origins: Sequence[Line]) -> dict[str, list[Numbered]]:
    """What each process wrote. A gap within it becomes an empty line."""
    told: dict[str, list[Numbered]] = {}
    for at, text in enumerate(lines):
        origin = origins[at] if at < len(origins) else Line(text)
        own = told.setdefault(origin.speaker, [])
        if own and at + 1 - own[-1].number > FAR:
            own.append(Numbered(at, ""))
        own.append(Numbered(at + 1, text[:LONGEST_LINE], origin.level))
    return told
