"""JSON documents of lora-doctor in a text: where they stand, and what is left of those that were cut."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

LONGEST_DOCUMENT = 4 << 20  # characters
DEEPEST = 40  # brackets within brackets; a report has a dozen
MOST = 20  # beginnings of a document that are followed in one text

OPENS = re.compile(r"\s{0,40}\{\s{0,40}(?:\"(?:schema|system)\"\s{0,4}:|$)")
BEGINS = re.compile(r"\s{0,40}\{\s{0,40}\"(?:schema|system)\"\s{0,4}:")
TOKEN = re.compile(r"\s*(\"(?:[^\"\\\n]|\\.)*\"|[{}\[\],:]|[^\s{}\[\],:\"]+)")
CLOSING = {"{": "}", "[": "]"}
OURS = ("driver_signs", "driver", "gpus", "interpreter", "packages", "torch", "torch_runtime", "trial")


class Document(NamedTuple):
    """One document, by the lines that it stands in, counted from 1."""

    first: int
    lines: tuple[str, ...]
    facts: Mapping[str, Any]
    is_report: bool  # whole reports name their tool; Markdown has the facts alone
    is_cut: bool

    @property
    def last(self) -> int:
        """Its last line."""
        return self.first + len(self.lines) - 1


def documents(lines: Sequence[str]) -> Iterator[Document]:
    """Each document that holds facts."""
    index, followed = 0, 0
    while index < len(lines) and followed < MOST:
        is_open = opens(lines, index)
        followed += is_open
        document = document_at(lines, index) if is_open else None
        if document:
            yield document
        index = document.last if document else index + 1


def opens(lines: Sequence[str], index: int) -> bool:
    """Does a document of ours begin in a line?"""
    if not OPENS.match(lines[index]):
        return False
    return BEGINS.match("\n".join(line[:200] for line in lines[index : index + 2])) is not None


def document_at(lines: Sequence[str], index: int) -> Document | None:
    """The document that begins in a line; None where what stands there is none of ours."""
    text, end, is_cut = whole_or_mended(joined(lines, index))
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    is_report = isinstance(value, dict) and "tool_version" in value and isinstance(value.get("facts"), dict)
    facts = value["facts"] if is_report else value
    if not isinstance(facts, dict) or not (is_report or sum(field in facts for field in OURS) > 1):
        return None
    own = tuple(lines[index : index + end.count("\n") + 1])
    return Document(index + 1, own, facts, is_report, is_cut)


def joined(lines: Sequence[str], index: int) -> str:
    """The text from a line on, as far as a document may reach."""
    room, taken = LONGEST_DOCUMENT, []
    for line in lines[index:]:
        room -= len(line) + 1
        if room < 0:
            break
        taken.append(line)
    return "\n".join(taken)


def whole_or_mended(text: str) -> tuple[str, str, bool]:
    """(JSON, the part of the text that it was made of, was it cut?)

    Of a document that was cut all that is complete is kept, and what is open is closed.
    """
    open_ones: list[str] = []
    position, cut, closers = 0, 0, ""
    while token := TOKEN.match(text, position):
        word, start, position = token[1], token.start(1), token.end()
        if word in "{[":
            open_ones.append(CLOSING[word])
        elif word in "}]":
            if not open_ones or open_ones.pop() != word:
                break
            if not open_ones:
                return text[:position], text[:position], False
        if len(open_ones) > DEEPEST:
            break
        if word in "{[]},":
            cut, closers = start if word == "," else position, "".join(reversed(open_ones))
    return text[:cut] + closers, text[:cut], True
