"""``accelerate env``: the location of the command tells which environment is active."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from doctor.paste import Form, Statement
from doctor.readers.paste import Block
from doctor.readers.paste.reports import Run, blocks, stated

FORM: Form = "accelerate env"


def read(lines: Sequence[str]) -> Iterator[Block]:
    """Each report in a text."""
    yield from blocks(lines, FORM, statements)


def statements(run: Run) -> Iterator[Statement]:
    """All that one report says."""
    yield from stated(run, FORM)
