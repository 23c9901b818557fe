"""What binds names: imports, assignments, deletions."""

from __future__ import annotations

import ast

from msgspec.structs import replace

from doctor.readers.script.calls import Calls
from doctor.readers.script.reading import COVERED, root_of
from doctor.readers.script.values import UNKNOWN, filtered, joined, named, with_entry, without_entry
from doctor.script import LOCAL, Import, Value


def text_of(value: Value) -> str:
    """A value as a script would write it: the literal that it is, else dots."""
    known = value.complete and len(value.constants) == 1
    return repr(value.constants[0]) if known else "..."


class Bindings(Calls):
    """Statements that bind names and change what they hold; none of them ends a path."""

    def import_modules(self, node: ast.Import) -> bool:
        """``import a.b as c``."""
        for alias in node.names:
            self.note_import(alias.name, "", alias)
            name = alias.name if alias.asname else root_of(alias.name)
            self.scope.names[alias.asname or name] = named(name)
        return False

    def import_names(self, node: ast.ImportFrom) -> bool:
        """``from a.b import c as d``."""
        module = node.module or ""
        for alias in node.names:
            if node.level:  # of the project's own
                self.scope.names[alias.asname or alias.name] = UNKNOWN
            elif alias.name == "*":
                self.reading.stars |= {module} if root_of(module) in COVERED else set()
                self.note_import(module, "", alias)
            else:
                self.note_import(module, alias.name, alias)
                self.put(alias.asname or alias.name, named(f"{module}.{alias.name}"))
        return False

    def note_import(self, module: str, name: str, node: ast.alias) -> None:
        """Record an import of a covered library."""
        if root_of(module) not in COVERED:
            return
        place = self.reading.place(node)
        guarded = self.guarded or self.import_shields > 0
        note = Import(
            module=module,
            name=name,
            alias=node.asname or "",
            place=place,
            conditional=self.branches > 0,
            guarded=guarded,
        )
        self.reading.imports[module, name, place.line, place.column] = note

    def put(self, name: str, value: Value) -> None:
        """Bind a name in this scope, or in the module's where it is declared global."""
        if name in self.scope.globals:
            scope = self.scope
            while scope.parent:
                scope = scope.parent
            scope.names[name] = joined(scope.names[name], value) if name in scope.names else value
        self.scope.names[name] = value
        if self.scope.is_class:
            self.reading.now.attributes[LOCAL + self.scope.name, name] = value

    def assign(self, node: ast.Assign) -> bool:
        """``a = b = value``."""
        value = self.value(node.value)
        for target in node.targets:
            self.bind(target, value)
        return False

    def annotated(self, node: ast.AnnAssign) -> bool:
        """``a: int = value``; the annotation of a module or class is evaluated too."""
        if self.scope.parent is None or self.scope.is_class:
            self.value(node.annotation)
        if node.value:
            self.bind(node.target, self.value(node.value))
        return False

    def augmented(self, node: ast.AugAssign) -> bool:
        """``a |= b``; anything else makes the target unknown."""
        value = self.value(ast.BinOp(left=node.target, op=node.op, right=node.value))
        self.bind(node.target, value)
        return False

    def bind(self, target: ast.expr, value: Value) -> None:
        """Assign to a name, an attribute, an item or several of them."""
        if isinstance(target, ast.Name):
            self.put(target.id, value)
        elif isinstance(target, (ast.Tuple, ast.List)):
            for place, one in enumerate(target.elts):
                item = value.items[place] if place < len(value.items) else UNKNOWN
                self.bind(one.value if isinstance(one, ast.Starred) else one, item)
        elif isinstance(target, ast.Attribute):
            owner = self.value(target.value)
            for type in [*owner.names, *(one.type for one in owner.made)]:
                if type.startswith(LOCAL):
                    learned = self.reading.now
                    learned.learn(learned.attributes, type, target.attr, value)
        elif isinstance(target, ast.Subscript):
            self.set_item(target, value)

    def set_item(self, target: ast.Subscript, value: Value) -> None:
        """``d[key] = value``."""
        key, owner = self.value(target.slice), self.value(target.value)
        name = key.constants[0] if len(key.constants) == 1 and key.complete else None
        if not isinstance(name, str):
            return
        entry = self.entry(name, value, target.slice, self.reading.place(target.slice))
        self.bind(target.value, with_entry(owner, replace(entry, text=text_of(value))))

    def delete(self, node: ast.Delete) -> bool:
        """``del d[key]``."""
        for target in node.targets:
            if isinstance(target, ast.Subscript):
                key, owner = self.value(target.slice), self.value(target.value)
                known = key.constants[0] if len(key.constants) == 1 else None
                changed = without_entry(owner, known) if isinstance(known, str) else filtered(owner)
                self.bind(target.value, changed)
        return False

    def share(self, node: ast.Global) -> bool:
        """``global a``."""
        self.scope.globals |= set(node.names)
        return False
