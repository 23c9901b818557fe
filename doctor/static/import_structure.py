"""The names that transformers' lazy modules offer, as ``define_import_structure`` finds them in its files.

That function reads every file of a folder by lines; here the same is done once for a release and kept. Names
are found in ``__all__`` and under ``@requires`` and ``@export``. Of the packages that a file asks for, torch
alone is kept: the others stand for uses that no stage has.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.static.machine import Machine
from doctor.static.plain import (
    UNKNOWN,
    Dict,
    Set,
    Value,
)
from doctor.static.world import Tree

LISTED = re.compile(r"^__all__\s*\+?=\s*[\[(](.*?)[\])]", re.S | re.M)
QUOTED = re.compile(r"[\"'](\w+)[\"']")
MARKED = re.compile(r"@(?:requires|export)\([^\n]*\)\n(?:@[^\n]*\n)*(?:class|def) (\w+)")
NEEDS_TORCH = re.compile(r"(?:^|\.)(?:modeling_(?!tf_|flax_)|generation_)\w*$")


def define_import_structure(machine: Machine, folder: str, prefix: str | None) -> Value:
    """Modules and their names by the packages they need: {frozenset(): {"llama.modeling_llama": {}}}."""
    owner = machine.world.owner(folder.partition("/")[0])
    if owner is None or owner.tree is None:
        return UNKNOWN
    tree = owner.tree
    key = ("structure", owner.name, owner.version, folder)
    found: dict[str, set[str]] = machine.world.cache.find(key, lambda: dict(_exports(tree, folder, "")))
    birth = machine.doubt
    plain, on_torch = Dict((), birth), Dict((), birth)
    for module, names in found.items():
        full = f"{prefix}.{module}" if prefix else module
        (on_torch if NEEDS_TORCH.search(module) else plain)[full] = Set(names, birth)
    return Dict({frozenset(): plain, frozenset(("torch",)): on_torch}, birth)


def _exports(tree: Tree, folder: str, prefix: str) -> Iterator[tuple[str, set[str]]]:
    for name in tree.names(folder):
        path = f"{folder}/{name}"
        if name.endswith(".py"):
            module = f"{prefix}{name[:-3]}"
            if name != "__init__.py" and not name.startswith(("convert_", "modular_")):
                yield module, _names(tree.read(path) or "")
        elif "." not in name and name != "__pycache__":
            yield from _exports(tree, path, f"{prefix}{name}.")


def _names(text: str) -> set[str]:
    found = {name for listed in LISTED.findall(text) for name in QUOTED.findall(listed)}
    if "@requires(" in text or "@export(" in text:
        found |= set(MARKED.findall(text))
    return found
