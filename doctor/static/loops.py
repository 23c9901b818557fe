"""``for`` and ``while``."""

from __future__ import annotations

import ast

from doctor.static.compiling import block, compiles, expression, run_block, run_in_doubt
from doctor.static.comprehensions import items_of
from doctor.static.functions import Step, Steps
from doctor.static.logic import truth
from doctor.static.machine import Frame
from doctor.static.names import assign
from doctor.static.plain import UNKNOWN, Flow


@compiles(ast.For, ast.AsyncFor)
def _for(node: ast.For | ast.AsyncFor) -> Step:
    iterable, body, otherwise = expression(node.iter), block(node.body), block(node.orelse)

    def run(frame: Frame) -> Flow | None:
        items = items_of(iterable(frame))
        if items is None:
            assign(frame, node.target, UNKNOWN, expression)
            return _run_unknown_loop(body, frame)
        for item in items:
            assign(frame, node.target, item, expression)
            flow = run_block(body, frame)
            if flow == "return":
                return flow
            if flow == "break":
                return None
        return run_block(otherwise, frame)

    return run


def _run_unknown_loop(body: Steps, frame: Frame) -> Flow | None:
    """A loop over what is not known: a stage's own loops are taken to run, others may not."""
    if not frame.machine.deep:
        run_in_doubt(body, frame)
        return None
    flow = run_block(body, frame)
    return flow if flow == "return" else None


@compiles(ast.While)
def _while(node: ast.While) -> Step:
    test, body = expression(node.test), block(node.body)

    def run(frame: Frame) -> Flow | None:
        if truth(test(frame)) is False:
            return None
        return _run_unknown_loop(body, frame)

    return run
