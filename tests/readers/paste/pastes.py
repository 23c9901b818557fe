"""How tests of complaints ask: a text in, what complains out."""

from __future__ import annotations

from doctor.paste import Complaint
from doctor.readers.paste.clean import cleaned
from doctor.readers.paste.tracebacks import read


def complaints(text: str) -> tuple[Complaint, ...]:
    lines = cleaned(text)
    return read([line.text for line in lines], lines)


def only(text: str) -> Complaint:
    (one,) = complaints(text)
    return one
