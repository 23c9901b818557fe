"""The script's own functions and classes: what their parameters are, what they hand on."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from doctor.readers.script.reading import FunctionNode, Reading, Scope
from doctor.readers.script.values import UNKNOWN, joined
from doctor.script import LOCAL, Class, Made, Method, Value


def parameters_of(node: FunctionNode, scope: Scope, reading: Reading) -> Iterator[tuple[str, Value]]:
    """Each parameter of a function with what it may be: its default, and what the script's own calls give."""
    arguments = node.args
    plain = [*arguments.posonlyargs, *arguments.args]
    for place, one in enumerate([*plain, *arguments.kwonlyargs]):
        if place == 0 and scope.class_name and one.arg in ("self", "cls"):
            yield one.arg, Value(made=(Made(type=LOCAL + scope.class_name, call=-1),))
        else:
            yield one.arg, given(reading, scope.name, one.arg)
    for rest in (arguments.vararg, arguments.kwarg):
        if rest:
            yield rest.arg, given(reading, scope.name, rest.arg)


def given(reading: Reading, function: str, name: str) -> Value:
    """What the calls of the last round gave for a parameter; others may give something else."""
    found = reading.before.parameters.get((function, name), UNKNOWN)
    return joined(found, UNKNOWN)


def class_of(node: ast.ClassDef, name: str, bases: tuple[str, ...], reading: Reading) -> Class:
    """A class by its head and the signatures in its body."""
    functions = [one for one in node.body if isinstance(one, FunctionNode)]
    own = next((one for one in functions if one.name == "__init__"), None)
    return Class(
        name=name,
        bases=bases,
        fields=tuple(fields_of(node)),
        parameters=tuple(init_parameters(own)) if own else None,
        forwards=own is not None and forwards_rest(own),
        methods=tuple(method_of(one, reading) for one in functions),
        place=reading.place(node),
    )


def fields_of(node: ast.ClassDef) -> Iterator[str]:
    """The names that a class declares anew, as a dataclass does."""
    for one in node.body:
        if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name):
            yield one.target.id


def init_parameters(node: FunctionNode) -> Iterator[str]:
    """What an ``__init__`` takes for itself: its parameters, and what it pops from ``**kwargs``."""
    arguments = node.args
    yield from (one.arg for one in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs))
    rest = arguments.kwarg.arg if arguments.kwarg else ""
    for call in ast.walk(node):
        if (
            isinstance(call, ast.Call)
            and ast.unparse(call.func) == f"{rest}.pop"
            and call.args
            and isinstance(call.args[0], ast.Constant)
        ):
            yield str(call.args[0].value)


def forwards_rest(node: FunctionNode) -> bool:
    """Does an ``__init__`` hand its ``**kwargs`` on, as they are?"""
    rest = node.args.kwarg.arg if node.args.kwarg else ""
    return bool(rest) and any(
        isinstance(call, ast.Call)
        and ast.unparse(call.func).endswith("__init__")
        and any(one.arg is None and ast.unparse(one.value) == rest for one in call.keywords)
        for call in ast.walk(node)
    )


def method_of(node: FunctionNode, reading: Reading) -> Method:
    """The signature of one method."""
    arguments = node.args
    names = tuple(one.arg for one in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs))
    return Method(
        name=node.name, parameters=names, takes_any=bool(arguments.kwarg), place=reading.place(node)
    )
