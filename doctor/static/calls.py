"""``callee(...)`` for every kind of callee."""

from __future__ import annotations

from itertools import takewhile

from doctor.static.attributes import instantiate
from doctor.static.compiling import run_block
from doctor.static.functions import bind, check
from doctor.static.intrinsics import INTRINSICS, REPLACED
from doctor.static.machine import Frame, Machine
from doctor.static.methods import call_method
from doctor.static.plain import (
    UNKNOWN,
    Value,
    concrete,
)
from doctor.static.signals import OutOfBudget, Raised
from doctor.static.values import (
    Arguments,
    Bound,
    Class,
    External,
    Function,
    Instance,
    Method,
    Partial,
    Possibly,
    either,
    leave_open,
)

MOST_RECURSION = 3  # activations of one function at a time


def call(machine: Machine, callee: Value, arguments: Arguments) -> Value:
    """The result, UNKNOWN where the callee is not interpreted and no intrinsic."""
    if isinstance(callee, Function):
        return invoke(machine, callee, arguments)
    if isinstance(callee, Bound):
        return invoke(machine, callee.function, _with(arguments, [callee.receiver, *arguments.positional]))
    if isinstance(callee, External):
        intrinsic = INTRINSICS.get(callee.path)
        return intrinsic(machine, arguments) if intrinsic else UNKNOWN
    if isinstance(callee, Class):
        return instantiate(machine, callee, arguments)
    if isinstance(callee, Method):
        return call_method(machine, callee.receiver, callee.name, arguments)
    if isinstance(callee, Partial):
        given = callee.arguments
        merged = Arguments(
            [*given.positional, *arguments.positional],
            {**given.keywords, **arguments.keywords},
            given.open_positional or arguments.open_positional,
            given.open_keywords or arguments.open_keywords,
        )
        return call(machine, callee.callee, merged)
    if isinstance(callee, Possibly):
        return call(machine, callee.value, arguments)
    if isinstance(callee, Instance) and (found := callee.cls.find("__call__")):
        return call(machine, found[0], _with(arguments, [callee, *arguments.positional]))
    return UNKNOWN


def _with(arguments: Arguments, positional: list[Value]) -> Arguments:
    return Arguments(positional, arguments.keywords, arguments.open_positional, arguments.open_keywords)


def invoke(machine: Machine, function: Function, arguments: Arguments) -> Value:
    """Run a function's body with its parameters bound."""
    code = function.code
    replaced = REPLACED.get(code.name)
    if replaced:
        return replaced(machine, arguments)
    check(machine, function, arguments)
    if _not_followed(machine, function):
        leave_open(arguments.positional)
        return UNKNOWN
    key = _memory_key(function, arguments)
    if key is not None and key in machine.remembered:
        return machine.remembered[key]
    result = _run(machine, function, arguments)
    if key is not None:
        machine.remembered[key] = result
    return result


def _not_followed(machine: Machine, function: Function) -> bool:
    """Is a call too deep, too often nested in itself, or to a generator that nobody may run?"""
    code = function.code
    if machine.calls >= machine.deepest or "contextmanager" in code.decorators:
        return True
    if code.generator and not machine.deep:
        return True
    since_import = takewhile(lambda frame: frame.function, reversed(machine.frames))
    return sum(frame.running is function for frame in since_import) >= MOST_RECURSION


def _memory_key(function: Function, arguments: Arguments) -> object:
    if not function.code.remembers or arguments.open:
        return None
    given = (*arguments.positional, *arguments.keywords.items())
    try:
        return (id(function), given) if all(concrete(value) for value in given) and hash(given) else None
    except TypeError:
        return None


def _run(machine: Machine, function: Function, arguments: Arguments) -> Value:
    outermost = machine.calls == 0 and not machine.deep
    if outermost:
        machine.steps = 0
    frame = _frame(machine, function, arguments)
    doubt, tries = machine.doubt, machine.tries
    machine.calls += 1
    machine.frames.append(frame)
    try:
        flow = run_block(function.code.steps, frame)
    except OutOfBudget:
        leave_open(arguments.positional)
        if not outermost:
            raise
        return UNKNOWN
    except Raised as error:
        if frame.left or (error.doubted and not tries):
            leave_open(arguments.positional)
            return UNKNOWN
        raise
    finally:
        machine.frames.pop()
        machine.calls -= 1
        machine.doubt, machine.tries = doubt, tries
    return _result(frame, function, flow == "return")


def _frame(machine: Machine, function: Function, arguments: Arguments) -> Frame:
    code = function.code
    names: dict[str, Value] = {}
    bind(function, arguments, names, machine.doubt)
    frame = Frame(machine, function.module, names, function.outer)
    frame.function, frame.running = True, function
    frame.line = code.line
    if function.owner is not None:
        frame.cls = function.owner
        frame.receiver = names.get(code.positional[0]) if code.positional and not code.is_static else None
    elif function.outer is not None:
        frame.cls, frame.receiver = function.outer.cls, function.outer.receiver
    return frame


def _result(frame: Frame, function: Function, returned: bool) -> Value:
    if function.code.coroutine or function.code.generator:
        return UNKNOWN
    result = frame.result if returned else None
    return either([result, *frame.returns]) if frame.returns else result
