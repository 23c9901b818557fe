"""Modules as compiled, shared by all runs of a process."""

from __future__ import annotations

import ast
import sys
import warnings
from collections.abc import Callable

from doctor.static.compiling import block, run_block
from doctor.static.functions import Steps
from doctor.static.machine import Frame, Machine
from doctor.static.values import (
    Module,
)


def body_of(machine: Machine, module: Module) -> Callable[[Frame], object]:
    """What runs a module's body."""
    owner = module.owner
    key = ("code", owner.name if owner else "", owner.version if owner else "", module.path)
    text = machine.world.read
    steps, module.postponed = machine.world.cache.find(key, lambda: compiled(text(module.name, module.path)))
    return lambda frame: run_block(steps, frame)


def compiled(text: str) -> tuple[Steps, bool]:
    """The body's statements, and whether its annotations are left unevaluated."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tree = ast.parse(text, feature_version=sys.version_info[:2])
    postponed = any(
        isinstance(node, ast.ImportFrom)
        and node.module == "__future__"
        and any(alias.name == "annotations" for alias in node.names)
        for node in tree.body
    )
    return block(tree.body), postponed
