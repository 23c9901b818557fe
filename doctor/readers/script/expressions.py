"""Evaluates expressions as far as they can be followed, and records the calls in them."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from doctor.readers.script.guards import constant_truth, is_test_of_versions, tells_versions
from doctor.readers.script.reading import Reading, Scope, is_covered
from doctor.readers.script.values import UNKNOWN, constant, joined, named, updated, with_entry
from doctor.script import LOCAL, Argument, Import, Value


class Expressions:
    """Evaluates expressions in the current scope; what a call does is :class:`Calls`' business."""

    def __init__(self, reading: Reading) -> None:
        self.reading = reading
        self.scope = Scope()
        self.results: dict[int, Value] = {}  # of the calls of this walk, by node
        self.guards = 0  # tests of versions around this point
        self.shields = 0  # handlers that catch TypeError around this point
        self.import_shields = 0  # handlers that catch ImportError
        self.branches = 0  # conditions of any kind around this point
        self.evaluators: dict[type, Callable[[Any], Value]] = {
            ast.Constant: lambda node: constant(node.value),
            ast.Name: self.name,
            ast.Attribute: self.attribute,
            ast.Call: self.call,
            ast.IfExp: self.either,
            ast.BoolOp: self.any_of,
            ast.Dict: self.dictionary,
            ast.BinOp: self.operation,
            ast.UnaryOp: self.negation,
            ast.Tuple: self.sequence,
            ast.List: self.sequence,
            ast.Subscript: self.subscript,
            ast.NamedExpr: self.walrus,
            ast.Starred: lambda node: self.nothing(node.value),
            ast.Await: lambda node: self.value(node.value),
            ast.Lambda: self.function_value,
        }

    def value(self, node: ast.expr | None) -> Value:
        """What an expression may be; calls inside it are recorded."""
        if node is None:
            return UNKNOWN
        evaluate = self.evaluators.get(type(node))
        return evaluate(node) if evaluate else self.parts(node)

    def call(self, node: ast.Call) -> Value:
        """The result of a call."""
        raise NotImplementedError

    def bind(self, target: ast.expr, value: Value) -> None:
        """Assign a value to a target."""
        raise NotImplementedError

    @property
    def guarded(self) -> bool:
        """Does a test of versions stand around this point?"""
        return self.guards > 0

    def parts(self, node: ast.AST) -> Value:
        """An expression that is not followed: its parts are, for the calls in them."""
        tested = False
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                tested = self.value(child).tested or tested
            elif isinstance(child, ast.comprehension):
                tested = self.parts(child).tested or tested
        return Value(tested=tested)

    def nothing(self, node: ast.expr) -> Value:
        """Evaluate for the calls alone."""
        self.value(node)
        return UNKNOWN

    def function_value(self, node: ast.Lambda) -> Value:
        """A lambda: its body is read where it stands, its parameters are not known."""
        outer = self.scope
        self.scope = outer.inner("<lambda>")
        arguments = node.args
        for one in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
            self.scope.names[one.arg] = UNKNOWN
        self.value(node.body)
        self.scope = outer
        return UNKNOWN

    def name(self, node: ast.Name) -> Value:
        """A name, from the inside out."""
        found = self.scope.find(node.id)
        if found is not None:
            return found
        if node.id in self.reading.defined:
            return named(LOCAL + node.id)  # defined further down
        return self.reading.star(node.id)

    def attribute(self, node: ast.Attribute) -> Value:
        """``module.name``, or an attribute of an object of the script's own class."""
        owner = self.value(node.value)
        for name in owner.names:
            self.note_attribute(name, node)
        return self.attribute_of(owner, node.attr)

    def attribute_of(self, owner: Value, name: str) -> Value:
        """What an attribute may be."""
        names = tuple(f"{one}.{name}" for one in owner.names)
        tested = owner.tested or tells_versions(name, owner)
        found = Value(names=names, complete=owner.complete and bool(names), tested=tested)
        types = [*owner.names, *(one.type for one in owner.made)]
        own = [self.reading.attribute(type, name) for type in types if type.startswith(LOCAL)]
        for number, one in enumerate(one for one in own if one is not UNKNOWN):
            found = joined(found, one) if number else one
        return found

    def note_attribute(self, module: str, node: ast.Attribute) -> None:
        """Record that a name is taken from a module of a covered library."""
        last = module.rpartition(".")[2]
        if not is_covered(module) or module.startswith(LOCAL) or not last.islower():
            return
        guarded = self.guarded or self.shields > 0 or self.import_shields > 0
        place = self.reading.place(node)
        note = Import(
            module=module,
            name=node.attr,
            place=place,
            form="attribute",
            conditional=self.branches > 0,
            guarded=guarded,
        )
        key = module, node.attr, place.line, place.column
        self.reading.imports.setdefault(key, note)

    def either(self, node: ast.IfExp) -> Value:
        """``a if test else b``."""
        self.value(node.test)
        truth = constant_truth(node.test)
        if truth is not None:
            return self.value(node.body if truth else node.orelse)
        guard = is_test_of_versions(node.test, self.again)
        self.guards += guard
        found = joined(self.value(node.body), self.value(node.orelse))
        self.guards -= guard
        if guard:
            found = replace(found, entries=tuple(replace(one, guarded=True) for one in found.entries))
        return found

    def again(self, node: ast.expr) -> Value:
        """An expression that was evaluated a moment ago, without recording anything twice."""
        if isinstance(node, ast.Name):
            return self.name(node)
        if isinstance(node, ast.Call):
            return self.results.get(id(node), UNKNOWN)
        if isinstance(node, ast.Attribute):
            return self.attribute_of(self.again(node.value), node.attr)
        return UNKNOWN

    def any_of(self, node: ast.BoolOp) -> Value:
        """``a or b``."""
        found = self.value(node.values[0])
        for one in node.values[1:]:
            found = joined(found, self.value(one))
        return found

    def negation(self, node: ast.UnaryOp) -> Value:
        """``-1``; ``not x`` is true or false."""
        inner = self.value(node.operand)
        if isinstance(node.op, ast.Not):
            return Value(constants=(True, False), complete=True, tested=inner.tested)
        only = inner.constants[0] if len(inner.constants) == 1 and inner.complete else None
        if isinstance(node.op, ast.USub) and isinstance(only, (int, float)):
            return constant(-only)
        return Value(tested=inner.tested)

    def operation(self, node: ast.BinOp) -> Value:
        """``a | b`` of dictionaries. A long chain leans to the left, and is taken from there."""
        chain = [node]
        while isinstance(chain[-1].left, ast.BinOp):
            chain.append(chain[-1].left)
        left = self.value(chain[-1].left)
        for one in reversed(chain):
            right = self.value(one.right)
            is_union = isinstance(one.op, ast.BitOr) and bool(left.entries or right.entries)
            left = updated(left, right) if is_union else Value(tested=left.tested or right.tested)
        return left

    def sequence(self, node: ast.Tuple | ast.List) -> Value:
        """A list or tuple, item by item."""
        items = tuple(self.value(one) for one in node.elts)
        whole = not any(isinstance(one, ast.Starred) for one in node.elts)
        return Value(items=items if whole else (), complete=whole)

    def dictionary(self, node: ast.Dict) -> Value:
        """A dictionary with the keys that are literal; ``**other`` is joined in."""
        found = Value(complete=True)
        for key, item in zip(node.keys, node.values, strict=True):
            value = self.value(item)
            if key is None:
                found = updated(found, value)
            elif isinstance(key, ast.Constant) and isinstance(key.value, str):
                place = replace(
                    self.reading.place(key),
                    end_line=item.end_lineno or item.lineno,
                    end_column=item.end_col_offset or item.col_offset,
                )
                found = with_entry(found, self.entry(key.value, value, item, place))
            else:
                self.value(key)
                found = replace(found, complete=False)
        return found

    def entry(self, name: str, value: Value, node: ast.expr, place: Any) -> Argument:
        """One entry of a dictionary."""
        return Argument(
            name=name,
            value=value,
            text=self.reading.text_of(node),
            place=place,
            way="dictionary",
            guarded=self.guarded,
        )

    def subscript(self, node: ast.Subscript) -> Value:
        """``d["key"]``, ``pair[0]``."""
        owner, index = self.value(node.value), self.value(node.slice)
        if len(index.constants) != 1 or not index.complete:
            return Value(tested=owner.tested)
        (key,) = index.constants
        if isinstance(key, int) and 0 <= key < len(owner.items):
            return owner.items[key]
        found = next((one.value for one in owner.entries if one.name == key), UNKNOWN)
        complete, tested = found.complete and owner.complete, found.tested or owner.tested
        return replace(found, complete=complete, tested=tested)

    def walrus(self, node: ast.NamedExpr) -> Value:
        """``(name := value)``."""
        value = self.value(node.value)
        self.bind(node.target, value)
        return value
