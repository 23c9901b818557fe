"""Lists of labels with values, which all environment reports are: where each begins and ends, and whose.

A list ends at a heading, at a traceback, after some lines without a label, and where its labels begin anew.
Which tool printed it is told by labels that only that tool writes; a list of nobody's was written by hand.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from doctor.paste import Form, Statement
from doctor.readers.paste import LONGEST, Block
from doctor.readers.paste.devices import is_gpu_name
from doctor.readers.paste.labels import Label, labels_in, rows_in
from doctor.readers.paste.platforms import Said, of_platform
from doctor.readers.paste.readings import said_by

GAP = 3  # lines without a label within one list
# What stands below these labels is long, and is skipped.
LONG_PARTS = {
    "cpu": 300,
    "gpu topology": 60,
    "intel gpu models detected": 20,
    "intel gpu models onboard": 20,
    "intel gpu driver version": 20,
}
CONFIGS = frozenset(("accelerate config", "accelerate default config", "accelerate config passed"))
NESTED = re.compile(r"[ \t]{0,12}(?:[-*•] ?)?[a-z_0-9]{2,40}:")  # "  - mixed_precision: bf16"
OPENS = frozenset(("transformers version", "llamafactory version"))  # the first label of its list
OPERATORS_OF_XFORMERS = 60  # lines that come between its version and torch's
# In the part that lscpu wrote, what looks like a label is lscpu's.
ENDS_CPU = frozenset(("versions of relevant libraries", "vllm version", "rocm version"))
MAY_REPEAT = frozenset(("gpu", "capability", "package", "", "gpu memory", "hardware"))
# A heading, or the first line of an error.
BREAK = re.compile(
    r"[ \t]{0,3}(?:#{1,6}[ \t]|Traceback \(most recent|<summary>|[\w.]{0,80}(?:Error|Exception)\b)"
)
BEGINS = (
    "Collecting environment info",
    "opy-and-paste the text below",
    "opy-paste the following information",
)
BULLET = re.compile(r"[ \t]{0,8}[-*+•·][ \t`*]")


class Placed(NamedTuple):
    """A label and the line of its value."""

    label: Label
    line: int


class Row(NamedTuple):
    """A package of a list that tags its rows: "[pip3] torch==2.1.0"."""

    tag: str
    text: str
    line: int


class Run(NamedTuple):
    """One list."""

    first: int  # lines of the paste, counted from 1
    last: int
    labels: tuple[Placed, ...]
    rows: tuple[Row, ...]
    plain: tuple[tuple[str, int], ...]  # lines without a label in between

    @property
    def keys(self) -> frozenset[str]:
        """The labels that are there."""
        return frozenset(placed.label.key for placed in self.labels)

    def value(self, key: str) -> str | None:
        """What a label says, None where it is not there."""
        return next((placed.label.value for placed in self.labels if placed.label.key == key), None)


class Gathering:
    """A run while its lines come."""

    def __init__(self) -> None:
        self.labels: list[Placed] = []
        self.rows: list[Row] = []
        self.plain: list[tuple[str, int]] = []
        self.told: set[str] = set()  # keys that come once in a list
        self.first = self.last = self.gap = 0
        self.patience = GAP
        self.in_cpu = self.interrupted = False
        self.bulleted = False

    @property
    def is_empty(self) -> bool:
        return not (self.labels or self.rows)

    def begins_anew(self, line: str, found: list[Label]) -> bool:
        """Does a line belong to another list: it repeats what was told, or is written in another style?"""
        if self.is_empty or not found or not found[0].leads:
            return False
        other_style = bool(self.labels) and bool(BULLET.match(line)) != self.bulleted
        return found[0].key in self.told or (self.interrupted and (other_style or found[0].key in OPENS))

    def take(self, number: int, line: str, found: list[Label], rows: list[Row]) -> None:
        """Add what a line holds."""
        if self.is_empty:
            self.first, self.bulleted = number, BULLET.match(line) is not None
        self.labels += [Placed(label, number) for label in found]
        self.told |= {label.key for label in found if label.meaning not in MAY_REPEAT}
        self.rows += rows
        self.last, self.gap, self.interrupted = number, 0, False
        self.patience = LONG_PARTS.get(found[-1].key, GAP) if found and not found[-1].value else GAP
        if rows and rows[-1].tag == "xFormers":
            self.patience = OPERATORS_OF_XFORMERS
        self.in_cpu = bool(found) and found[-1].key == "cpu" and found[-1].leads and not found[-1].value

    def skip(self, number: int, line: str) -> None:
        """A line without labels: perhaps the value of the label above, perhaps of no interest."""
        if not line.strip():
            self.interrupted = True
            self._end_cpu()
            return
        above = self.labels[-1] if self.labels else None
        if above and above.label.key in CONFIGS and NESTED.match(line):
            return
        self.gap += 1
        if above and not above.label.value and self.gap == 1 and is_value(above.label, line):
            self.labels[-1] = Placed(above.label._replace(value=line.strip(" \t-*`")[:LONGEST]), number)
            self.last = number
        elif len(self.plain) < 400:
            self.plain.append((line[:LONGEST], number))

    def _end_cpu(self) -> None:
        """What lscpu wrote ends at a blank line."""
        if self.in_cpu and self.gap:
            self.in_cpu, self.gap, self.patience = False, 0, GAP

    def run(self) -> Run:
        return Run(self.first, self.last, tuple(self.labels), tuple(self.rows), tuple(self.plain))


def is_value(label: Label, line: str) -> bool:
    """May a line be the value of the label above it that has none?"""
    if label.meaning in ("gpu", "hardware"):
        return len(line) < 120 and is_gpu_name(line)
    return label.meaning not in ("", "used gpu", "detected") and len(line) < 160


def runs(lines: Sequence[str]) -> tuple[Run, ...]:
    """Every list of a text."""
    return _runs(tuple(lines))


@lru_cache(maxsize=1)  # each reader of a report asks for the lists of one text
def _runs(lines: tuple[str, ...]) -> tuple[Run, ...]:
    return tuple(_gathered(lines))


def _gathered(lines: Sequence[str]) -> Iterator[Run]:
    current = Gathering()
    for number, line in enumerate(lines, 1):
        is_tagged = "[" in line or "xFormers" in line
        rows = [Row(tag, text, number) for tag, text in rows_in(line)] if is_tagged else []
        found = labels_in(line) if ":" in line or "：" in line else []
        found = [] if current.in_cpu and not _ends_cpu(found) else found
        is_break = BREAK.match(line) is not None or any(mark in line[:80] for mark in BEGINS)
        is_break = is_break or (bool(rows) and rows[0].tag == "xFormers")
        if is_break or current.gap > current.patience or current.begins_anew(line, found):
            if not current.is_empty:
                yield current.run()
            current = Gathering()
        if found or rows:
            current.take(number, line, found, rows)
        elif line.strip() == "CPU Info" and not current.is_empty:
            current.in_cpu, current.patience = True, LONG_PARTS["cpu"]
        elif not current.is_empty:
            current.skip(number, line)
    if not current.is_empty:
        yield current.run()


def _ends_cpu(found: list[Label]) -> bool:
    return bool(found) and found[0].key in ENDS_CPU


def form_of(run: Run) -> Form | None:
    """Which tool printed a list, None where none of them did."""
    keys = run.keys
    if keys & OF_LLAMAFACTORY:
        return "llamafactory env"
    if "hf hub version" in keys or ("trl version" in keys and keys & OF_TRL):
        return "trl env"
    if keys & OF_ACCELERATE:
        return "accelerate env"
    if keys & OF_TRANSFORMERS or any(_is_of_transformers(placed.label) for placed in run.labels):
        return "transformers env"
    return "collect_env" if run.rows or keys & OF_COLLECT_ENV else None


def _is_of_transformers(label: Label) -> bool:
    """ "PyTorch version (GPU?)"; "Platform", which only these tools write before a string of Python's."""
    is_platform = label.key == "platform" and any(True for _ in of_platform(label.value))
    return is_platform or label.brackets in ("(gpu?)", "(accelerator?)")


def keys_of(text: str) -> frozenset[str]:
    """Labels that one tool alone writes."""
    return frozenset(key.strip() for key in text.split("|"))


OF_LLAMAFACTORY = frozenset(("llamafactory version", "default data directory"))
OF_TRL = frozenset(("cuda device", "accelerator", "llm-blender version"))
OF_ACCELERATE = keys_of(
    """
    accelerate bash location | accelerate default config | accelerate config passed | system ram |
    pytorch accelerator | pytorch xpu available | pytorch npu available
    """
)
OF_TRANSFORMERS = keys_of(
    """
    huggingface_hub version | safetensors version | accelerate config | flax version | jaxlib version |
    using gpu in script | using gpu in script? | using distributed or parallel set-up in script |
    using distributed or parallel set-up in script? | running on google colab?
    """
)
OF_COLLECT_ENV = keys_of(
    """
    is debug build | cuda used to build pytorch | rocm used to build pytorch | hip used to build pytorch |
    rocm sdk used to build pytorch | cuda runtime version | gpu models and configuration |
    cuda_module_loading set to | python platform | is xnnpack available | hip runtime version |
    miopen runtime version | versions of relevant libraries | is cuda available | ipex version |
    pytorch cxx11 abi | vllm build flags | gpu.compute_capability | gpu.name | pytorch.version |
    pytorch.cuda | cuda_home | sys.platform | caching allocator config | is xpu available | neuron sdk version
    """
)
Extra = Callable[[Run], Iterator[Statement]]


def blocks(lines: Sequence[str], form: Form, statements: Extra) -> Iterator[Block]:
    """The lists that one tool printed, each with its statements."""
    for run in runs(lines):
        if form_of(run) == form:
            said = tuple(sorted(statements(run), key=lambda one: one.line))
            if said:
                yield Block(form, run.first, max(run.last, said[-1].line), said)


def stated(run: Run, form: Form) -> Iterator[Statement]:
    """What the labels of a list say, in their order."""
    for placed in run.labels:
        for said in said_by(placed.label):
            yield statement(said, form, placed.line)


def statement(said: Said, form: Form, line: int) -> Statement:
    """A statement in its place."""
    return Statement(topic=said.topic, value=said.value[:LONGEST], name=said.name, form=form, line=line)
