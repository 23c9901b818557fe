"""Looking names up and binding them."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable
from typing import TypeAlias

from doctor.static.machine import Frame
from doctor.static.plain import (
    UNKNOWN,
    Dict,
    List,
    Set,
    Value,
)
from doctor.static.values import (
    External,
    either,
)

Evaluate: TypeAlias = "Callable[[ast.expr], Callable[[Frame], Value]]"

BUILTINS = {name: External(f"builtins.{name}") for name in dir(builtins)}
BUILTINS.update(reveal_type=External("builtins.reveal_type"))
IMPLICIT = frozenset(
    ("__class__", "__path__", "__loader__", "__builtins__", "__spec__", "__doc__", "__annotations__")
)


def lookup(frame: Frame, name: str) -> Value:
    """The value of a name. One that may have been bound where this was in doubt is UNKNOWN."""
    module_names = frame.module.names
    if name not in frame.global_names:
        scope: Frame | None = frame
        while scope is not None:
            if name in scope.names:
                return scope.names[name]
            scope = scope.outer
    if name in module_names:
        return module_names[name]
    if name in BUILTINS:
        return BUILTINS[name]
    machine = frame.machine
    if frame.function or machine.doubt or frame.handled or frame.module.form == "patched" or name in IMPLICIT:
        return UNKNOWN
    raise machine.error("NameError", f"name '{name}' is not defined")


def bind_name(frame: Frame, name: str, value: Value) -> None:
    """Bind a name; where that is in doubt and it had another value, neither is known."""
    names = frame.module.names if name in frame.global_names else frame.names
    if frame.machine.doubt > frame.base and name in names:
        value = either([names[name], value])
    names[name] = value


def assign(frame: Frame, target: ast.expr, value: Value, evaluate: Evaluate) -> None:
    """Assign to a target of any form."""
    if isinstance(target, ast.Name):
        bind_name(frame, target.id, value)
    elif isinstance(target, (ast.Tuple, ast.List)):
        _unpack(frame, target.elts, value, evaluate)
    elif isinstance(target, ast.Attribute):
        frame.machine.assign_attribute(evaluate(target.value)(frame), target.attr, value)
    elif isinstance(target, ast.Subscript):
        holder, key = evaluate(target.value)(frame), evaluate(target.slice)(frame)
        assign_item(frame, holder, key, value)
    elif isinstance(target, ast.Starred):
        assign(frame, target.value, value, evaluate)


def _unpack(frame: Frame, targets: list[ast.expr], value: Value, evaluate: Evaluate) -> None:
    fits = isinstance(value, (tuple, list)) and len(value) == len(targets)
    starred = any(isinstance(target, ast.Starred) for target in targets)
    if fits and not starred and not getattr(value, "doubtful", False):
        for target, item in zip(targets, value, strict=True):
            assign(frame, target, item, evaluate)
    else:
        for target in targets:
            assign(frame, target, UNKNOWN, evaluate)


def assign_item(frame: Frame, holder: Value, key: Value, value: Value) -> None:
    """``holder[key] = value``."""
    machine = frame.machine
    if isinstance(holder, External) and holder.path == "sys.modules" and isinstance(key, str):
        machine.modules[key] = value
    elif isinstance(holder, dict):
        touch(frame, holder, [key])
        if key is UNKNOWN:
            if isinstance(holder, Dict):
                holder.open = True
            return
        try:
            holder[key] = value
        except TypeError:
            return
    elif isinstance(holder, list) and isinstance(key, int) and -len(holder) <= key < len(holder):
        holder[key] = either([holder[key], value]) if machine.doubt > getattr(holder, "birth", 0) else value


def touch(frame: Frame, holder: Value, keys: list[Value]) -> None:
    """A container is about to change: it becomes doubtful if that is in doubt and the container is older."""
    if not isinstance(holder, (List, Set, Dict)) or frame.machine.doubt <= holder.birth:
        return
    holder.doubtful = True
    if isinstance(holder, Dict):
        try:
            holder.uncertain.update(key for key in keys if key not in holder)
        except TypeError:
            holder.open = True
