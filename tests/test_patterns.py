"""No pattern that reads a paste takes more than its share of time: each is baited with itself.

What counts is how the work grows with the length of the bait, and only where it is worth counting at all.
"""

from __future__ import annotations

import ast
import pkgutil
import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

import doctor.readers.paste
import doctor.triage
from doctor.triage.noise import HARMLESS
from doctor.triage.recognition import symptom_rows, symptom_rules
from doctor.triage.suspecting import ambiguous
from tests.patterns import ENDLESS, bait, cost, inside_repetitions, items_of, units

ALONE = (
    "doctor.redact",
    "doctor.private_forms",
    "doctor.told_names",
    "doctor.plain",
    "doctor.driver_text",
    "doctor.failures",
)
SHORT, LONG = 12_000, 48_000  # characters
NOTHING = 0.03  # seconds; what is done sooner on SHORT has no square in it
MATCHING = {"match", "fullmatch"}
METHODS = MATCHING | {"search", "finditer", "findall", "sub", "subn", "split"}


def modules() -> list[ModuleType]:
    """The modules through which a paste goes."""
    names = [*ALONE]
    for package in (doctor.readers.paste, doctor.triage):
        names += [package.__name__]
        names += [one.name for one in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")]
    return [import_module(name) for name in names]


def inside(value: object, depth: int = 0) -> Iterator[re.Pattern[str]]:
    """Patterns of text in a value, however deep."""
    if isinstance(value, re.Pattern):
        if isinstance(value.pattern, str):
            yield value
    elif depth < 4 and isinstance(value, (tuple, list, set, frozenset)):
        for one in value:
            yield from inside(one, depth + 1)
    elif depth < 4 and isinstance(value, dict):
        for pair in value.items():
            yield from inside(pair, depth + 1)


def written_in(module: ModuleType) -> Iterator[re.Pattern[str]]:
    """Patterns in the code of functions: symptoms behind "re:", and arguments of re's functions."""
    assert module.__file__
    for node in ast.walk(ast.parse(Path(module.__file__).read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args:
            first = node.args[0]
            of_re = isinstance(node.func.value, ast.Name) and node.func.value.id == "re"
            if of_re and node.func.attr in METHODS and isinstance(first, ast.Constant):
                yield re.compile(str(first.value))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value[:3] == "re:":
            try:
                yield re.compile(node.value[3:])
            except re.error:
                continue  # the beginning of one that is put together; the whole of it is a symptom


def symptoms() -> Iterator[str]:
    """What every fault is known by."""
    yield from (symptom for rule in symptom_rules() for symptom in rule.symptoms)
    yield from (symptom for row in symptom_rows() for symptom in row.symptoms)
    yield from (row.message for row in ambiguous())
    yield from HARMLESS


@cache
def only_matched() -> frozenset[str]:
    """Names of patterns that are held against the beginning of a text alone, in all the code."""
    used: dict[str, set[str]] = {}
    for path in Path(doctor.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Attribute) and node.attr in METHODS:
                owner = node.value
                name = owner.id if isinstance(owner, ast.Name) else getattr(owner, "attr", "")
                used.setdefault(name, set()).add(node.attr)
    return frozenset(name for name, methods in used.items() if methods <= MATCHING)


def patterns() -> dict[re.Pattern[str], Callable[[str], object]]:
    """Every pattern, with the way of using it that costs most."""
    found: dict[re.Pattern[str], Callable[[str], object]] = {}
    for module in modules():
        for name, value in vars(module).items():
            for one in inside(value):
                direct = isinstance(value, re.Pattern) and name in only_matched()
                found.setdefault(one, one.match if direct else everywhere(one))
        for one in written_in(module):
            found.setdefault(one, everywhere(one))
    for symptom in symptoms():
        if symptom.startswith("re:"):
            one = re.compile(symptom[3:])
            found.setdefault(one, everywhere(one))
    return found


def everywhere(pattern: re.Pattern[str]) -> Callable[[str], object]:
    """Looks for all matches."""
    return lambda text: [0 for _ in pattern.finditer(text)]


PATTERNS = patterns()


def test_the_patterns_are_found() -> None:
    assert len(PATTERNS) > 800
    assert any("cannot import name" in one.pattern for one in PATTERNS)


def test_no_repetition_without_an_end_repeats_another() -> None:
    """``(a+)+`` takes time without bounds, whatever its bait."""
    nested = [
        pattern.pattern
        for pattern in PATTERNS
        for most, inner in items_of(pattern)
        if most >= ENDLESS and any(deeper >= ENDLESS for deeper in inner)
    ]
    assert nested == []


def grows(work: Callable[[str], object], unit: tuple[str, str, str], ladder: Sequence[int]) -> bool:
    """Does the work grow faster than the bait, each time it is measured?

    The first steps are short, for a pattern that takes exponential time takes it there already.
    """
    if any(is_worth_counting(work, bait(unit, length)) for length in ladder):
        return True
    if not is_worth_counting(work, bait(unit, SHORT)):
        return False
    return all(cost(work, bait(unit, LONG)) > 10 * cost(work, bait(unit, SHORT), 2) for _ in range(4))


def is_worth_counting(work: Callable[[str], object], text: str) -> bool:
    """Does the work take time, each time it is measured?"""
    return cost(work, text) >= NOTHING and cost(work, text) >= NOTHING


def ladder_for(pattern: re.Pattern[str]) -> Sequence[int]:
    """Lengths on which no work is worth counting: step by step where a repeated part can be read two ways."""
    nested = any(name.endswith("REPEAT") or name == "BRANCH" for name in inside_repetitions(pattern))
    return (*range(12, 64, 4), 96, 160, 400, 1000) if nested else (200, 1000)


@pytest.mark.parametrize("part", range(8))
def test_four_times_the_bait_takes_four_times_the_work(part: int) -> None:
    for pattern, work in list(PATTERNS.items())[part::8]:
        ladder = ladder_for(pattern)
        for unit in sorted(units(pattern)):
            assert not grows(work, unit, ladder), (pattern.pattern, unit)


@pytest.mark.parametrize(
    "expression",
    [
        r"(a+)+$",
        r"\s*x",
        r"a*a*b",
        r"<.*>.*<",
        r"(?:a|aa)+$",
        r"x[^y]*z",
        r"(?:\w+\.?)+:",
        r"(?:a{1,30}b?){1,9}c",
    ],
)
def test_a_pattern_that_backtracks_is_caught(expression: str) -> None:
    pattern = re.compile(expression)
    ladder = ladder_for(pattern)
    assert any(grows(everywhere(pattern), unit, ladder) for unit in sorted(units(pattern)))
