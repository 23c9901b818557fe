"""Syntax to closures: the registry of compilers, and how blocks run.

An expression becomes a function from frame to value, a statement one that tells whether the flow leaves the
block, and how. The compilers stand in ``expressions``, ``operators``, ``statements``, ``loops``, ``imports``,
``definitions`` and ``exceptions``, each marked with the nodes that it compiles.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias, TypeVar

from doctor.static.functions import Step, Steps
from doctor.static.machine import Frame
from doctor.static.plain import UNKNOWN, Flow, Value
from doctor.static.signals import Raised
from doctor.static.values import leave_open

Expression: TypeAlias = Callable[[Frame], Value]
Compiler = TypeVar("Compiler", bound=Callable[[Any], Any])
EXPRESSIONS: dict[type[ast.AST], Callable[[Any], Expression]] = {}
STATEMENTS: dict[type[ast.AST], Callable[[Any], Step]] = {}


def compiles(*kinds: type[ast.AST]) -> Callable[[Compiler], Compiler]:
    """Mark the compiler of these kinds of node."""

    def register(compiler: Compiler) -> Compiler:
        for kind in kinds:
            (STATEMENTS if issubclass(kind, ast.stmt) else EXPRESSIONS)[kind] = compiler
        return compiler

    return register


def expression(node: ast.expr) -> Expression:
    """The closure that evaluates a node."""
    compiler = EXPRESSIONS.get(type(node))
    return compiler(node) if compiler else unknown


def unknown(frame: Frame) -> Value:
    """What evaluates to nothing that is known."""
    return UNKNOWN


def block(body: Iterable[ast.stmt]) -> Steps:
    """The closures of a block."""
    return tuple(statement(node) for node in body if not _is_text(node))


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Pass) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))


def statement(node: ast.stmt) -> Step:
    """The closure of one statement, which first says where the program is."""
    compiler = STATEMENTS.get(type(node))
    run: Step = compiler(node) if compiler else _nothing
    line = node.lineno

    def step(frame: Frame) -> Flow | None:
        frame.line = line
        return run(frame)

    return step


def _nothing(frame: Frame) -> Flow | None:
    return None


def run_block(steps: Steps, frame: Frame) -> Flow | None:
    """Run statement by statement until one leaves."""
    if not frame.function:
        for step in steps:
            if flow := step(frame):
                return flow
        return None
    spend = frame.machine.spend
    for step in steps:
        spend()
        if flow := step(frame):
            return flow
    return None


def run_in_doubt(steps: Steps, frame: Frame) -> Flow | None:
    """Run what may not run at all: what it raises is not believed, what it returns is one possibility."""
    machine = frame.machine
    machine.doubt += 1
    try:
        flow = run_block(steps, frame)
    except Raised as error:
        if not (error.ask and error.ask.kind == "refused"):
            leave_open([frame.receiver])
        return None
    finally:
        machine.doubt -= 1
    if flow is None:
        return None
    machine.doubt += 1  # what follows may not be reached
    if flow == "return":
        frame.returns.append(frame.result)
        frame.left += 1
    elif flow == "break":
        frame.broken += 1
    else:
        frame.skipped += 1
    return flow


def evaluate_in_doubt(frame: Frame, evaluate: Expression) -> Value:
    """Evaluate what may not be evaluated at all: what it raises is not believed."""
    frame.machine.doubt += 1
    try:
        return evaluate(frame)
    except Raised:
        return UNKNOWN
    finally:
        frame.machine.doubt -= 1
