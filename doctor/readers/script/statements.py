"""Walks statements in the order in which they run: branches meet, functions come last."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any

from doctor.readers.script.bindings import Bindings
from doctor.readers.script.definitions import class_of, parameters_of
from doctor.readers.script.guards import (
    catches,
    constant_truth,
    is_exit,
    is_main,
    is_test_of_versions,
    suppressed_names,
    tries_again,
)
from doctor.readers.script.reading import FunctionNode, Reading, Scope
from doctor.readers.script.values import (
    UNKNOWN,
    constant,
    joined,
    merged,
    named,
)
from doctor.script import LOCAL

OF_IMPORTS = {"ImportError", "ModuleNotFoundError", "AttributeError"}


class Statements(Bindings):
    """Runs the statements of one script over values instead of objects."""

    def __init__(self, reading: Reading) -> None:
        super().__init__(reading)
        self.runners: dict[type, Callable[[Any], bool]] = {
            ast.Import: self.import_modules,
            ast.ImportFrom: self.import_names,
            ast.Assign: self.assign,
            ast.AnnAssign: self.annotated,
            ast.AugAssign: self.augmented,
            ast.If: self.branch,
            ast.Try: self.attempt,
            ast.For: self.loop,
            ast.AsyncFor: self.loop,
            ast.While: self.loop,
            ast.With: self.within,
            ast.AsyncWith: self.within,
            ast.FunctionDef: self.function,
            ast.AsyncFunctionDef: self.function,
            ast.ClassDef: self.class_body,
            ast.Return: self.leave,
            ast.Raise: self.leave,
            ast.Continue: lambda node: True,
            ast.Break: lambda node: True,
            ast.Delete: self.delete,
            ast.Global: self.share,
        }

    def walk(self) -> None:
        """One round over the whole script."""
        self.scope = Scope()
        self.block(self.reading.tree.body)
        self.functions_of(self.scope)

    def block(self, body: Sequence[ast.stmt]) -> bool:
        """Statements in order. True where no path leads out of their end."""
        guards = self.guards
        for statement in body:
            if self.statement(statement):
                self.guards = guards
                return True
            if isinstance(statement, ast.If) and self.decides(statement):
                self.guards += 1  # what follows runs on the other side of the test alone
        self.guards = guards
        return False

    def decides(self, node: ast.If) -> bool:
        """Is this a test of versions one side of which returns?"""
        returns = any(body and isinstance(body[-1], ast.Return) for body in (node.body, node.orelse))
        return returns and is_test_of_versions(node.test, self.again)

    def statement(self, node: ast.stmt) -> bool:
        """One statement. True where no path leads on from it."""
        run = self.runners.get(type(node))
        if run:
            return run(node)
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                self.value(child)
            elif isinstance(child, ast.match_case):
                self.block(child.body)
        return is_exit(node)

    def branch(self, node: ast.If) -> bool:
        """``if``: both sides, then what is true after either."""
        self.value(node.test)
        truth = constant_truth(node.test)
        if truth is not None:
            return self.block(node.body if truth else node.orelse)
        guard, branch = is_test_of_versions(node.test, self.again), not is_main(node.test)
        self.guards += guard
        self.branches += branch
        ended = self.either_block(lambda: self.block(node.body), lambda: self.block(node.orelse))
        self.guards -= guard
        self.branches -= branch
        return ended

    def either_block(self, first: Callable[[], bool], second: Callable[[], bool]) -> bool:
        """Two paths from here; afterwards the scope holds what may be true. True where both end."""
        before = dict(self.scope.names)
        self.reading.spend(len(before))
        first_ends = first()
        after_first, self.scope.names = self.scope.names, before
        second_ends = second()
        if second_ends:
            self.scope.names = after_first
        elif not first_ends:
            self.scope.names = merged(after_first, self.scope.names)
        return first_ends and second_ends

    def attempt(self, node: ast.Try) -> bool:
        """``try``: what it shields, and the paths through its handlers."""
        shields = catches(node.handlers, {"TypeError"}, broad=tries_again(node.handlers))
        imports = catches(node.handlers, OF_IMPORTS, broad=True)
        before = dict(self.scope.names)
        self.reading.spend(len(before) * (len(node.handlers) + 1))
        self.shields += shields
        self.import_shields += imports
        ended = self.block(node.body) or (bool(node.orelse) and self.block(node.orelse))
        after = [] if ended else [self.scope.names]
        begin = merged(before, self.scope.names)
        for handler in node.handlers:
            self.scope.names = dict(begin)
            if not self.block(handler.body):
                after.append(self.scope.names)
        self.shields -= shields
        self.import_shields -= imports
        self.scope.names = after[0] if after else begin
        for path in after[1:]:
            self.scope.names = merged(self.scope.names, path)
        return self.block(node.finalbody) or not after

    def loop(self, node: ast.For | ast.AsyncFor | ast.While) -> bool:
        """A loop: its body once, or not at all."""
        if isinstance(node, ast.While):
            self.value(node.test)
        else:
            self.value(node.iter)
            self.bind(node.target, UNKNOWN)
        self.either_block(lambda: self.block(node.body) and False, lambda: False)
        return self.block(node.orelse)

    def within(self, node: ast.With | ast.AsyncWith) -> bool:
        """``with``."""
        for item in node.items:
            value = self.value(item.context_expr)
            if item.optional_vars:
                self.bind(item.optional_vars, value if value.made else UNKNOWN)
        swallowed = suppressed_names(node, self.again)
        shields, imports = "TypeError" in swallowed, bool(swallowed & (OF_IMPORTS | {"Exception"}))
        self.shields += shields
        self.import_shields += imports
        ended = self.block(node.body) and not swallowed
        self.shields -= shields
        self.import_shields -= imports
        return ended

    def leave(self, node: ast.Return | ast.Raise) -> bool:
        """``return`` and ``raise``."""
        if isinstance(node, ast.Return):
            self.scope.returned.append(self.value(node.value) if node.value else constant(None))
        elif node.exc:
            self.value(node.exc)
        return True

    def function(self, node: FunctionNode) -> bool:
        """``def``: decorators and defaults now, the body when the scope around it ends."""
        for one in (*node.decorator_list, *node.args.defaults, *node.args.kw_defaults):
            self.value(one)
        for annotated in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs):
            self.value(annotated.annotation)
        self.value(node.returns)
        inner = self.scope.inner(node.name)
        self.reading.functions[inner.name] = node
        if self.scope.is_class:
            self.reading.now.attributes[LOCAL + self.scope.name, node.name] = named(LOCAL + inner.name)
        self.scope.names[node.name] = named(LOCAL + inner.name)
        self.scope.functions.append((node, inner))
        return False

    def functions_of(self, scope: Scope) -> None:
        """The bodies of the functions of a scope that has ended."""
        outer = self.scope
        around = self.guards, self.shields, self.import_shields, self.branches
        self.guards = self.shields = self.import_shields = self.branches = 0
        for node, inner in scope.functions:
            self.scope = inner
            inner.names.update(parameters_of(node, inner, self.reading))
            ended = self.block(node.body)
            self.functions_of(inner)
            result = UNKNOWN
            for place, value in enumerate([*inner.returned, *([] if ended else [constant(None)])]):
                result = value if place == 0 else joined(result, value)
            self.reading.now.results[inner.name] = result
        self.guards, self.shields, self.import_shields, self.branches = around
        self.scope = outer

    def class_body(self, node: ast.ClassDef) -> bool:
        """``class``: its body now, its methods with the functions of the scope around it."""
        bases = [self.value(base) for base in node.bases]
        for one in (*node.decorator_list, *(keyword.value for keyword in node.keywords)):
            self.value(one)
        outer = self.scope
        self.scope = inner = outer.inner(node.name, is_class=True)
        names = tuple(name for base in bases for name in base.names)
        self.reading.classes[inner.name] = class_of(node, inner.name, names, self.reading)
        self.block(node.body)
        outer.functions += inner.functions
        self.scope = outer
        self.put(node.name, named(LOCAL + inner.name))
        return False
