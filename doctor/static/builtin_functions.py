"""Python's built-in functions, on values that may be unknown."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from doctor.static.attributes import ABSENT, look
from doctor.static.comprehensions import items_of
from doctor.static.logic import truth
from doctor.static.machine import Machine
from doctor.static.plain import (
    UNKNOWN,
    Dict,
    List,
    Set,
    Value,
    concrete,
)
from doctor.static.signals import Raised
from doctor.static.torch_facts import is_foreign_instance, stands_apart
from doctor.static.values import (
    Arguments,
    Bound,
    Class,
    External,
    Foreign,
    Function,
    Instance,
    Method,
    Module,
    Partial,
    Path,
    Possibly,
    Super,
    leave_open,
)

Intrinsic = Callable[[Machine, Arguments], Value]
CALLABLE = (Function, Bound, Class, Partial, Method)


def _getattr(machine: Machine, arguments: Arguments) -> Value:
    owner, name = (*arguments.positional, UNKNOWN, UNKNOWN)[:2]
    if not isinstance(name, str):
        return UNKNOWN
    if len(arguments.positional) < 3:
        return machine.attribute(owner, name)
    found = look(machine, owner, name)
    return arguments.positional[2] if found is ABSENT else found


def _hasattr(machine: Machine, arguments: Arguments) -> Value:
    owner, name = (*arguments.positional, UNKNOWN, UNKNOWN)[:2]
    if not isinstance(name, str):
        return UNKNOWN
    if isinstance(owner, Instance) and (name in owner.attributes or owner.cls.find(name)):
        look_only = owner.cls.find(name)
        if look_only and isinstance(look_only[0], Function) and look_only[0].code.is_property:
            return True
    found = look(machine, owner, name)
    if found is ABSENT:
        return False
    vague = found is UNKNOWN and not isinstance(owner, (Module, Class)) and not _has(owner, name)
    return UNKNOWN if vague else True


def _has(owner: Value, name: str) -> bool:
    if isinstance(owner, Foreign):
        return name in owner.has
    return isinstance(owner, Instance) and (name in owner.attributes or owner.cls.find(name) is not None)


def _setattr(machine: Machine, arguments: Arguments) -> Value:
    if len(arguments.positional) == 3:
        owner, name, value = arguments.positional
        if isinstance(name, str):
            machine.assign_attribute(owner, name, value)
        elif isinstance(owner, Module):
            owner.form = "patched"
        else:
            leave_open([owner])
    return None


def _isinstance(machine: Machine, arguments: Arguments) -> Value:
    value, classes = (*arguments.positional, UNKNOWN, UNKNOWN)[:2]
    answers = [_is_instance(value, cls) for cls in (classes if isinstance(classes, tuple) else (classes,))]
    if any(answer is True for answer in answers):
        return True
    return UNKNOWN if any(answer is UNKNOWN for answer in answers) else False


def _is_instance(value: Value, cls: Value) -> Value:
    if value is UNKNOWN or isinstance(value, (External, Possibly)) or not isinstance(cls, (Class, External)):
        return UNKNOWN
    if isinstance(value, Foreign):
        return is_foreign_instance(value, cls.path) if isinstance(cls, External) else False
    if isinstance(value, Instance):
        return _derives(value.cls, cls)
    if isinstance(cls, External) and _is_plain(cls):
        return any(base.__name__ == cls.name for base in _python_type(value).__mro__)
    return False if value is None or concrete(value) else UNKNOWN


def _derives(cls: Class, base: Class | External) -> Value:
    """Is a class, or a base of it, this one? UNKNOWN where a base that is not interpreted may be."""
    if base in cls.order:
        return True
    opaque = [above for above in cls.order if isinstance(above, External)]
    if External("?") in opaque:
        return UNKNOWN
    if isinstance(base, Class) or _is_plain(base):
        return False
    return False if all(stands_apart(above.path, base.path) for above in opaque) else UNKNOWN


def _is_plain(cls: Value) -> bool:
    return isinstance(cls, External) and cls.path in PLAIN_TYPES


PLAIN_TYPES = frozenset(
    f"builtins.{name}" for name in "str bytes dict list tuple set frozenset int bool float".split()
)


def _python_type(value: Value) -> type:
    return type(value) if concrete(value) or isinstance(value, (dict, list, set)) else object


def _issubclass(machine: Machine, arguments: Arguments) -> Value:
    cls, bases = (*arguments.positional, UNKNOWN, UNKNOWN)[:2]
    if isinstance(cls, Class) and isinstance(bases, (Class, External)):
        return _derives(cls, bases)
    return UNKNOWN


def _type(machine: Machine, arguments: Arguments) -> Value:
    value = arguments.positional[0] if len(arguments.positional) == 1 else UNKNOWN
    if isinstance(value, Instance):
        return value.cls
    if isinstance(value, (str, list, dict, tuple, set, int, float)) and concrete(value):
        plain = next(base for base in type(value).__mro__ if base.__module__ == "builtins")
        return External(f"builtins.{plain.__name__}")
    return UNKNOWN


def _callable(machine: Machine, arguments: Arguments) -> Value:
    value = arguments.positional[0] if arguments.positional else UNKNOWN
    if isinstance(value, CALLABLE):
        return True
    return False if value is None or (concrete(value) and value is not UNKNOWN) else UNKNOWN


def _super(machine: Machine, arguments: Arguments) -> Value:
    if len(arguments.positional) == 2 and isinstance(arguments.positional[0], Class):
        cls, receiver = arguments.positional
        return Super(cls, receiver) if isinstance(receiver, (Instance, Class)) else UNKNOWN
    return UNKNOWN


def _dir(machine: Machine, arguments: Arguments) -> Value:
    value = arguments.positional[0] if arguments.positional else UNKNOWN
    if isinstance(value, Module) and value.form == "source":
        return List(value.names, machine.doubt)
    if isinstance(value, Instance) and (found := value.cls.find("__dir__")):
        return machine.call(found[0], value)
    return UNKNOWN


def _vars(machine: Machine, arguments: Arguments) -> Value:
    value = arguments.positional[0] if arguments.positional else UNKNOWN
    return machine.attribute(value, "__dict__") if isinstance(value, (Module, Instance)) else UNKNOWN


def _globals(machine: Machine, arguments: Arguments) -> Value:
    return machine.frames[-1].module.names


def _dict(machine: Machine, arguments: Arguments) -> Value:
    given = arguments.positional[0] if arguments.positional else {}
    made = Dict((), machine.doubt, is_open=arguments.open)
    machine.call(Method(made, "update"), given)
    made.update(arguments.keywords)
    return made


def _collection(make: Callable[[Iterable[Value], int], Value]) -> Intrinsic:
    def run(machine: Machine, arguments: Arguments) -> Value:
        if not arguments.positional:
            return make((), machine.doubt)
        items = items_of(arguments.positional[0])
        try:
            return UNKNOWN if items is None else make(items, machine.doubt)
        except TypeError:
            return UNKNOWN

    return run


def _sorted(items: Iterable[Value], birth: int) -> Value:
    return List(sorted(items, key=str), birth)


def _quantified(holds_for_any: bool) -> Intrinsic:
    def run(machine: Machine, arguments: Arguments) -> Value:
        items = items_of(arguments.positional[0]) if arguments.positional else None
        if items is None:
            return UNKNOWN
        answers = [truth(item) for item in items]
        if any(answer is holds_for_any for answer in answers):
            return holds_for_any
        return UNKNOWN if any(answer is UNKNOWN for answer in answers) else not holds_for_any

    return run


def _next(machine: Machine, arguments: Arguments) -> Value:
    items = items_of(arguments.positional[0]) if arguments.positional else None
    if items:
        return items[0]
    return arguments.positional[1] if items is not None and len(arguments.positional) > 1 else UNKNOWN


def _enumerate(machine: Machine, arguments: Arguments) -> Value:
    items = items_of(arguments.positional[0]) if len(arguments.positional) == 1 else None
    return UNKNOWN if items is None else List(enumerate(items), machine.doubt)


def _zip(machine: Machine, arguments: Arguments) -> Value:
    parts = [items_of(part) for part in arguments.positional]
    known = [part for part in parts if part is not None]
    return UNKNOWN if len(known) < len(parts) else List(zip(*known, strict=False), machine.doubt)


def _print(machine: Machine, arguments: Arguments) -> Value:
    return None


def _bool(machine: Machine, arguments: Arguments) -> Value:
    return truth(arguments.positional[0]) if arguments.positional else False


def _plain(function: Callable[..., Any]) -> Intrinsic:
    def run(machine: Machine, arguments: Arguments) -> Value:
        if arguments.open or arguments.keywords or not all(concrete(value) for value in arguments.positional):
            return UNKNOWN
        try:
            return function(*arguments.positional)
        except Exception:
            return UNKNOWN

    return run


def _str(machine: Machine, arguments: Arguments) -> Value:
    value = arguments.positional[0] if arguments.positional else ""
    if isinstance(value, Path):
        return value.text
    if isinstance(value, Raised):
        return value.message
    return value if isinstance(value, str) else _plain(str)(machine, arguments)


BUILTIN_FUNCTIONS: dict[str, Intrinsic] = {
    "getattr": _getattr,
    "hasattr": _hasattr,
    "setattr": _setattr,
    "isinstance": _isinstance,
    "issubclass": _issubclass,
    "type": _type,
    "callable": _callable,
    "super": _super,
    "dir": _dir,
    "vars": _vars,
    "globals": _globals,
    "dict": _dict,
    "list": _collection(List),
    "set": _collection(Set),
    "tuple": _collection(lambda items, birth: tuple(items)),
    "frozenset": _collection(lambda items, birth: frozenset(items)),
    "sorted": _collection(_sorted),
    "reversed": _collection(lambda items, birth: List(reversed(list(items)), birth)),
    "iter": _collection(List),
    "any": _quantified(True),
    "all": _quantified(False),
    "next": _next,
    "enumerate": _enumerate,
    "zip": _zip,
    "print": _print,
    "bool": _bool,
    "str": _str,
    **{
        function.__name__: _plain(function)
        for function in (int, float, len, min, max, sum, abs, round, range, repr)
    },
}
