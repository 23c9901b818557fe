"""Functions of Python and its library whose effect is known without interpreting them."""

from __future__ import annotations

import builtins
import json
import operator
import os.path
import re
from collections.abc import Callable
from typing import Any

from doctor.static.attributes import fields_of
from doctor.static.builtin_functions import BUILTIN_FUNCTIONS
from doctor.static.import_structure import define_import_structure
from doctor.static.logic import ordered
from doctor.static.machine import Machine
from doctor.static.plain import (
    UNKNOWN,
    Dict,
    List,
    Value,
    concrete,
)
from doctor.static.presence import PRESENCE, Intrinsic, first
from doctor.static.signals import text_of
from doctor.static.torch_facts import TORCH
from doctor.static.values import (
    REQUIRED,
    Arguments,
    Bound,
    Class,
    External,
    Function,
    Instance,
    Method,
    Partial,
    Path,
    Signature,
)

EXCEPTIONS = [
    name for name, cls in vars(builtins).items() if isinstance(cls, type) and issubclass(cls, BaseException)
]


def _pure(function: Callable[..., Any]) -> Intrinsic:
    """A function without effects, called for real where its arguments are known."""

    def run(machine: Machine, arguments: Arguments) -> Value:
        given = [*arguments.positional, *arguments.keywords.values()]
        if arguments.open or not all(concrete(value) for value in given):
            return UNKNOWN
        try:
            made = function(*arguments.positional, **arguments.keywords)
        except Exception:
            return UNKNOWN
        if type(made) is dict:
            return Dict(made, machine.doubt)
        return List(made, machine.doubt) if type(made) is list else made

    return run


def _compared(how: Callable[[Any, Any], Any]) -> Intrinsic:
    """``operator.lt`` and its kin."""

    def run(machine: Machine, arguments: Arguments) -> Value:
        if len(arguments.positional) != 2:
            return UNKNOWN
        return ordered(machine, how, *arguments.positional)

    return run


def _copied(machine: Machine, arguments: Arguments) -> Value:
    value = first(arguments)
    if isinstance(value, Dict):
        return machine.call(Method(value, "copy"))
    if isinstance(value, List) and not value.doubtful:
        return List(value, machine.doubt)
    return value


def _as_dict(machine: Machine, arguments: Arguments) -> Value:
    value = first(arguments)
    return Dict(value.attributes, machine.doubt) if isinstance(value, Instance) else UNKNOWN


def _dataclass(machine: Machine, arguments: Arguments) -> Value:
    """``dataclass`` as decorator, with or without settings, or as function."""
    cls = first(arguments)
    if isinstance(cls, Class):
        cls.dataclass = True
        return cls
    return Partial(External("dataclasses.dataclass"), arguments)


def _dataclass_field(machine: Machine, arguments: Arguments) -> Value:
    """A field's default; a factory is kept, to be called for each object."""
    if "default" in arguments.keywords:
        return arguments.keywords["default"]
    if "default_factory" in arguments.keywords:
        return Partial(arguments.keywords["default_factory"], Arguments())
    return REQUIRED


def _signature(machine: Machine, arguments: Arguments) -> Value:
    value = first(arguments)
    if isinstance(value, Class):
        value = machine.attribute(value, "__init__")
    if isinstance(value, Method) and isinstance(value.receiver, Class) and value.receiver.is_dataclass:
        cls = value.receiver
        return Signature(f"{cls.qualname}.__init__", ("self", *fields_of(cls)), cls.module)
    function = value.function if isinstance(value, Bound) else value
    if not isinstance(function, Function):
        return UNKNOWN
    code = function.code
    rest = tuple(name for name in (code.rest, code.rest_keywords) if name)
    return Signature(code.qualname, (*code.positional, *code.keyword_only, *rest), function.module)


def _partial(machine: Machine, arguments: Arguments) -> Value:
    callee = first(arguments)
    rest = Arguments(
        arguments.positional[1:], arguments.keywords, arguments.open_positional, arguments.open_keywords
    )
    return Partial(callee, rest)


def _path(machine: Machine, arguments: Arguments) -> Value:
    text = first(arguments)
    return text if isinstance(text, Path) else Path(text) if isinstance(text, str) else UNKNOWN


def _ordered_dict(machine: Machine, arguments: Arguments) -> Value:
    return BUILTIN_FUNCTIONS["dict"](machine, arguments)


def _chained(machine: Machine, arguments: Arguments) -> Value:
    """``itertools.chain``."""
    if arguments.open or not all(
        isinstance(part, (list, tuple, set, frozenset, dict)) for part in arguments.positional
    ):
        return UNKNOWN
    if any(getattr(part, "doubtful", False) for part in arguments.positional):
        return UNKNOWN
    return List((item for part in arguments.positional for item in part), machine.doubt)


def _import_structure(machine: Machine, arguments: Arguments) -> Value:
    """transformers' ``define_import_structure``: it reads its own folder, so it is done here."""
    where, prefix = (*arguments.positional, None)[:2] if arguments.positional else (UNKNOWN, None)
    prefix = arguments.keywords.get("prefix", prefix)
    text = where.text if isinstance(where, Path) else where
    if not isinstance(text, str) or not (prefix is None or isinstance(prefix, str)):
        return UNKNOWN
    folder = text.rpartition("/")[0] if text.endswith(".py") else text
    return define_import_structure(machine, folder, prefix)


def _exception(name: str) -> Intrinsic:
    """An exception made and not yet raised."""

    def run(machine: Machine, arguments: Arguments) -> Value:
        message = text_of(first(arguments)) if arguments.positional else ""
        return machine.refusal(External(f"builtins.{name}"), message)

    return run


def _constant(value: Value) -> Intrinsic:
    """A function that gives always the same."""
    return lambda machine, arguments: value


INTRINSICS: dict[str, Intrinsic] = {
    **{f"builtins.{name}": function for name, function in BUILTIN_FUNCTIONS.items()},
    **{f"builtins.{name}": _exception(name) for name in EXCEPTIONS},
    **PRESENCE,
    **TORCH,
    "platform.system": lambda machine, arguments: {"linux": "Linux", "darwin": "Darwin"}.get(
        machine.world.os, "Windows"
    ),
    "platform.python_version": lambda machine, arguments: f"{machine.world.python}.0",
    "platform.machine": _constant("x86_64"),
    "copy.copy": _copied,
    "copy.deepcopy": _copied,
    "dataclasses.asdict": _as_dict,
    "dataclasses.dataclass": _dataclass,
    "dataclasses.field": _dataclass_field,
    "inspect.signature": _signature,
    "functools.partial": _partial,
    "pathlib.Path": _path,
    "pathlib.PurePath": _path,
    "itertools.chain": _chained,
    "collections.OrderedDict": _ordered_dict,
    "builtins.dict.fromkeys": _pure(dict.fromkeys),
    "json.loads": _pure(json.loads),
    "os.path.join": _pure(lambda *parts: "/".join(parts)),
    "os.path.dirname": _pure(lambda text: text.rpartition("/")[0]),
    "os.path.basename": _pure(os.path.basename),
    "os.path.splitext": _pure(os.path.splitext),
    **{
        f"re.{name}": _pure(getattr(re, name))
        for name in "match search fullmatch findall sub split compile escape".split()
    },
    **{f"operator.{name}": _compared(getattr(operator, name)) for name in "eq ne lt le gt ge".split()},
}

# Functions of the packages themselves that read files, replaced by their effect.
REPLACED: dict[str, Intrinsic] = {"define_import_structure": _import_structure}
