"""Names that a file binds, read without running it: for packages too large or too native to interpret."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass, field

from doctor.static.world import World

FILLS_ITSELF = frozenset(("globals", "setattr", "vars", "_attach", "exec"))


@dataclass
class StaticNames:
    """The names, and whether there may be more: by ``__getattr__``, ``globals()``, a native star import."""

    bound: set[str] = field(default_factory=set)
    dynamic: bool = False


def static_names(world: World, module: str) -> StaticNames:
    """The names of a module of the world, those of its star imports included."""
    owner = world.owner(module)
    if owner is None:
        return StaticNames(dynamic=True)
    key = ("names", owner.name, owner.version, module)
    known = world.cache.entries.get(key)
    if isinstance(known, StaticNames):
        return known
    found = world.cache.entries[key] = StaticNames(dynamic=True)  # what a circle of star imports sees
    place = world.place(module)
    if place is None or place.form != "source":
        return found
    reader = _Reader()
    reader.read(ast.parse(world.read(module, place.path)).body)
    package = module if place.package else module.rpartition(".")[0]
    for level, name in reader.stars:
        below = package.split(".")[: len(package.split(".")) - level + 1] if level else []
        inner = static_names(world, ".".join([*below, *([name] if name else [])]))
        reader.names.bound |= inner.bound
        reader.names.dynamic |= inner.dynamic
    found.bound, found.dynamic = reader.names.bound, reader.names.dynamic
    return found


class _Reader:
    def __init__(self) -> None:
        self.names = StaticNames()
        self.stars: list[tuple[int, str]] = []

    def read(self, body: Iterable[ast.stmt]) -> None:
        for statement in body:
            self._bind(statement)
            if isinstance(statement, ast.If) and "TYPE_CHECKING" in ast.unparse(statement.test):
                self.read(statement.orelse)
                continue
            for part in ("body", "orelse", "finalbody"):
                if not isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                    self.read(getattr(statement, part, ()))
            for handler in getattr(statement, "handlers", ()):
                self.read(handler.body)

    def _bind(self, statement: ast.stmt) -> None:
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            self.names.bound.add(statement.name)
            self.names.dynamic |= statement.name == "__getattr__"
            return
        if isinstance(statement, (ast.Import, ast.ImportFrom)):
            self._bind_import(statement)
        for node in _own_nodes(statement):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                self.names.bound.add(node.id)
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                self.names.dynamic |= node.func.id in FILLS_ITSELF

    def _bind_import(self, statement: ast.Import | ast.ImportFrom) -> None:
        for alias in statement.names:
            if alias.name == "*" and isinstance(statement, ast.ImportFrom):
                self.stars.append((statement.level, statement.module or ""))
            else:
                self.names.bound.add((alias.asname or alias.name).partition(".")[0])


def _own_nodes(statement: ast.stmt) -> Iterable[ast.AST]:
    """The expressions of a statement, without the statements inside it."""
    waiting: list[ast.AST] = [statement]
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(
            child
            for child in ast.iter_child_nodes(node)
            if isinstance(child, (ast.expr, ast.withitem, ast.keyword, ast.comprehension))
        )
