"""``value.name`` and ``value.name = assigned`` for every kind of value."""

from __future__ import annotations

from collections.abc import Callable

from packaging.version import Version

from doctor.static.constants import constant_of
from doctor.static.machine import Machine
from doctor.static.modules import attribute_of_module
from doctor.static.outcomes import Observation
from doctor.static.plain import (
    UNKNOWN,
    Dict,
    Value,
    VersionOf,
    VersionText,
)
from doctor.static.signals import Ask, Raised
from doctor.static.values import (
    REQUIRED,
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
    Signature,
    Super,
    either,
)

ABSENT = External("?absent")


def attribute_of(machine: Machine, value: Value, name: str) -> Value:
    """The attribute; AttributeError only where the value certainly has none of that name."""
    reader = READERS.get(type(value))
    if reader:
        return reader(machine, value, name)
    if isinstance(value, Version):
        return _of_version(value, name)
    if isinstance(value, Raised) or value is None or value is UNKNOWN:
        return UNKNOWN
    if isinstance(value, str) and name == "value":  # members of text enums stand for their values
        return value
    return Method(value, name)


def _of_external(machine: Machine, value: External, name: str) -> Value:
    return constant_of(machine, f"{value.path}.{name}")


def _of_instance(machine: Machine, instance: Instance, name: str) -> Value:
    attributes = instance.attributes
    if name in attributes:
        return UNKNOWN if name in attributes.uncertain else attributes[name]
    found = instance.cls.find(name)
    if found:
        value = bound(machine, found[0], instance, instance.cls)
        if isinstance(found[0], Function) and "cached_property" in found[0].code.decorators:
            attributes[name] = value
        return value
    if name == "__class__":
        return instance.cls
    if name == "__dict__":
        return attributes if instance.cls.is_dataclass or instance.cls.closed else UNKNOWN
    getter = instance.cls.find("__getattr__")
    if getter and instance.cls.closed and not name.startswith("__"):
        return machine.call(getter[0], instance, name)
    return UNKNOWN


def bound(machine: Machine, value: Value, receiver: Value, cls: Class) -> Value:
    """A class's attribute as its object, or the class itself, sees it."""
    if not isinstance(value, Function):
        return value
    if value.code.is_property:
        return machine.call(value, receiver) if isinstance(receiver, Instance) else UNKNOWN
    if value.code.is_static:
        return value
    if value.code.is_class_method:
        return Bound(value, cls)
    return Bound(value, receiver) if isinstance(receiver, Instance) else value


def _of_class(machine: Machine, cls: Class, name: str) -> Value:
    found = cls.find(name)
    if found:
        return bound(machine, found[0], cls, cls)
    if name in ("__name__", "__qualname__"):
        return cls.name if name == "__name__" else cls.qualname
    if name == "__module__":
        return cls.module.name
    if name == "__dict__":
        return Dict(cls.names, machine.doubt)
    if name == "__members__" and cls.is_enum:
        return Dict({key: item for key, item in cls.names.items() if not key.startswith("_")}, machine.doubt)
    return Method(cls, name) if name in ("__init__", "__new__") else UNKNOWN


def _of_super(machine: Machine, value: Super, name: str) -> Value:
    cls = value.receiver.cls if isinstance(value.receiver, Instance) else value.receiver
    order = cls.order
    start = order.index(value.cls) + 1 if value.cls in order else len(order)
    for base in order[start:]:
        if isinstance(base, External):
            return UNKNOWN  # it may have the attribute itself
        if name in base.names:
            found = base.names[name]
            if isinstance(found, Function) and not found.code.is_property and not found.code.is_static:
                return Bound(found, value.receiver)
            return bound(machine, found, value.receiver, cls)
    if name in ("__dir__", "__init__") and isinstance(value.receiver, Instance):
        return Method(value.receiver, name)
    return UNKNOWN


def _of_function(machine: Machine, function: Function, name: str) -> Value:
    if name in function.attributes:
        return function.attributes[name]
    own = {"__name__": function.code.name, "__qualname__": function.code.qualname}
    return own.get(name, function.module.name if name == "__module__" else UNKNOWN)


def _of_bound(machine: Machine, value: Bound, name: str) -> Value:
    if name == "__func__":
        return value.function
    return value.receiver if name == "__self__" else _of_function(machine, value.function, name)


def _of_foreign(machine: Machine, value: Foreign, name: str) -> Value:
    if name in value.lacks:
        ask = Ask("missing-attribute", value.cls, f"{value.name}.{name}")
        raise machine.error("AttributeError", f"'{value.name}' object has no attribute '{name}'", ask=ask)
    return value.has.get(name, UNKNOWN)


def _of_version(value: Version, name: str) -> Value:
    found = getattr(value, name, UNKNOWN)
    if isinstance(value, VersionOf) and isinstance(found, str):
        return VersionText(found, value.of)
    return UNKNOWN if callable(found) else found


def _of_path(machine: Machine, value: Path, name: str) -> Value:
    if name == "parent":
        return Path(value.text.rpartition("/")[0])
    return value.text.rpartition("/")[2] if name == "name" else Method(value, name)


def _of_signature(machine: Machine, value: Signature, name: str) -> Value:
    return value if name == "parameters" else Method(value, name)


def _of_possibly(machine: Machine, value: Possibly, name: str) -> Value:
    return machine.attribute(value.value, name)


def _of_partial(machine: Machine, value: Partial, name: str) -> Value:
    return value.callee if name == "func" else UNKNOWN


READERS: dict[type, Callable[[Machine, Value, str], Value]] = {
    Module: attribute_of_module,
    External: _of_external,
    Instance: _of_instance,
    Class: _of_class,
    Super: _of_super,
    Function: _of_function,
    Bound: _of_bound,
    Foreign: _of_foreign,
    Path: _of_path,
    Signature: _of_signature,
    Partial: _of_partial,
    Possibly: _of_possibly,
}


def assign_attribute(machine: Machine, value: Value, name: str, assigned: Value) -> None:
    """Set an attribute; where that is in doubt and it had another value, neither is known."""
    value = value.value if isinstance(value, Possibly) else value
    if isinstance(value, Instance) and name == "__dict__" and isinstance(assigned, dict):
        value.attributes = assigned if isinstance(assigned, Dict) else Dict(assigned)  # a shared state
    elif isinstance(value, Instance):
        attributes = value.attributes
        if machine.doubt > value.birth and name in attributes:
            assigned = either([attributes[name], assigned])
        attributes[name] = assigned
    elif isinstance(value, (Module, Class)):
        value.names[name] = assigned
    elif isinstance(value, Function):
        value.attributes[name] = assigned


def look(machine: Machine, value: Value, name: str) -> Value:
    """``getattr(value, name)``: ABSENT where it certainly has none, UNKNOWN where that cannot be told."""
    machine.tries += 1
    try:
        return _look(machine, value, name)
    except Raised as error:
        if "AttributeError" not in error.kinds:
            raise
        return ABSENT
    finally:
        machine.tries -= 1


def _look(machine: Machine, value: Value, name: str) -> Value:
    if isinstance(value, Instance):
        return _look_in_instance(machine, value, name)
    if isinstance(value, Class):
        found = value.find(name) is not None
        _observe(machine, value, name, found)
        certain = not found and value.closed and not name.startswith("__")
        return ABSENT if certain else machine.attribute(value, name)
    if isinstance(value, (External, Method, Possibly)) or value is UNKNOWN:
        return UNKNOWN
    plain = isinstance(value, (str, list, dict, set, tuple, int, float, type(None)))
    return ABSENT if plain and not hasattr(value, name) else machine.attribute(value, name)


def _look_in_instance(machine: Machine, value: Instance, name: str) -> Value:
    if name in value.attributes.uncertain:
        return UNKNOWN
    found = name in value.attributes or value.cls.find(name) is not None
    _observe(machine, value.cls, name, found)
    if found:
        return machine.attribute(value, name)
    getter = value.cls.find("__getattr__")
    if value.cls.closed and getter:
        return machine.call(getter[0], value, name)
    return ABSENT if value.cls.closed and not value.attributes.open else UNKNOWN


def _observe(machine: Machine, cls: Class, name: str, found: bool) -> None:
    owner = cls.module.owner
    provider = owner.name if owner else ""
    asked = f"{cls.name}.{name}"
    machine.observe(Observation(machine.consumer, provider, "attribute", cls.module.name, asked, str(found)))


def fields_of(cls: Class) -> dict[str, Value]:
    """The fields of a dataclass in the order of its ``__init__``; ``REQUIRED`` where there is no default."""
    fields: dict[str, Value] = {}
    for base in reversed([base for base in cls.order if isinstance(base, Class)]):
        if base.dataclass:
            fields.update(base.fields)
    return fields


def instantiate(machine: Machine, cls: Class, arguments: Arguments) -> Value:
    """``cls(...)``: a member of an enum, or an object with ``__init__`` run."""
    if cls.is_enum:
        first = arguments.positional[0] if arguments.positional else UNKNOWN
        return first if isinstance(first, (str, int)) else UNKNOWN
    made = machine.new(cls)
    found = cls.find("__init__")
    if cls.is_dataclass and (found is None or _generated(cls, found[1])):
        _fill_fields(machine, cls, made, arguments)
    elif found and isinstance(found[0], Function):
        receiver = Arguments([made, *arguments.positional], arguments.keywords)
        receiver.open_positional, receiver.open_keywords = arguments.open_positional, arguments.open_keywords
        if cls.is_dataclass:
            _give_fields(machine, made, fields_of(cls), arguments)
        machine.operations.call(machine, found[0], receiver)
    return made


def _generated(cls: Class, owner: Class) -> bool:
    """Does a dataclass stand before the class that has ``__init__``?"""
    before = cls.order[: cls.order.index(owner)]
    return any(isinstance(base, Class) and base.dataclass for base in before) and not owner.dataclass


def _fill_fields(machine: Machine, cls: Class, made: Instance, arguments: Arguments) -> None:
    fields = fields_of(cls)
    _check_fields(machine, cls, fields, arguments)
    _give_fields(machine, made, fields, arguments)
    after = cls.find("__post_init__")
    if after:
        machine.call(after[0], made)


def _give_fields(machine: Machine, made: Instance, fields: dict[str, Value], arguments: Arguments) -> None:
    values = {key: UNKNOWN if arguments.open or item is REQUIRED else item for key, item in fields.items()}
    values.update(zip(fields, arguments.positional, strict=False))
    values.update({key: item for key, item in arguments.keywords.items() if key in fields})
    made.attributes.update({key: _fresh(machine, item) for key, item in values.items()})


def _fresh(machine: Machine, value: Value) -> Value:
    """A default that is made anew for each object."""
    if isinstance(value, Partial):
        return machine.operations.call(machine, value.callee, value.arguments)
    return value


def _check_fields(machine: Machine, cls: Class, fields: dict[str, Value], arguments: Arguments) -> None:
    owner = cls.module.owner
    unexpected = next((name for name in arguments.keywords if name not in fields), None)
    fault = None
    if unexpected is not None and cls.closed and not cls.wrapped:
        message = f"{cls.qualname}.__init__() got an unexpected keyword argument '{unexpected}'"
        ask = Ask("unexpected-keyword", cls.module.name, f"{cls.qualname}({unexpected})")
        fault = machine.error("TypeError", message, ask=ask)
    if owner:
        shape = f"{cls.qualname}.__init__({len(arguments.positional)};{','.join(sorted(arguments.keywords))})"
        answer = fault.message if fault else "accepted"
        machine.observe(Observation(machine.consumer, owner.name, "call", cls.module.name, shape, answer))
    if fault:
        raise fault
