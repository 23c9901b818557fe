"""Comprehensions over what is known; over anything else they are UNKNOWN."""

from __future__ import annotations

import ast
from typing import TypeAlias

from doctor.static.compiling import Expression, compiles, expression
from doctor.static.logic import truth
from doctor.static.machine import Frame
from doctor.static.names import assign
from doctor.static.plain import (
    UNKNOWN,
    Dict,
    List,
    Set,
    Value,
)

Comprehension: TypeAlias = "ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp"
LONGEST = 5000  # items over which a loop is followed


class NotKnown(Exception):
    """The items, or which of them count, cannot be told."""


def items_of(value: Value) -> list[Value] | None:
    """The items of an iterable that is known, None of any other."""
    if isinstance(value, (list, tuple, set, frozenset, dict, str, range)) and len(value) <= LONGEST:
        return None if getattr(value, "doubtful", False) or getattr(value, "open", False) else list(value)
    return None


@compiles(ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp)
def _comprehension(node: Comprehension) -> Expression:
    """The closure of a comprehension or generator expression."""
    loops = [
        (expression(loop.iter), loop.target, [expression(test) for test in loop.ifs])
        for loop in node.generators
    ]
    key = expression(node.key) if isinstance(node, ast.DictComp) else None
    element = expression(node.value if isinstance(node, ast.DictComp) else node.elt)

    def collect(frame: Frame, depth: int, found: list[Value]) -> None:
        if depth == len(loops):
            found.append((key(frame), element(frame)) if key else element(frame))
            return
        iterable, target, tests = loops[depth]
        items = items_of(iterable(frame))
        if items is None:
            raise NotKnown
        for item in items:
            assign(frame, target, item, expression)
            if _passes(frame, tests):
                collect(frame, depth + 1, found)

    def evaluate(frame: Frame) -> Value:
        found: list[Value] = []
        try:
            collect(frame.inner({}), 0, found)
            return _made(node, found, frame.machine.doubt)
        except (NotKnown, TypeError):
            return UNKNOWN

    return evaluate


def _passes(frame: Frame, tests: list[Expression]) -> bool:
    for test in tests:
        holds = truth(test(frame))
        if isinstance(holds, bool):
            if not holds:
                return False
        else:
            raise NotKnown
    return True


def _made(node: Comprehension, found: list[Value], birth: int) -> Value:
    if isinstance(node, ast.DictComp):
        return Dict(found, birth)
    return Set(found, birth) if isinstance(node, ast.SetComp) else List(found, birth)
