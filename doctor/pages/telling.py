"""The text of a rule or a row, taken apart into what a page tells."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

import msgspec

from doctor.matrix.rows import FOLDER, Row, load_rows, read_toml
from doctor.matrix.rules import page
from doctor.rules import Rule
from doctor.stack import STACK

HEADING = re.compile(r"(Why|See|When|Fix|Verify|Tried in vain|References):\s")
# Commands and libraries that begin a sentence as they are written; further ones are subjects of rows.
NAMES = {
    *STACK,
    *"conda curl deepspeed ldconfig ls nvcc pip protobuf python torchvision triton uv xformers".split(),
}


class General(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the cases of one fault have in common."""

    title: str = ""
    why: str = ""


@cache
def general() -> dict[str, General]:
    """By id, of the faults that have several cases."""
    return msgspec.convert(read_toml(FOLDER / "pages" / "general.toml"), dict[str, General])


def text_of(source: Rule | Row) -> str:
    """What a rule or a row says of itself."""
    return page(source) if isinstance(source, Row) else inspect.cleandoc(source.page)


def parts_of(text: str) -> dict[str, str]:
    """The paragraphs of a page by their headings; the title has "" for its own."""
    parts: dict[str, str] = {}
    heading = ""
    for paragraph in text.split("\n\n"):
        if found := HEADING.match(paragraph):
            heading, paragraph = found[1], paragraph[found.end() :]
        told = re.sub(r" (?=[,;]|\.(?:\s|$))", "", " ".join(paragraph.split()))
        parts[heading] = f"{parts[heading]} {told}" if heading in parts else told
    return parts


def told_of(parts: Iterable[dict[str, str]], heading: str) -> str:
    """What the first page that has a heading says under it."""
    return next((part[heading] for part in parts if heading in part), "")


def of_family(id: str, title: str) -> str:
    """The title of a fault that any library may have, with the library's name."""
    if id.partition("/")[0] in title:
        return title
    return re.sub(r"\b[Aa] library(?: of the stack)?\b", id.partition("/")[0], title)


@cache
def names() -> set[str]:
    """What is written in small letters everywhere."""
    return NAMES | {subject for row in load_rows() for subject in row.when}


def sentences(texts: Iterable[str]) -> str:
    """Texts as whole sentences, one after the other."""
    return " ".join(sentence(text) for text in dict.fromkeys(texts) if text)


def sentence(text: str) -> str:
    """A text that begins and ends as a sentence does; names and commands stay as they are."""
    word = re.match(r"[a-z]+(?=[ ,:;])", text)
    text = text[0].upper() + text[1:] if word and word[0] not in names() else text
    return text if text.endswith((".", "?", "!", ":", "。")) else f"{text}."


def united(lists: Iterable[Sequence[Any]]) -> tuple[Any, ...]:
    """All that several lists hold, once and in their order."""
    return tuple(dict.fromkeys(one for given in lists for one in given))
