"""Bait for regular expressions, made of the expressions themselves, and what a match on it costs."""

from __future__ import annotations

import re
import string
import sys
import time
from collections.abc import Callable, Iterator
from functools import lru_cache
from importlib import import_module
from typing import Any, NamedTuple

_parser = import_module("re._parser" if sys.version_info >= (3, 11) else "sre_parse")
ENDLESS = 10_000  # a repetition that may go on for so long counts as one without an end
# What stands for a class of characters in bait.
ALPHABET = string.ascii_letters + string.digits + string.punctuation + " \t\n\xa0é版│"
NEAR_MISSES = ("\x00", "\n", "!")


class Repetition(NamedTuple):
    """A part of an expression that may come several times."""

    before: str  # an example of what stands before it
    body: str  # an example of what is repeated
    most: int


def tree_of(pattern: re.Pattern[str]) -> Any:
    """The parsed expression."""
    return _parser.parse(pattern.pattern, pattern.flags & ~re.DEBUG)


class Examples:
    """Examples of what the parts of one expression match; like classes give like characters."""

    def __init__(self, pattern: re.Pattern[str]) -> None:
        self.flags = pattern.flags & (re.I | re.A | re.S)
        self.tree = tree_of(pattern)
        self.favourite = self._favourite()

    def _favourite(self) -> str:
        """The characters that most classes take, the most welcome first."""
        counts = dict.fromkeys(ALPHABET, 0)
        for name, argument in nodes(self.tree):
            if name in ("IN", "ANY", "NOT_LITERAL"):
                for character in self.taken(name, argument):
                    counts[character] += 1
        return "".join(sorted(ALPHABET, key=lambda one: -counts[one]))

    def taken(self, name: str, argument: Any) -> str:
        """The characters that one item takes."""
        if name == "ANY":
            return ALPHABET if self.flags & re.S else ALPHABET.replace("\n", "")
        if name == "NOT_LITERAL":
            return ALPHABET.replace(chr(argument), "")
        return members_of(tuple(map(_frozen, argument)), self.flags)

    def example(self, items: Any, choice: int = 0) -> str:
        """A text that a sequence matches; of branches the one of this number."""
        return "".join(self.of_item(str(name), argument, choice) for name, argument in items)

    def of_item(self, name: str, argument: Any, choice: int) -> str:
        """A text that one item matches."""
        if name == "LITERAL":
            return chr(argument)
        if name in ("IN", "ANY", "NOT_LITERAL"):
            taken = self.taken(name, argument)
            return next((one for one in self.favourite if one in taken), "")
        if name == "BRANCH":
            branches = argument[1]
            return self.example(branches[choice % len(branches)], choice)
        if name == "SUBPATTERN":
            return self.example(argument[-1], choice)
        if name == "ATOMIC_GROUP":
            return self.example(argument, choice)
        if name.endswith("REPEAT"):
            least, most, body = argument
            return self.example(body, choice) * int(max(least, min(1, int(most))))
        return ""

    def steps(self, choice: int) -> Iterator[tuple[str, str]]:
        """An example of each item of the expression, with one of all before it."""
        before = ""
        for name, argument in self.tree:
            item = self.of_item(str(name), argument, choice)
            yield before, item
            before += item

    def repetitions(self, items: Any, before: str = "", choice: int = 0) -> Iterator[Repetition]:
        """Every part that may come several times, with an example of all before it."""
        for name, argument in items:
            inner = {"SUBPATTERN": lambda a=argument: [a[-1]], "ATOMIC_GROUP": lambda a=argument: [a]}
            if str(name).endswith("REPEAT"):
                _, most, body = argument
                yield Repetition(before, self.example(body, choice), int(most))
                yield from self.repetitions(body, before, choice)
            elif str(name) == "BRANCH":
                for branch in argument[1]:
                    yield from self.repetitions(branch, before, choice)
            elif str(name) in inner:
                for body in inner[str(name)]():
                    yield from self.repetitions(body, before, choice)
            elif str(name) in ("ASSERT", "ASSERT_NOT"):
                yield from self.repetitions(argument[1], before, choice)
            before += self.of_item(str(name), argument, choice)


def items_of(pattern: re.Pattern[str]) -> Iterator[tuple[int, list[int]]]:
    """Every repetition: how often at most, and how often at most what is repeated inside it."""
    for name, argument in nodes(tree_of(pattern)):
        if name.endswith("REPEAT"):
            deeper = [int(inner[1]) for one, inner in nodes(argument[2]) if one.endswith("REPEAT")]
            yield int(argument[1]), deeper


def inside_repetitions(pattern: re.Pattern[str]) -> Iterator[str]:
    """The names of all items that are repeated."""
    for name, argument in nodes(tree_of(pattern)):
        if name.endswith("REPEAT"):
            yield from (inner for inner, _ in nodes(argument[2]))


def nodes(items: Any) -> Iterator[tuple[str, Any]]:
    """Every item of a tree."""
    for name, argument in items:
        yield str(name), argument
        if str(name).endswith("REPEAT"):
            yield from nodes(argument[2])
        elif str(name) == "BRANCH":
            for branch in argument[1]:
                yield from nodes(branch)
        elif str(name) == "SUBPATTERN":
            yield from nodes(argument[-1])
        elif str(name) == "ATOMIC_GROUP":
            yield from nodes(argument)
        elif str(name) in ("ASSERT", "ASSERT_NOT"):
            yield from nodes(argument[1])


def _frozen(item: Any) -> tuple[str, Any]:
    return str(item[0]), item[1] if not isinstance(item[1], list) else tuple(item[1])


@lru_cache(maxsize=4096)
def members_of(items: tuple[tuple[str, Any], ...], flags: int) -> str:
    """The characters of the alphabet in a class."""
    return "".join(one for one in ALPHABET if _is_in(one, items, flags))


CATEGORIES = {
    "DIGIT": r"\d", "NOT_DIGIT": r"\D", "SPACE": r"\s", "NOT_SPACE": r"\S", "WORD": r"\w", "NOT_WORD": r"\W"
}  # fmt: skip


def _is_in(character: str, items: tuple[tuple[str, Any], ...], flags: int) -> bool:
    cases = {character, character.lower(), character.upper()} if flags & re.I else {character}
    negated = items[0][0] == "NEGATE"
    return negated != any(
        _is_of(one, name, argument) for one in cases for name, argument in items if len(one) == 1
    )


def _is_of(character: str, name: str, argument: Any) -> bool:
    if name == "LITERAL":
        return ord(character) == argument
    if name == "RANGE":
        return bool(argument[0] <= ord(character) <= argument[1])
    if name == "CATEGORY":
        return re.match(CATEGORIES[str(argument).removeprefix("CATEGORY_")], character) is not None
    return False


def units(pattern: re.Pattern[str]) -> set[tuple[str, str, str]]:
    """What to repeat, with what stands before and behind it: (before, repeated, behind)."""
    examples = Examples(pattern)
    found: set[tuple[str, str, str]] = set()
    for choice in range(2):
        whole = examples.example(examples.tree, choice)
        if whole:
            found |= {
                ("", whole, ""),
                ("", whole[:-1] or whole, "\x00"),
                ("", whole[: len(whole) // 2] or whole, ""),
            }
        found |= {(before, item, "\x00") for before, item in examples.steps(choice)}
        for one in examples.repetitions(examples.tree, choice=choice):
            if one.body and one.most > 1:
                found |= {("", one.body, near) for near in NEAR_MISSES}
                found |= {(one.before, one.body, "\x00")}
                found |= {("", one.before + one.body, "\x00")}
    found |= {("", character, "\x00") for character in examples.favourite[:2]}
    return {one for one in found if one[1]}


def bait(unit: tuple[str, str, str], length: int) -> str:
    """A text of about a length."""
    before, repeated, behind = unit
    return before + repeated * (length // len(repeated)) + behind


def cost(work: Callable[[str], object], text: str, times: int = 1) -> float:
    """Seconds of the processor that the work on a text takes, the best of several times."""
    best = float("inf")
    for _ in range(times):
        start = time.process_time()
        work(text)
        best = min(best, time.process_time() - start)
    return best
