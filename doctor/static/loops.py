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
from doctor.static.signals import Raised
from doctor.static.values import leave_open


@compiles(ast.For, ast.AsyncFor)
def _for(node: ast.For | ast.AsyncFor) -> Step:
    iterable, body, otherwise = expression(node.iter), block(node.body), block(node.orelse)

    def run(frame: Frame) -> Flow | None:
        items = items_of(iterable(frame))
        if items is None:
            assign(frame, node.target, UNKNOWN, expression)
            return _unknown_turns(body, frame)
        for item in items:
            assign(frame, node.target, item, expression)
            flow = _turn(body, frame)
            if flow == "return":
                return flow
            if flow == "break":
                return None
        return run_block(otherwise, frame)

    return _loop(run)


@compiles(ast.While)
def _while(node: ast.While) -> Step:
    test, body = expression(node.test), block(node.body)

    def run(frame: Frame) -> Flow | None:
        if truth(test(frame)) is False:
            return None
        return _unknown_turns(body, frame)

    return _loop(run)


def _unknown_turns(body: Steps, frame: Frame) -> Flow | None:
    """A loop over what is not known: a stage's own loops are taken to run, others may not."""
    if not frame.machine.deep:
        run_in_doubt(body, frame)
        return None
    flow = _turn(body, frame)
    return flow if flow == "return" else None


def _turn(body: Steps, frame: Frame) -> Flow | None:
    """One turn. After a ``continue`` in doubt the rest of it is in doubt; the next turn is not."""
    skipped = frame.skipped
    try:
        return run_block(body, frame)
    except Raised:
        if frame.skipped == skipped:
            raise
        leave_open([frame.receiver])
        return None
    finally:
        frame.machine.doubt -= frame.skipped - skipped
        frame.skipped = skipped


def _loop(run: Step) -> Step:
    """A loop. After a ``break`` in doubt the rest of it is in doubt; what follows the loop is not."""

    def loop(frame: Frame) -> Flow | None:
        broken, skipped = frame.broken, frame.skipped
        try:
            return run(frame)
        except Raised:
            if frame.broken == broken:
                raise
            leave_open([frame.receiver])
            return None
        finally:
            frame.machine.doubt -= frame.broken - broken + frame.skipped - skipped
            frame.broken, frame.skipped = broken, skipped

    return loop
