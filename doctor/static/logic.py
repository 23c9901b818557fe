"""Truth, comparison and arithmetic of values, three-valued."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import Any

from packaging.version import Version

from doctor.static.machine import Machine
from doctor.static.outcomes import Observation
from doctor.static.plain import (
    CONCRETE,
    PLAIN,
    UNKNOWN,
    Dict,
    Truth,
    Value,
    VersionOf,
    concrete,
)
from doctor.static.values import (
    Bound,
    Class,
    External,
    Foreign,
    Function,
    Instance,
    Module,
    Partial,
    Path,
    Possibly,
    Signature,
    Super,
)

ARITHMETIC: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.BitOr: operator.or_,
    ast.BitAnd: operator.and_,
}
COMPARISONS: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
SYMBOLS = {
    operator.eq: "==",
    operator.ne: "!=",
    operator.lt: "<",
    operator.le: "<=",
    operator.gt: ">",
    operator.ge: ">=",
}
LONGEST = 100_000  # of a text or list that arithmetic may make


def truth(value: Value) -> Truth:
    """``bool(value)``, UNKNOWN where it cannot be told."""
    if value is True or value is False:
        return bool(value)
    if getattr(value, "doubtful", False) or value is UNKNOWN:
        return UNKNOWN
    if isinstance(value, Dict) and value.open and not value:
        return UNKNOWN
    if isinstance(value, (Module, Function, Class, Bound, Super, Path, Partial, Foreign)):
        return True
    if isinstance(value, Instance):
        sized = value.cls.find("__bool__") or value.cls.find("__len__") or not value.cls.closed
        return UNKNOWN if sized else True
    return bool(value) if isinstance(value, PLAIN) else UNKNOWN


def negate(value: Truth) -> Truth:
    """``not value``."""
    return UNKNOWN if value is UNKNOWN else not value


def arithmetic(kind: type[ast.operator], left: Value, right: Value) -> Value:
    """``left + right`` and the like."""
    if isinstance(left, Path) and kind is ast.Div and isinstance(right, str):
        return Path(f"{left.text}/{right}")
    if kind is ast.Add and _joinable(left, right):
        return left + right
    if kind not in ARITHMETIC or not (concrete(left) and concrete(right)) or kind is ast.Pow:
        return UNKNOWN
    if kind is ast.Mult and _size(left) * _size(right) > LONGEST:
        return UNKNOWN
    try:
        return ARITHMETIC[kind](left, right)
    except Exception:
        return UNKNOWN


def _joinable(left: Value, right: Value) -> bool:
    """Are both tuples, or both lists, whatever they hold?"""
    if isinstance(left, tuple) and isinstance(right, tuple):
        return True
    both = isinstance(left, list) and isinstance(right, list)
    return both and not (getattr(left, "doubtful", False) or getattr(right, "doubtful", False))


def _size(value: Value) -> int:
    return (
        len(value) if isinstance(value, (str, list, tuple)) else abs(value) if isinstance(value, int) else 1
    )


def compare(machine: Machine, kind: type[ast.cmpop], left: Value, right: Value) -> Truth:
    """``left < right``, ``left is right``, ``left in right`` and the like."""
    if kind in (ast.Is, ast.IsNot):
        same = identical(left, right)
        return negate(same) if kind is ast.IsNot else same
    if kind in (ast.In, ast.NotIn):
        inside = contained(machine, left, right)
        return negate(inside) if kind is ast.NotIn else inside
    return ordered(machine, COMPARISONS[kind], left, right)


def ordered(machine: Machine, how: Callable[[Any, Any], Any], left: Value, right: Value) -> Truth:
    """A comparison by value. Versions that are compared are looks at the distribution they belong to."""
    if not (concrete(left) and concrete(right)):
        if isinstance(left, (Class, Function)) and isinstance(right, (Class, Function)):
            return bool(how(left, right)) if how in (operator.eq, operator.ne) else UNKNOWN
        return UNKNOWN
    try:
        answer = bool(how(left, right))
    except Exception:
        return UNKNOWN
    for side, other in ((left, right), (right, left)):
        if isinstance(side, VersionOf) and isinstance(other, Version):
            machine.asked_version = side.of
            name = f"{SYMBOLS.get(how, '?')} {other}" if side is left else f"{other} {SYMBOLS.get(how, '?')}"
            machine.observe(Observation(machine.consumer, side.of, "version", "", name, str(answer)))
    return answer


def identical(left: Value, right: Value) -> Truth:
    """``left is right``."""
    unclear = (External, Possibly, type(UNKNOWN))
    if isinstance(left, unclear) or isinstance(right, unclear):
        return UNKNOWN
    if isinstance(left, CONCRETE) and isinstance(right, CONCRETE):
        return left is right or (type(left) is type(right) and left == right)
    return left is right


def contained(machine: Machine, item: Value, holder: Value) -> Truth:
    """``item in holder``."""
    if isinstance(holder, External):
        if holder.path == "os.environ" and isinstance(item, str):
            return item in machine.environment
        if holder.path == "sys.modules" and isinstance(item, str):
            return item in machine.modules
        return UNKNOWN
    if isinstance(holder, Signature) and isinstance(item, str):
        return parameter_of(machine, holder, item)
    if item is UNKNOWN or not isinstance(holder, (str, list, tuple, set, frozenset, dict, range)):
        return UNKNOWN
    try:
        inside = item in holder
    except TypeError:
        return UNKNOWN
    if isinstance(holder, Dict) and (item in holder.uncertain or (holder.open and not inside)):
        return UNKNOWN
    vague = getattr(holder, "doubtful", False) and not isinstance(holder, dict)
    if vague or (not inside and not isinstance(holder, str) and any(other is UNKNOWN for other in holder)):
        return UNKNOWN
    return inside


def parameter_of(machine: Machine, signature: Signature, name: str) -> bool:
    """Has a function this parameter?"""
    answer = name in signature.names
    module = signature.module
    provider = module.owner.name if module.owner else ""
    asked = f"{signature.label}({name})"
    machine.observe(Observation(machine.consumer, provider, "parameter", module.name, asked, str(answer)))
    return answer
