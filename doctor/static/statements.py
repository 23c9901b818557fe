"""Assignments, ``if``, ``with`` and the like."""

from __future__ import annotations

import ast
from typing import Any

from doctor.static.compiling import block, compiles, expression, run_block, run_in_doubt
from doctor.static.functions import Step
from doctor.static.logic import arithmetic, truth
from doctor.static.machine import Frame
from doctor.static.names import assign, bind_name, touch
from doctor.static.plain import UNKNOWN, Flow, List, Value
from doctor.static.signals import Raised
from doctor.static.values import REQUIRED, Instance


@compiles(ast.Expr)
def _expression(node: ast.Expr) -> Step:
    value = expression(node.value)

    def run(frame: Frame) -> Flow | None:
        value(frame)
        return None

    return run


@compiles(ast.If)
def _if(node: ast.If) -> Step:
    test, body, otherwise = expression(node.test), block(node.body), block(node.orelse)

    def run(frame: Frame) -> Flow | None:
        holds = truth(test(frame))
        if holds is not UNKNOWN:
            return run_block(body if holds else otherwise, frame)
        first = run_in_doubt(body, frame)
        second = run_in_doubt(otherwise, frame) if otherwise else None
        if first == second == "return":
            frame.result = UNKNOWN
            return "return"
        return None

    return run


@compiles(ast.Assign)
def _assign(node: ast.Assign) -> Step:
    value = expression(node.value)
    if len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
        name = node.targets[0].id

        def run_simple(frame: Frame) -> Flow | None:
            bind_name(frame, name, value(frame))
            return None

        return run_simple

    def run(frame: Frame) -> Flow | None:
        computed = value(frame)
        for target in node.targets:
            assign(frame, target, computed, expression)
        return None

    return run


@compiles(ast.AnnAssign)
def _annotated(node: ast.AnnAssign) -> Step:
    value = expression(node.value) if node.value else None
    annotation = expression(node.annotation)
    text = ast.unparse(node.annotation).strip("\"'")
    is_field = isinstance(node.target, ast.Name) and not text.startswith(("ClassVar", "typing.ClassVar"))

    def run(frame: Frame) -> Flow | None:
        computed = value(frame) if value else REQUIRED
        if not frame.function and not frame.module.postponed:
            annotation(frame)
        if value:
            assign(frame, node.target, computed, expression)
        if is_field and "__fields__" in frame.names:
            frame.names["__fields__"][ast.unparse(node.target)] = computed
        return None

    return run


@compiles(ast.AugAssign)
def _augmented(node: ast.AugAssign) -> Step:
    readable: Any = ast.copy_location(_loaded(node.target), node)
    old, new, kind = expression(readable), expression(node.value), type(node.op)

    def run(frame: Frame) -> Flow | None:
        left, right = old(frame), new(frame)
        if isinstance(left, List) and isinstance(right, (list, tuple)) and kind is ast.Add:
            touch(frame, left, [])
            left.extend(right)
        else:
            assign(frame, node.target, arithmetic(kind, left, right), expression)
        return None

    return run


def _loaded(target: ast.expr) -> ast.expr:
    if isinstance(target, ast.Name):
        return ast.Name(target.id, ast.Load())
    if isinstance(target, ast.Attribute):
        return ast.copy_location(ast.Attribute(target.value, target.attr, ast.Load()), target)
    return target


@compiles(ast.With, ast.AsyncWith)
def _with(node: ast.With | ast.AsyncWith) -> Step:
    items = [(expression(item.context_expr), item.optional_vars) for item in node.items]
    body = block(node.body)
    suppressed = frozenset(name for item in node.items for name in _suppressed(item.context_expr))

    def run(frame: Frame) -> Flow | None:
        for context, target in items:
            value = context(frame)
            if target is not None:
                assign(frame, target, value if isinstance(value, Instance) else UNKNOWN, expression)
        frame.machine.tries += bool(suppressed)
        try:
            return run_block(body, frame)
        except Raised as error:
            if error.kinds & suppressed:
                return None
            raise
        finally:
            frame.machine.tries -= bool(suppressed)

    return run


def _suppressed(node: ast.expr) -> list[str]:
    if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] == "suppress":
        return [ast.unparse(arg).rpartition(".")[2] for arg in node.args]
    return []


@compiles(ast.Return)
def _return(node: ast.Return) -> Step:
    value = expression(node.value) if node.value else None

    def run(frame: Frame) -> Flow | None:
        frame.result = value(frame) if value else None
        return "return"

    return run


@compiles(ast.Global)
def _global(node: ast.Global) -> Step:
    def run(frame: Frame) -> Flow | None:
        frame.global_names.update(node.names)
        return None

    return run


@compiles(ast.Delete)
def _delete(node: ast.Delete) -> Step:
    def run(frame: Frame) -> Flow | None:
        for target in node.targets:
            if isinstance(target, ast.Name):
                frame.names.pop(target.id, None)
            elif isinstance(target, ast.Subscript):
                _delete_item(frame, expression(target.value)(frame), expression(target.slice)(frame))
        return None

    return run


def _delete_item(frame: Frame, holder: Value, key: Value) -> None:
    if isinstance(holder, dict) and isinstance(key, str):
        touch(frame, holder, [key])
        holder.pop(key, None)


@compiles(ast.Match)
def _match(node: ast.Match) -> Step:
    cases = [block(case.body) for case in node.cases]

    def run(frame: Frame) -> Flow | None:
        for case in cases:
            run_in_doubt(case, frame)
        return None

    return run


@compiles(ast.Break)
def _break(node: ast.Break) -> Step:
    return lambda frame: "break"


@compiles(ast.Continue)
def _continue(node: ast.Continue) -> Step:
    return lambda frame: "continue"
