"""A script as bytes, with its tree: finds what stands where, and cuts and inserts."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from typing import NamedTuple

from doctor.script import Place


class Edit(NamedTuple):
    """Bytes from ``start`` to ``end`` give way to ``new``."""

    start: int
    end: int
    new: bytes

    def overlaps(self, other: Edit) -> bool:
        """Do two edits touch the same bytes? Two cuts may, and two insertions at one place."""
        return bool(self.new or other.new) and self.start < other.end and other.start < self.end


Change = tuple[Edit, ...]  # edits that make sense together alone


class Text:
    """One script; positions are bytes, as ``ast`` counts them."""

    def __init__(self, text: str, tree: ast.Module) -> None:
        self.data = text.encode("utf-8", "surrogatepass")
        self.tree = tree
        self.starts = [0, *(found.end() for found in re.finditer(rb"\n", self.data))]
        calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call))
        self.calls = {
            (node.lineno, node.col_offset, node.end_lineno, node.end_col_offset): node for node in calls
        }

    def call_at(self, place: Place) -> ast.Call | None:
        """The call that stands at a place."""
        return self.calls.get((place.line, place.column, place.end_line, place.end_column))

    def span(self, node: ast.expr | ast.keyword | ast.alias | ast.stmt | Place) -> tuple[int, int]:
        """From which byte to which something reaches."""
        if isinstance(node, Place):
            return self.starts[node.line - 1] + node.column, self.starts[node.end_line - 1] + node.end_column
        end = (node.end_lineno or node.lineno) - 1
        return self.starts[node.lineno - 1] + node.col_offset, self.starts[end] + (node.end_col_offset or 0)

    def source(self, node: ast.expr) -> bytes:
        """The text of an expression."""
        start, end = self.span(node)
        return self.data[start:end]

    def without(self, node: ast.keyword | ast.alias | Place) -> Edit:
        """Cut one item of a list in parentheses, its comma, and its line where it has one of its own."""
        start, end = self.span(node)
        comma = re.compile(rb"[ \t]*,[ \t]*").match(self.data, end)
        if comma:
            end = comma.end()
            line = self.data.rfind(b"\n", 0, start) + 1
            rest = re.compile(rb"(?:#[^\n]*)?\n").match(self.data, end)
            if rest and not self.data[line:start].strip():
                return Edit(line, rest.end(), b"")
            return Edit(start, end if not rest else len(self.data[:end].rstrip(b" \t")), b"")
        before = re.compile(rb",[ \t]*$").search(self.data, 0, start)
        return Edit(before.start() if before else start, end, b"")

    def appended(self, call: ast.Call, arguments: Iterable[bytes]) -> Edit:
        """Put arguments behind the last one of a call, laid out as that one is."""
        items: list[ast.expr | ast.keyword] = [*call.args, *call.keywords]
        _, close = self.span(call)
        if not items:
            return Edit(close - 1, close - 1, b", ".join(arguments))
        start, end = max(self.span(item) for item in items)
        line = self.data.rfind(b"\n", 0, start) + 1
        indent = self.data[line:start]
        gap = b",\n" + indent if not indent.strip() and line > self.span(call)[0] else b", "
        return Edit(end, end, b"".join(gap + argument for argument in arguments))

    def edited(self, edits: Iterable[Edit]) -> str:
        """The text after edits, in their order. Cuts may share a comma; a last one that is left over goes."""
        new, place = bytearray(), 0
        for edit in edits:
            new += self.data[place : max(edit.start, place)]
            place = max(edit.end, place)
            if not edit.new and self.data[place : place + 1] == b")" and new.endswith(b", "):
                del new[-2:]
            new += edit.new
        return (new + self.data[place:]).decode("utf-8", "surrogatepass")

    def is_bound_before(self, value: ast.expr, line: int) -> bool:
        """Is each name of an expression bound above a line, and nowhere below it?"""
        names = {node.id for node in ast.walk(value) if isinstance(node, ast.Name)}
        if any(
            isinstance(node, (ast.Call, ast.NamedExpr, ast.Lambda, ast.Await)) for node in ast.walk(value)
        ):
            return False
        return all(bound and max(bound) < line for bound in (self.bindings(name) for name in names))

    def bindings(self, name: str) -> list[int]:
        """The lines that bind a name: assignments, parameters, imports, definitions."""
        found = []
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                bound = node.id
            elif isinstance(node, ast.arg):
                bound = node.arg
            elif isinstance(node, ast.alias):
                bound = node.asname or node.name.partition(".")[0]
            elif isinstance(node, (ast.FunctionDef, ast.ClassDef, ast.AsyncFunctionDef)):
                bound = node.name
            else:
                continue
            found += [node.lineno] if bound == name else []
        return found
