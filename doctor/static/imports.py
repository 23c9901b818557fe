"""``import`` and ``from ... import``."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from doctor.static.compiling import compiles
from doctor.static.functions import Step
from doctor.static.machine import Frame
from doctor.static.modules import import_from, load
from doctor.static.names import bind_name
from doctor.static.plain import Flow
from doctor.static.static_names import static_names
from doctor.static.values import External, Module


@compiles(ast.Import)
def _import(node: ast.Import) -> Step:
    def run(frame: Frame) -> Flow | None:
        for alias in node.names:
            module = load(frame.machine, alias.name)
            top = alias.name.partition(".")[0]
            if not alias.asname:
                module = frame.machine.modules.get(top, External(top))
            bind_name(frame, alias.asname or top, module)
        return None

    return run


@compiles(ast.ImportFrom)
def _import_from(node: ast.ImportFrom) -> Step:
    def run(frame: Frame) -> Flow | None:
        base = _absolute(frame.module, node)
        for alias in node.names:
            if alias.name == "*":
                _import_all(frame, base)
            else:
                bind_name(frame, alias.asname or alias.name, import_from(frame.machine, base, alias.name))
        return None

    return run


def _absolute(module: Module, node: ast.ImportFrom) -> str:
    if not node.level:
        return node.module or ""
    parts = module.package.split(".")
    kept = parts[: len(parts) - node.level + 1]
    return ".".join([*kept, *([node.module] if node.module else [])])


def _import_all(frame: Frame, base: str) -> None:
    module = load(frame.machine, base)
    if not isinstance(module, Module):
        return
    if module.form != "source":
        names: Iterable[str] = static_names(frame.machine.world, base).bound
        frame.names.update({name: External(f"{base}.{name}") for name in names})
        if module.form == "opaque":
            frame.module.form = "patched"
        return
    listed = module.names.get("__all__")
    if not isinstance(listed, (list, tuple)) or not all(isinstance(name, str) for name in listed):
        listed = [name for name in module.names if not name.startswith("_")]
    for name in list(listed):
        bind_name(frame, name, frame.machine.attribute(module, name))
