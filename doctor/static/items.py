"""``holder[key]``."""

from __future__ import annotations

from doctor.static.machine import Frame
from doctor.static.plain import (
    UNKNOWN,
    Dict,
    Value,
)
from doctor.static.values import (
    Class,
    External,
    Instance,
)


def item_of(frame: Frame, holder: Value, key: Value) -> Value:
    """The item; KeyError only where the dict is wholly known."""
    machine = frame.machine
    if isinstance(holder, dict):
        return _of_dict(frame, holder, key)
    if isinstance(holder, (list, tuple, str)) and isinstance(key, int):
        known = -len(holder) <= key < len(holder) and not getattr(holder, "doubtful", False)
        return holder[key] if known else UNKNOWN
    if isinstance(holder, External):
        if holder.path == "sys.modules" and isinstance(key, str):
            return machine.modules.get(key, UNKNOWN)
        if holder.path == "os.environ" and isinstance(key, str):
            if key in machine.environment:
                return machine.environment[key]
            raise machine.error("KeyError", repr(key))
        return External(f"{holder.path}[]")
    if isinstance(holder, Class):
        found = holder.names.get(key) if holder.is_enum and isinstance(key, str) else holder
        return UNKNOWN if found is None else found
    if isinstance(holder, Instance) and (found := holder.cls.find("__getitem__")):
        return machine.call(found[0], holder, key)
    return UNKNOWN


def _of_dict(frame: Frame, holder: dict[Value, Value], key: Value) -> Value:
    if key is UNKNOWN:
        return UNKNOWN
    try:
        if key in holder:
            return UNKNOWN if isinstance(holder, Dict) and key in holder.uncertain else holder[key]
    except TypeError:
        return UNKNOWN
    vague = getattr(holder, "open", False) or getattr(holder, "doubtful", False)
    machine = frame.machine
    if vague or isinstance(key, (External, Class, Instance)) or (machine.deep and not machine.tries):
        return UNKNOWN
    raise machine.error("KeyError", repr(key))
