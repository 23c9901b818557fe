"""Symptoms as people see them: patterns put back into words, with "…" for what varies."""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache
from importlib import import_module
from typing import Any

SHOWN = 8
SHORTEST = 6  # characters: less would be recognised by nobody
VARIES = "…"

# The parser that re itself uses. It is not documented, and the same since Python 2.
_parser = import_module("re._parser" if sys.version_info >= (3, 11) else "sre_parse")


def readable(symptoms: Sequence[str]) -> tuple[str, ...]:
    """The words of symptoms, each once; what a longer one says already is left out."""
    told = [words for one in symptoms if len(words := words_of(one)) >= SHORTEST]
    alike = Counter(map(without_releases, told))
    told = [short if alike[short := without_releases(one)] > 1 else one for one in told]
    once = list({one.lower(): one for one in reversed(told)}.values())[::-1]
    return tuple(one for one in once if not any(one in other and one != other for other in once))[:SHOWN]


def without_releases(text: str) -> str:
    """A symptom with "…" for each release: "peft>=… is required"."""
    return re.sub(r"\d+(?:\.[\d…]*)+", VARIES, text)


@cache
def words_of(symptom: str) -> str:
    """One symptom: a plain one as it stands, of a pattern an example of what it matches."""
    if not symptom.startswith("re:"):
        return symptom
    text = joined(_parser.parse(symptom[3:]))
    text = re.sub(r"…[…\s.]*…", VARIES, text)
    # A quote that opens before a word and whose closing one the pattern does not ask for.
    return f"{text}'" if re.search(r"(?:^|[\s(])'\w[^'\s]*$", text) else text


def joined(parts: Iterable[tuple[Any, Any]]) -> str:
    """An example of what the parts of a pattern match one after the other."""
    return " ".join("".join(example(str(kind), value) for kind, value in parts).split())


def example(kind: str, value: Any) -> str:
    """An example of what one part matches, by the names that the parser has for them."""
    if kind == "LITERAL":
        return chr(value)
    if kind in ("MAX_REPEAT", "MIN_REPEAT"):
        return repeated(*value)
    if kind == "SUBPATTERN":
        return spaced(value[-1])
    if kind == "BRANCH":
        return spaced(value[1][0])
    if kind == "IN":
        return one_of(value)
    if kind == "ANY":
        return "'"  # a dot alone stands for any quote
    return VARIES if kind == "NOT_LITERAL" else ""


def spaced(parts: Iterable[tuple[Any, Any]]) -> str:
    """An example with the spaces at its ends."""
    return "".join(example(str(kind), value) for kind, value in parts)


def repeated(least: int, most: Any, parts: Any) -> str:
    """What is repeated: once where it is one text, "…" where it is anything."""
    (kind, value), *more = parts
    if not more and str(kind) in ("ANY", "IN", "NOT_LITERAL") and most != 1:
        return " " if is_blank(str(kind), value) else VARIES
    return spaced(parts)


def is_blank(kind: str, value: Any) -> bool:
    r"""Is it ``\s``?"""
    return kind == "IN" and [str(one) for _, one in value] == ["CATEGORY_SPACE"]


def one_of(members: Sequence[tuple[Any, Any]]) -> str:
    """One character of a class: the first that it names, "…" for digits, letters and whatever it excludes."""
    kinds = {str(kind) for kind, _ in members}
    if "NEGATE" in kinds or kinds & {"CATEGORY", "RANGE"}:
        return " " if is_blank("IN", members) else VARIES
    letters = [chr(value) for _, value in members]
    return "'" if set(letters) & set("'\"`") else letters[0]
