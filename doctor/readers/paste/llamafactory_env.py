"""``llamafactory-cli env``: it writes "(GPU)" behind the version of torch where torch sees one."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from doctor.paste import Form, Statement
from doctor.readers.paste import Block
from doctor.readers.paste.devices import MANY
from doctor.readers.paste.platforms import Said
from doctor.readers.paste.reports import Run, blocks, stated, statement

FORM: Form = "llamafactory env"
_ALONE = re.compile(r"\d[\w.+]{2,60}")
_NUMBER = re.compile(r"(\d{1,3})\b")


def read(lines: Sequence[str]) -> Iterator[Block]:
    """Each report in a text."""
    yield from blocks(lines, FORM, statements)


def statements(run: Run) -> Iterator[Statement]:
    """All that one report says; one GPU is named for all of them."""
    found = _NUMBER.match(run.value("gpu number") or "1")
    count = min(MANY, int(found[1])) if found else 1
    for said in stated(run, FORM):
        if said.topic in ("gpu", "gpu memory") and count > 1:
            yield from (
                statement(Said(said.topic, said.value, str(index)), FORM, said.line) for index in range(count)
            )
        else:
            yield said
    yield from _unseen(run)


def _unseen(run: Run) -> Iterator[Statement]:
    """That torch sees no GPU, where nothing stands behind its version."""
    for label, line in run.labels:
        is_bare = label.meaning == "torch" and _ALONE.fullmatch(label.value) is not None
        if is_bare and not run.keys & {"gpu type", "npu type", "supa type"}:
            yield statement(Said("torch sees gpu", "no"), FORM, line)
