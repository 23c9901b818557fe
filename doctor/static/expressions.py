"""Names, attributes, calls, items and displays."""

from __future__ import annotations

import ast
from typing import Any

from doctor.static.compiling import Expression, compiles, expression, unknown
from doctor.static.items import item_of
from doctor.static.machine import Frame
from doctor.static.names import assign, lookup
from doctor.static.plain import UNKNOWN, Dict, List, Set, Value, concrete
from doctor.static.signals import text_of
from doctor.static.values import Arguments, Class, Instance, Super


@compiles(ast.Constant)
def _constant(node: ast.Constant) -> Expression:
    value = node.value
    return lambda frame: value


@compiles(ast.Name)
def _name(node: ast.Name) -> Expression:
    wanted = node.id

    def evaluate(frame: Frame) -> Value:
        names = frame.names
        if wanted in names and not frame.global_names:
            return names[wanted]
        return lookup(frame, wanted)

    return evaluate


@compiles(ast.Attribute)
def _attribute(node: ast.Attribute) -> Expression:
    owner, wanted, line = expression(node.value), node.attr, node.lineno

    def evaluate(frame: Frame) -> Value:
        value = owner(frame)
        if value is UNKNOWN:
            return UNKNOWN
        frame.line = line
        return frame.machine.operations.attribute(frame.machine, value, wanted)

    return evaluate


@compiles(ast.Call)
def _call(node: ast.Call) -> Expression:
    if isinstance(node.func, ast.Name) and node.func.id == "super" and not node.args:
        return _super
    callee, line = expression(node.func), node.lineno
    positional = [(expression(_bare(arg)), isinstance(arg, ast.Starred)) for arg in node.args]
    keywords = [(expression(keyword.value), keyword.arg) for keyword in node.keywords]

    def evaluate(frame: Frame) -> Value:
        function = callee(frame)
        arguments = Arguments()
        for value, starred in positional:
            _add_positional(arguments, value(frame), starred)
        for value, keyword in keywords:
            _add_keyword(arguments, value(frame), keyword)
        if function is UNKNOWN:
            return UNKNOWN
        frame.line = line
        return frame.machine.operations.call(frame.machine, function, arguments)

    return evaluate


def _bare(node: ast.expr) -> ast.expr:
    return node.value if isinstance(node, ast.Starred) else node


def _add_positional(arguments: Arguments, value: Value, starred: bool) -> None:
    if not starred:
        arguments.positional.append(value)
    elif isinstance(value, (list, tuple)) and not getattr(value, "doubtful", False):
        arguments.positional.extend(value)
    else:
        arguments.open_positional = True


def _add_keyword(arguments: Arguments, value: Value, keyword: str | None) -> None:
    if keyword is not None:
        arguments.keywords[keyword] = value
    elif isinstance(value, dict):
        uncertain = getattr(value, "uncertain", ())
        sure = {key: item for key, item in value.items() if isinstance(key, str) and key not in uncertain}
        arguments.keywords.update(sure)
        if getattr(value, "open", False) or len(sure) < len(value):
            arguments.open_keywords = True
    else:
        arguments.open_keywords = True


def _super(frame: Frame) -> Value:
    if frame.cls is not None and isinstance(frame.receiver, (Instance, Class)):
        return Super(frame.cls, frame.receiver)
    return UNKNOWN


@compiles(ast.Tuple, ast.List, ast.Set)
def _sequence(node: ast.Tuple | ast.List | ast.Set) -> Expression:
    parts = [(expression(_bare(part)), isinstance(part, ast.Starred)) for part in node.elts]
    kind = type(node)

    def evaluate(frame: Frame) -> Value:
        items: list[Value] = []
        for part, starred in parts:
            value = part(frame)
            if not starred:
                items.append(value)
            elif isinstance(value, (list, tuple, set, frozenset, dict)):
                items.extend(value)
            else:
                return UNKNOWN
        if kind is ast.Tuple:
            return tuple(items)
        try:
            return (List if kind is ast.List else Set)(items, frame.machine.doubt)
        except TypeError:
            return UNKNOWN

    return evaluate


@compiles(ast.Dict)
def _dictionary(node: ast.Dict) -> Expression:
    parts = [
        (expression(key) if key else None, expression(value))
        for key, value in zip(node.keys, node.values, strict=True)
    ]

    def evaluate(frame: Frame) -> Value:
        made = Dict((), frame.machine.doubt)
        for key, item in parts:
            value = item(frame)
            if key is None:
                _spread(made, value)
                continue
            try:
                made[key(frame)] = value
            except TypeError:
                made.open = True
        if UNKNOWN in made:
            made.open = True
        return made

    return evaluate


def _spread(made: Dict, value: Value) -> None:
    if isinstance(value, dict):
        made.update(value)
        made.open = made.open or getattr(value, "open", False)
        made.uncertain |= getattr(value, "uncertain", set())
    else:
        made.open = True


@compiles(ast.Subscript)
def _subscript(node: ast.Subscript) -> Expression:
    owner, line = expression(node.value), node.lineno
    if isinstance(node.slice, ast.Slice):
        bounds = [
            expression(part) if part else None
            for part in (node.slice.lower, node.slice.upper, node.slice.step)
        ]

        def cut(frame: Frame) -> Value:
            value = owner(frame)
            limits = [bound(frame) if bound else None for bound in bounds]
            if not isinstance(value, (str, list, tuple)) or not all(concrete(limit) for limit in limits):
                return UNKNOWN
            return value[slice(*limits)]

        return cut
    key = expression(node.slice)

    def evaluate(frame: Frame) -> Value:
        value, wanted = owner(frame), key(frame)
        frame.line = line
        return item_of(frame, value, wanted)

    return evaluate


@compiles(ast.JoinedStr)
def _formatted(node: ast.JoinedStr) -> Expression:
    parts = [expression(part.value if isinstance(part, ast.FormattedValue) else part) for part in node.values]

    def evaluate(frame: Frame) -> Value:
        return "".join(text_of(part(frame)) for part in parts)

    return evaluate


@compiles(ast.NamedExpr)
def _walrus(node: ast.NamedExpr) -> Expression:
    inner = expression(node.value)

    def evaluate(frame: Frame) -> Value:
        value = inner(frame)
        assign(frame, node.target, value, expression)
        return value

    return evaluate


@compiles(ast.Starred, ast.Await, ast.Yield, ast.YieldFrom)
def _inner_value(node: Any) -> Expression:
    inner = expression(node.value) if node.value else unknown

    def evaluate(frame: Frame) -> Value:
        inner(frame)
        return UNKNOWN

    return evaluate
