"""What is installed and in which version, as programs ask for it."""

from __future__ import annotations

import re
from collections.abc import Callable

from packaging.version import InvalidVersion, Version

from doctor.static.machine import Machine
from doctor.static.modules import load
from doctor.static.outcomes import Observation
from doctor.static.plain import UNKNOWN, Dict, List, Value, VersionOf, VersionText
from doctor.static.signals import Ask
from doctor.static.values import Arguments, External, Instance

Intrinsic = Callable[[Machine, Arguments], Value]


def first(arguments: Arguments) -> Value:
    """The first argument, UNKNOWN where there is none."""
    return arguments.positional[0] if arguments.positional else UNKNOWN


def _normal(name: str) -> str:
    """A distribution's name as PEP 503 normalises it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def _find_spec(machine: Machine, arguments: Arguments) -> Value:
    name = first(arguments)
    if not isinstance(name, str) or name.startswith("."):
        return UNKNOWN
    top = name.partition(".")[0]
    owner = machine.world.owner(top)
    if machine.world.in_library(top):
        return External("importlib.machinery.ModuleSpec()")
    _observe_presence(machine, name, owner is not None)
    if owner is None:
        return None
    found = "." not in name or owner.tree is None or machine.world.place(name) is not None
    return True if found else None


def _observe_presence(machine: Machine, name: str, found: bool) -> None:
    owner = machine.world.owner(name)
    if owner:
        machine.observe(Observation(machine.consumer, owner.name, "name", name, "", str(found)))


def _installed_version(machine: Machine, arguments: Arguments) -> Value:
    name = first(arguments)
    if not isinstance(name, str):
        return UNKNOWN
    found = machine.world.by_name.get(_normal(name))
    if found is None:
        ask = Ask("missing-module", _normal(name), name)
        message = f"No package metadata was found for {name}"
        raise machine.error("PackageNotFoundError", message, ask=ask)
    return VersionText(found.version, found.name)


def _metadata(machine: Machine, arguments: Arguments) -> Value:
    _installed_version(machine, arguments)
    return UNKNOWN


def _packages_distributions(machine: Machine, arguments: Arguments) -> Value:
    owners = machine.world.by_module.items()
    return Dict({module: List([owner.name], machine.doubt) for module, owner in owners}, machine.doubt)


def _parse_version(machine: Machine, arguments: Arguments) -> Value:
    text = first(arguments)
    if isinstance(text, Version):
        return text
    if not isinstance(text, str):
        return UNKNOWN
    try:
        return VersionOf(text, text.of) if isinstance(text, VersionText) else Version(text)
    except InvalidVersion:
        raise machine.error("InvalidVersion", f"Invalid version: '{text}'") from None


def _environment_variable(machine: Machine, arguments: Arguments) -> Value:
    name, default = (*arguments.positional, None, None)[:2]
    if not isinstance(name, str):
        return UNKNOWN
    return machine.environment.get(name, arguments.keywords.get("default", default))


def _import_module(machine: Machine, arguments: Arguments) -> Value:
    name, package = (*arguments.positional, None)[:2] if arguments.positional else (UNKNOWN, None)
    package = arguments.keywords.get("package", package)
    if not isinstance(name, str):
        return UNKNOWN
    if name.startswith("."):
        if not isinstance(package, str):
            return UNKNOWN
        above = len(name) - len(name.lstrip(".")) - 1
        kept = package.split(".")[: len(package.split(".")) - above]
        name = ".".join([*kept, name.lstrip(".")])
    return load(machine, name)


def _import_top(machine: Machine, arguments: Arguments) -> Value:
    name = first(arguments)
    if not isinstance(name, str):
        return UNKNOWN
    load(machine, name)
    top = name.partition(".")[0]
    return machine.modules.get(top, External(top))


def _add_finder(machine: Machine, arguments: Arguments) -> Value:
    """``sys.meta_path.append``: packages serve old names of their modules so."""
    if isinstance(first(arguments), Instance):
        machine.finders.append(first(arguments))
    return None


PRESENCE: dict[str, Intrinsic] = {
    "builtins.__import__": _import_top,
    "importlib.util.find_spec": _find_spec,
    "importlib.import_module": _import_module,
    "importlib.metadata.version": _installed_version,
    "importlib_metadata.version": _installed_version,
    "importlib.metadata.metadata": _metadata,
    "importlib_metadata.metadata": _metadata,
    "importlib.metadata.distribution": _metadata,
    "importlib.metadata.packages_distributions": _packages_distributions,
    "packaging.version.parse": _parse_version,
    "packaging.version.Version": _parse_version,
    "os.environ.get": _environment_variable,
    "os.getenv": _environment_variable,
    "sys.meta_path.append": _add_finder,
    "sys.meta_path.insert": lambda machine, arguments: _add_finder(
        machine, Arguments(arguments.positional[1:])
    ),
}
