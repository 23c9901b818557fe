"""``transformers env`` of 4.x and 5.x, and its relatives: those of diffusers, datasets and huggingface_hub.

"not installed" means that transformers does not use a package: absent, or older than transformers accepts.
Only of safetensors and DeepSpeed, and of what diffusers prints, it means that the package is absent.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from doctor.paste import Form, Statement
from doctor.readers.paste import Block
from doctor.readers.paste.platforms import Said
from doctor.readers.paste.readings import is_missing
from doctor.readers.paste.reports import Run, blocks, stated, statement

FORM: Form = "transformers env"
_SURE = frozenset(("safetensors", "deepspeed", "peft", "bitsandbytes", "xformers", "diffusers"))


def read(lines: Sequence[str]) -> Iterator[Block]:
    """Each report in a text."""
    yield from blocks(lines, FORM, statements)


def statements(run: Run) -> Iterator[Statement]:
    """All that one report says."""
    yield from stated(run, FORM)
    for label, line in run.labels:
        if label.meaning == "package" and label.name in _SURE and is_missing(label.value):
            yield statement(Said("absent", "", label.name), FORM, line)
