"""``try`` and ``raise``."""

from __future__ import annotations

import ast

from doctor.static.compiling import Expression, block, compiles, expression, run_block
from doctor.static.functions import Step, Steps
from doctor.static.machine import Frame
from doctor.static.plain import (
    Flow,
)
from doctor.static.signals import Raised, text_of
from doctor.static.values import External, Instance

TRIES = (ast.Try, *([ast.TryStar] if hasattr(ast, "TryStar") else []))


@compiles(*TRIES)
def _try(node: ast.Try) -> Step:
    """``try`` with its handlers, which are matched by the names of the classes."""
    body, otherwise, last = block(node.body), block(node.orelse), block(node.finalbody)
    handlers = [(_caught(handler.type), handler.name, block(handler.body)) for handler in node.handlers]

    def guarded(frame: Frame) -> Flow | None:
        machine = frame.machine
        doubt = machine.doubt - frame.departures
        machine.tries += 1
        try:
            flow = run_block(body, frame)
        finally:
            machine.tries -= 1
        # Doubt that arose where an exception cut off a branch does not outlast the statement.
        machine.doubt = doubt + frame.departures
        return flow or run_block(otherwise, frame)

    def handled(frame: Frame) -> Flow | None:
        doubt = frame.machine.doubt - frame.departures
        try:
            return guarded(frame)
        except Raised as error:
            frame.machine.doubt = doubt + frame.departures
            for kinds, name, steps in handlers:
                if error.kinds & kinds:
                    return _handle(frame, error, name, steps)
            raise

    def run(frame: Frame) -> Flow | None:
        try:
            flow = handled(frame)
        except Raised:
            if left := run_block(last, frame):
                return left
            raise
        return run_block(last, frame) or flow

    return run if last else handled


def _caught(node: ast.expr | None) -> frozenset[str]:
    if node is None:
        return frozenset(("BaseException",))
    classes = node.elts if isinstance(node, ast.Tuple) else [node]
    return frozenset(ast.unparse(cls).rpartition(".")[2] for cls in classes)


def _handle(frame: Frame, error: Raised, name: str | None, steps: Steps) -> Flow | None:
    before = frame.handled
    frame.handled = error
    if name:
        frame.names[name] = error
    try:
        return run_block(steps, frame)
    finally:
        frame.handled = before


@compiles(ast.Raise)
def _raise(node: ast.Raise) -> Step:
    """``raise``, with what was handled at the time as its cause."""
    raised = expression(node.exc) if node.exc and not isinstance(node.exc, ast.Call) else None
    callee = expression(node.exc.func) if isinstance(node.exc, ast.Call) else None
    message = expression(node.exc.args[0]) if isinstance(node.exc, ast.Call) and node.exc.args else None
    cause = expression(node.cause) if node.cause else None

    def run(frame: Frame) -> Flow | None:
        error = _raised(frame, raised or callee, message)
        origin = cause(frame) if cause else frame.handled
        if isinstance(origin, Raised) and origin is not error and error.cause is None:
            error.cause = origin
            error.doubted = origin.doubted
        raise error

    return run


def _raised(frame: Frame, thrown: Expression | None, message: Expression | None) -> Raised:
    if thrown is None:
        nothing = "No active exception to reraise"
        return frame.handled or frame.machine.refusal(External("builtins.RuntimeError"), nothing)
    value = thrown(frame)
    if isinstance(value, Raised):
        return value
    cls = value.cls if isinstance(value, Instance) else value
    return frame.machine.refusal(cls, text_of(message(frame)) if message else "")
