"""Importing, and the attributes of modules."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from doctor.static.constants import constant_of
from doctor.static.machine import Frame, Machine
from doctor.static.outcomes import Observation
from doctor.static.plain import (
    UNKNOWN,
    Value,
    VersionText,
)
from doctor.static.signals import Ask, Raised
from doctor.static.static_names import static_names
from doctor.static.values import (
    External,
    Function,
    Instance,
    Module,
)
from doctor.static.world import SHALLOW, WALKED, Place

RunBody: TypeAlias = Callable[[Frame], object]

# Filled while they are imported, or by native code: a name that is not seen there may well exist.
FILLED_AT_RUN_TIME = frozenset(("numpy", "pandas"))
# torch answers to these only after other packages have put them there.
BACKENDS_FROM_ELSEWHERE = frozenset("npu mlu musa hpu sdaa".split())
ALWAYS = frozenset(("__path__", "__spec__", "__doc__", "__loader__", "__file__", "__name__", "__dict__"))


def load(machine: Machine, name: str) -> Value:
    """Import a module by its full name and all above it."""
    if name in machine.modules:
        return machine.modules[name]
    top, _, _ = name.partition(".")
    if machine.world.in_library(top):
        return External(name)
    if top not in machine.world.by_module:
        raise _missing(machine, name, f"No module named '{top}'")
    owner = machine.world.owner(top)
    if (top not in WALKED and top not in SHALLOW) or owner is None or owner.tree is None:
        return External(name)
    parent, _, last = name.rpartition(".")
    above = load(machine, parent) if parent else None
    if name in machine.modules:
        return machine.modules[name]
    if isinstance(above, External):
        return External(name)
    place = machine.world.place(name)
    if place is None and _served(machine, name):
        place = Place(name, "binary", package=False)
    if place is None:
        raise _missing(machine, name, _not_found(above, name, parent))
    made = _run(machine, name, place) if top in WALKED else _shallow(machine, name, place)
    if above is not None:
        _bind_in_parent(above, last, made)
    return made


def _served(machine: Machine, name: str) -> bool:
    """Does a finder that the packages themselves have registered serve this module?"""
    return any(
        machine.call(machine.attribute(finder, "find_spec"), name) is not None for finder in machine.finders
    )


def _missing(machine: Machine, name: str, message: str) -> Raised:
    return machine.error("ModuleNotFoundError", message, ask=Ask("missing-module", name, name))


def _not_found(above: Value, name: str, parent: str) -> str:
    package = not isinstance(above, Module) or above.package == above.name
    return f"No module named '{name}'" + ("" if package else f"; '{parent}' is not a package")


def _bind_in_parent(above: Value, last: str, made: Value) -> None:
    if isinstance(above, Module):
        above.names[last] = made
    elif isinstance(above, Instance):
        above.attributes[last] = made


def _shallow(machine: Machine, name: str, place: Place) -> Module:
    module = Module(name, place.path, "shallow", place.package, machine.world.owner(name))
    module.loading = False
    if place.form != "source":
        module.form = "opaque"
    machine.modules[name] = module
    return module


def _run(machine: Machine, name: str, place: Place) -> Value:
    """Run a module's body. It is in ``sys.modules`` before that, as circular imports need it."""
    module = Module(name, place.path, "source", place.package, machine.world.owner(name))
    machine.modules[name] = module
    if place.form == "binary":
        module.form = "opaque"
        return module
    module.names.update(
        __name__=name, __file__=place.path, __package__=module.package, __spec__=UNKNOWN, __doc__=None
    )
    if place.form == "source":
        try:
            run_module(machine, module, machine.operations.body(machine, module))
        except BaseException:
            machine.modules.pop(name, None)
            raise
    module.loading = False
    return machine.modules.get(name, module)


def run_module(machine: Machine, module: Module, run: RunBody) -> None:
    """Run a body as a module's own, whatever was under way before."""
    before = machine.tries, machine.calls, machine.steps, machine.deep
    machine.tries, machine.calls, machine.deep = 0, 0, False
    machine.imports += 1
    machine.frames.append(Frame(machine, module, module.names))
    doubt = machine.doubt
    try:
        run(machine.frames[-1])
    finally:
        machine.frames.pop()
        machine.imports -= 1
        machine.doubt = doubt
        machine.tries, machine.calls, machine.steps, machine.deep = before


def attribute_of_module(machine: Machine, module: Module, name: str) -> Value:
    """A module's attribute; AttributeError where it has none."""
    try:
        value = _attribute(machine, module, name)
    except Raised:
        _observe(machine, module.name, name, "absent")
        raise
    _observe(machine, module.name, name, "present")
    return value


def _observe(machine: Machine, module: str, name: str, answer: str) -> None:
    provider = machine.world.owner(module)
    if provider and provider.name != machine.consumer:
        machine.observe(Observation(machine.consumer, provider.name, "name", module, name, answer))


def _attribute(machine: Machine, module: Module, name: str) -> Value:
    if name in module.names:
        return module.names[name]
    full = f"{module.name}.{name}"
    if module.form == "opaque":
        return External(full)
    if module.form == "shallow":
        return _shallow_attribute(machine, module, name, full)
    if full in machine.modules:
        return machine.modules[full]
    getter = module.names.get("__getattr__")
    if name == "__dict__":
        return module.names
    if name in ALWAYS:
        return UNKNOWN
    if isinstance(getter, Function):
        return machine.call(getter, name)
    if getter is not None or module.form == "patched":
        return UNKNOWN
    raise _no_attribute(machine, module, name)


def _shallow_attribute(machine: Machine, module: Module, name: str, full: str) -> Value:
    if module.name == "torch" and name in BACKENDS_FROM_ELSEWHERE:
        raise _no_attribute(machine, module, name)
    if name == "__version__" and module.owner and "." not in module.name:
        return VersionText(module.owner.version, module.owner.name)
    known = constant_of(machine, full)
    if not isinstance(known, External):
        return known
    names = static_names(machine.world, module.name)
    if name in names.bound:
        return External(full)
    if machine.world.place(full):
        return load(machine, full)
    if names.dynamic or module.name.partition(".")[0] in FILLED_AT_RUN_TIME:
        return External(full)
    if name in ALWAYS:
        return UNKNOWN
    raise _no_attribute(machine, module, name)


def _no_attribute(machine: Machine, module: Module, name: str) -> Raised:
    message = f"module '{module.name}' has no attribute '{name}'"
    if module.loading and module.form == "source":
        message = f"partially initialized {message} (most likely due to a circular import)"
    ask = Ask("missing-attribute", module.name, name)
    return machine.error("AttributeError", message, ask=ask)


def import_from(machine: Machine, base: str, name: str) -> Value:
    """``from base import name``: an attribute, or else a submodule, or else ImportError."""
    module = load(machine, base)
    if isinstance(module, External):
        return constant_of(machine, f"{module.path}.{name}")
    try:
        value = (
            _attribute(machine, module, name)
            if isinstance(module, Module)
            else machine.attribute(module, name)
        )
        _observe(machine, base, name, "present")
        return value
    except Raised as error:
        if "AttributeError" not in error.kinds:
            raise
        inner = error if error.imports > machine.imports else None
    full = f"{base}.{name}"
    found = machine.world.place(full) is not None
    _observe(machine, base, name, "present" if found else "absent")
    if found:
        return load(machine, full)
    loading = isinstance(module, Module) and module.loading
    source = f"partially initialized module '{base}'" if loading else f"'{base}'"
    circular = " (most likely due to a circular import)" if loading else ""
    message = f"cannot import name '{name}' from {source}{circular}"
    raise machine.error("ImportError", message, ask=Ask("missing-name", base, name), cause=inner)
