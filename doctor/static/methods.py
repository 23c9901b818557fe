"""Methods of texts, lists, sets and dicts."""

from __future__ import annotations

from collections.abc import Callable

from doctor.static.logic import contained
from doctor.static.machine import Machine
from doctor.static.names import touch
from doctor.static.plain import (
    UNKNOWN,
    Dict,
    List,
    Set,
    Value,
    concrete,
)
from doctor.static.values import (
    Arguments,
    Class,
    External,
    Instance,
    Signature,
)

CHANGES = frozenset(
    "append extend insert remove pop update add setdefault discard clear sort reverse popitem".split()
)

REMOVALS = frozenset("remove discard clear popitem".split())


def call_method(machine: Machine, receiver: Value, name: str, arguments: Arguments) -> Value:
    """``receiver.name(...)``."""
    if arguments.open and name not in CHANGES:
        return UNKNOWN
    if name in CHANGES and isinstance(receiver, (list, dict, set)):
        return _change(machine, receiver, name, arguments)
    if isinstance(receiver, Signature):
        return receiver if name == "keys" else UNKNOWN
    if isinstance(receiver, dict):
        return _read_dict(machine, receiver, name, arguments)
    if isinstance(receiver, Instance) and name == "__dir__":
        return List(receiver.attributes, machine.doubt)
    if isinstance(receiver, Instance) and name == "__init__" and _is_module(receiver.cls):
        receiver.attributes["__name__"] = arguments.positional[0] if arguments.positional else UNKNOWN
        return None
    if isinstance(receiver, (Instance, Class)):
        return UNKNOWN
    return _compute(machine, receiver, name, arguments)


def _is_module(cls: Class) -> bool:
    return any(External("types.ModuleType") in base.bases for base in cls.interpreted())


def _compute(machine: Machine, receiver: Value, name: str, arguments: Arguments) -> Value:
    """A method without effects, called for real where all it works on is known."""
    given = [*arguments.positional, *arguments.keywords.values()]
    if not concrete(receiver) or not all(concrete(value) for value in given):
        return UNKNOWN
    if name == "copy" and isinstance(receiver, (list, set)):
        return _own(receiver, machine.doubt)
    try:
        return _own(getattr(receiver, name)(*arguments.positional, **arguments.keywords), machine.doubt)
    except Exception:
        return UNKNOWN


def _own(value: Value, birth: int) -> Value:
    """A container of the interpreter's own in place of a plain one."""
    for plain, kind in ((list, List), (set, Set), (dict, Dict)):
        if type(value) is plain:
            return kind(value, birth)
    return value


def _read_dict(machine: Machine, receiver: dict[Value, Value], name: str, arguments: Arguments) -> Value:
    vague = getattr(receiver, "open", False) or getattr(receiver, "doubtful", False)
    if name in ("items", "keys", "values"):
        return UNKNOWN if vague else List(getattr(receiver, name)(), machine.doubt)
    if name == "copy":
        made = Dict(receiver, machine.doubt, is_open=getattr(receiver, "open", False))
        made.doubtful = getattr(receiver, "doubtful", False)
        made.uncertain = set(getattr(receiver, "uncertain", ()))
        return made
    if name == "get" and arguments.positional:
        inside = contained(machine, arguments.positional[0], receiver)
        if inside is UNKNOWN:
            return UNKNOWN
        default = (
            arguments.positional[1] if len(arguments.positional) > 1 else arguments.keywords.get("default")
        )
        return receiver[arguments.positional[0]] if inside else default
    return UNKNOWN


def _change(machine: Machine, receiver: Value, name: str, arguments: Arguments) -> Value:
    touch(machine.frames[-1], receiver, _keys(name, arguments))
    if name in REMOVALS and machine.doubt > getattr(receiver, "birth", 0):
        if isinstance(receiver, Dict):
            receiver.uncertain.update(receiver if name in ("clear", "popitem") else ())
        return UNKNOWN
    changer = CHANGERS.get((_kind(receiver), name))
    if changer:
        return changer(machine, receiver, arguments)
    if isinstance(receiver, (Set, List)) and any(value is UNKNOWN for value in arguments.positional):
        receiver.doubtful = True
        return UNKNOWN
    try:
        return getattr(receiver, name)(*arguments.positional, **arguments.keywords)
    except Exception:
        return UNKNOWN


def _kind(receiver: Value) -> type:
    return next(kind for kind in (dict, set, list) if isinstance(receiver, kind))


def _keys(name: str, arguments: Arguments) -> list[Value]:
    first = arguments.positional[:1]
    if name == "update":
        return [*(first[0] if first and isinstance(first[0], dict) else ()), *arguments.keywords]
    return list(first)


def _update_dict(machine: Machine, receiver: Value, arguments: Arguments) -> Value:
    given = arguments.positional[0] if arguments.positional else {}
    vague = arguments.open or not isinstance(given, dict) or getattr(given, "open", False)
    if isinstance(given, dict):
        receiver.update(given)
    elif isinstance(given, (list, tuple)):
        try:
            receiver.update(given)
            vague = False
        except (TypeError, ValueError):
            vague = True
    receiver.update(arguments.keywords)
    if isinstance(receiver, Dict):
        receiver.open |= vague
        receiver.uncertain |= getattr(given, "uncertain", set())
    return None


def _pop_from_dict(machine: Machine, receiver: Value, arguments: Arguments) -> Value:
    inside = contained(machine, arguments.positional[0], receiver) if arguments.positional else UNKNOWN
    if inside is UNKNOWN or machine.doubt > getattr(receiver, "birth", 0):
        if isinstance(receiver, Dict) and arguments.positional and isinstance(arguments.positional[0], str):
            receiver.uncertain.add(arguments.positional[0])
        return UNKNOWN
    if inside:
        return receiver.pop(arguments.positional[0])
    if len(arguments.positional) > 1:
        return arguments.positional[1]
    if machine.deep and not machine.tries:
        return UNKNOWN
    raise machine.error("KeyError", repr(arguments.positional[0]))


def _set_default(machine: Machine, receiver: Value, arguments: Arguments) -> Value:
    key, default = arguments.positional[0], (*arguments.positional, None)[1]
    if key is UNKNOWN:
        return UNKNOWN
    return receiver.setdefault(key, default)


def _add_items(machine: Machine, receiver: Value, arguments: Arguments) -> Value:
    for given in arguments.positional:
        if isinstance(given, (list, tuple, set, frozenset, dict)) and not getattr(given, "doubtful", False):
            (receiver.extend if isinstance(receiver, list) else receiver.update)(given)
        elif isinstance(receiver, (List, Set)):
            receiver.doubtful = True
    return None


def _append(machine: Machine, receiver: Value, arguments: Arguments) -> Value:
    receiver.append(arguments.positional[0] if arguments.positional else UNKNOWN)
    return None


CHANGERS: dict[tuple[type, str], Callable[[Machine, Value, Arguments], Value]] = {
    (dict, "update"): _update_dict,
    (dict, "pop"): _pop_from_dict,
    (dict, "setdefault"): _set_default,
    (list, "extend"): _add_items,
    (set, "update"): _add_items,
    (list, "append"): _append,
}
