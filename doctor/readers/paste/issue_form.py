"""What people fill in by hand: GitHub's issue forms, lists of "key: value", Markdown tables, boxes to tick.

Lists that a tool printed are left to that tool's reader. What stands under a heading that tells of another
environment, "Works with" or "Fix", is left out, and so is a value that its sentence puts in doubt.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from doctor.paste import Form, Statement
from doctor.readers.paste import Block
from doctor.readers.paste.doubt import is_doubted, stands_under_another, tells_of_another
from doctor.readers.paste.labels import Label, bare, labels_in
from doctor.readers.paste.platforms import Said
from doctor.readers.paste.readings import is_missing, said_by
from doctor.readers.paste.reports import Placed, form_of, runs, statement
from doctor.readers.paste.tables import tables

FORM: Form = "issue form"
_HEADING = re.compile(r"[ \t]{0,3}(?:#{1,6}[ \t]{1,4}(\S.{0,160})|\*\*([^*\n]{2,80})\*\*:?[ \t]{0,4}$)")
_BOX = re.compile(r"[ \t]{0,8}[-*+] \[([ xX])\] ?(.{0,200})")
_EMPTY = re.compile(r"_?no response_?$|[\[(]?e\.?g\b|n/?a$|<.{0,80}>$|none$|-$|\.{3}$", re.I)
_NO_LABEL = re.compile(r"^[^\w(]{1,12}")  # pictures and marks in front of a heading
# "Which version of PEFT do you use", "What is your operating system"
_ASKING = re.compile(
    r"(?:(?:what|which|is|are|your|the|my|current|installed|version|of|please|choose)\b[ ']{0,3}){1,8}",
    re.I,
)
_ASKED = re.compile(r" (?:are|is|do|did|have)? ?(?:you|we) (?:use|using|have|run|running)\b.{0,20}$")
_LOOK = 12  # lines below a heading
# No lists: the banner of unsloth, whose "CUDA: 8.9" is a compute capability; lines of a log.
_OTHER_FORMAT = re.compile(r"Num GPUs|CUDA: \d{1,2}\.\d\. CUDA Toolkit|Bfloat16 =|\[(?:INFO|WARNING|DEBUG)\b")
_COMPARED = re.compile(r"\b(?:works?|working|fails?|tried|vs|versus|but|instead|other)\b", re.I)
_WEIGHED = frozenset(("package", "python", "cuda"))


def read(lines: Sequence[str]) -> Iterator[Block]:
    """Each list, each filled field and each table."""
    doubted = sections_of_another(lines)
    yield from _lists(lines, doubted)
    yield from _fields(lines, doubted)
    yield from _tables(lines, doubted)


def sections_of_another(lines: Sequence[str]) -> frozenset[int]:
    """The lines that stand under a heading which tells of an environment that works, or is only advised."""
    found: list[int] = []
    is_other = False
    for number, line in enumerate(lines, 1):
        heading = _HEADING.match(line) if line[:4].strip()[:1] in ("#", "*") else None
        if heading:
            is_other = tells_of_another(heading[1] or heading[2])
        if is_other:
            found.append(number)
    return frozenset(found)


def block(first: int, last: int, said: Sequence[Statement]) -> Iterator[Block]:
    """A block whose lines may hold errors and prose as well."""
    if said:
        yield Block(FORM, first, last, tuple(said), is_whole=False)


def _lists(lines: Sequence[str], doubted: frozenset[int]) -> Iterator[Block]:
    whole = tuple(lines)
    for run in runs(whole):
        if form_of(run) is None and not stands_under_another(whole, run.first - 1):
            sure = [placed for placed in run.labels if placed.line not in doubted]
            said = [one for placed in sure for one in _of_placed(placed, lines)]
            yield from block(run.first, run.last, said)


def _of_placed(placed: Placed, lines: Sequence[str]) -> Iterator[Statement]:
    """What a label of a list says, unless its sentence doubts it."""
    label, number = placed
    line = lines[number - 1]
    if _OTHER_FORMAT.search(line[:2000]) or _EMPTY.match(label.value):
        return
    for said in of_label(label):
        start = line.find(said.value, label.start)
        end = start + len(said.value)
        is_unsure = said.topic in _WEIGHED and start >= 0 and is_doubted(line, start, end)
        if not is_unsure and not (said.topic == "gpu" and _COMPARED.search(said.value)):
            yield statement(said, FORM, number)


def of_label(label: Label) -> Iterator[Said]:
    """What a label says where a person filled it in."""
    yield from said_by(label)
    if label.meaning == "package" and is_missing(label.value):
        yield Said("absent", "", label.name)


def _fields(lines: Sequence[str], doubted: frozenset[int]) -> Iterator[Block]:
    """Fields of a form: a heading that is a label, and what stands below."""
    for number, line in enumerate(lines, 1):
        heading = _HEADING.match(line) if line[:4].strip()[:1] in ("#", "*") else None
        label = label_of(heading[1] or heading[2]) if heading and number not in doubted else None
        if label:
            for value, at in _filled(lines, number):
                said = [statement(one, FORM, at) for one in of_label(label._replace(value=value))]
                yield from block(number, at, said)


def label_of(text: str) -> Label | None:
    """A heading or a cell as a label, None where it is none."""
    plain = _NO_LABEL.sub("", text.strip().rstrip("*_ ?:"))
    for asked in dict.fromkeys((plain, _ASKED.sub("", _ASKING.sub("", plain)).strip())):
        found = labels_in(f"{asked}:") if asked else []
        if found and found[0].leads and not found[0].value:
            return found[0]
    return None


def _filled(lines: Sequence[str], number: int) -> Iterator[tuple[str, int]]:
    """The value below a heading with its line: the first that is written, or the one box that is ticked."""
    ticked: list[tuple[str, int]] = []
    for at in range(number + 1, min(len(lines), number + _LOOK) + 1):
        line = lines[at - 1]
        box = _BOX.match(line)
        if box and box[1] != " ":
            ticked.append((bare(box[2]), at))
        if box or not line.strip() or line.lstrip().startswith("```"):
            continue
        text = bare(line.strip().lstrip("-*+ "))
        if not ticked and not _HEADING.match(line) and not labels_in(line[:400]) and not _EMPTY.match(text):
            yield text[:300], at
        break
    if len(ticked) == 1:
        yield ticked[0]


def _tables(lines: Sequence[str], doubted: frozenset[int]) -> Iterator[Block]:
    for table in tables(lines):
        found = [(label_of(key), value, at) for key, value, at in table]
        labels = [(label._replace(value=bare(value)), at) for label, value, at in found if label]
        keys = [label.key for label, _ in labels]
        if len(keys) == len(set(keys)) and labels and labels[0][1] not in doubted:
            said = [statement(one, FORM, at) for label, at in labels for one in of_label(label)]
            yield from block(labels[0][1], labels[-1][1], said)
