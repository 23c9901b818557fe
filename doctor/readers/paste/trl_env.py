"""``trl env``.

It prints the version of torch from metadata, so that "2.5.1" may be a build for CUDA or for the CPU alike.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from doctor.paste import Form, Statement
from doctor.readers.paste import Block
from doctor.readers.paste.platforms import Said
from doctor.readers.paste.readings import is_missing
from doctor.readers.paste.reports import Run, blocks, stated, statement

FORM: Form = "trl env"


def read(lines: Sequence[str]) -> Iterator[Block]:
    """Each report in a text."""
    yield from blocks(lines, FORM, statements)


def statements(run: Run) -> Iterator[Statement]:
    """All that one report says."""
    said = tuple(stated(run, FORM))
    yield from said
    has_gpu = any(one.topic == "gpu" for one in said)
    for label, line in run.labels:
        # Older transformers call bitsandbytes missing wherever torch sees no GPU.
        is_sure = label.name != "bitsandbytes" or has_gpu
        if label.meaning == "package" and is_missing(label.value) and is_sure:
            yield statement(Said("absent", "", label.name), FORM, line)
