"""Calls: what they are of, what they are given, what comes out of them."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from msgspec.structs import replace

from doctor.readers.script.expressions import Expressions
from doctor.readers.script.guards import PROBES
from doctor.readers.script.reading import is_covered
from doctor.readers.script.results import PARSES, result_of
from doctor.readers.script.values import (
    UNKNOWN,
    filtered,
    joined,
    named,
    updated,
    with_entry,
    without_entry,
)
from doctor.script import LOCAL, Argument, Call, Made, Value

DICTIONARY_METHODS = {"update", "pop", "setdefault", "copy", "get", "clear"}

Given = tuple[tuple[Argument, ...], bool]  # the arguments, and whether there are more than could be followed


class Calls(Expressions):
    """Evaluates and records calls."""

    def call(self, node: ast.Call) -> Value:
        """The result of a call; those of covered libraries are recorded."""
        found = self.results[id(node)] = self.outcome(node)
        return found

    def outcome(self, node: ast.Call) -> Value:
        """What comes out of a call, of whatever it may be a call."""
        function = self.value(node.func)
        arguments, unfollowed = self.arguments(node)
        special = self.special(node, function, arguments, unfollowed)
        if special is not None:
            return special
        targets = [*self.targets(node, function)]
        found: Value | None = None
        for name, owners in targets:
            one = self.called(node, name, owners, (*function.given, *arguments), unfollowed)
            found = one if found is None else joined(found, one)
        if found is None:
            return Value(tested=function.tested or any(one.value.tested for one in arguments))
        found = replace(found, tested=True) if function.tested else found
        return found if function.complete or len(targets) == 1 else replace(found, complete=False)

    def arguments(self, node: ast.Call) -> Given:
        """The arguments of a call, dictionaries behind ``**`` taken apart."""
        found: list[Argument] = []
        unfollowed = False
        for position, item in enumerate(node.args):
            if isinstance(item, ast.Starred):
                unfollowed = True
                self.value(item.value)
                continue
            at = -1 if unfollowed else position
            place, value = self.reading.place(item), self.value(item)
            text = self.reading.text_of(item)
            found.append(
                Argument(name="", position=at, value=value, text=text, place=place, way="positional")
            )
        for keyword in node.keywords:
            value = self.value(keyword.value)
            if keyword.arg is None:
                found += value.entries
                unfollowed = unfollowed or not value.complete
            else:
                place, text = self.reading.place(keyword), self.reading.text_of(keyword.value)
                found.append(Argument(name=keyword.arg, value=value, text=text, place=place))
        return tuple(found), unfollowed

    def targets(self, node: ast.Call, function: Value) -> Iterator[tuple[str, tuple[Made, ...]]]:
        """What a call may be of: by full name, with the objects that it is a method of."""
        for name in function.names:
            yield name, ()
        if not isinstance(node.func, ast.Attribute):
            return
        owner = self.again(node.func.value)
        types: dict[str, list[Made]] = {}
        for one in owner.made:
            types.setdefault(one.type, []).append(one)
        for type, objects in types.items():
            if type:
                method = "" if node.func.attr == "__init__" else f".{node.func.attr}"
                yield type + method, tuple(objects)

    def called(
        self,
        node: ast.Call,
        name: str,
        owners: tuple[Made, ...],
        arguments: tuple[Argument, ...],
        unfollowed: bool,
    ) -> Value:
        """One call of one callable: recorded, and what comes out."""
        number = self.reading.numbers[id(node)]
        if name.startswith(LOCAL) and self.is_own_function(name):
            found = self.own_function(name, arguments)
        else:
            found = result_of(name, number, owners, arguments)
        if is_covered(name):
            self.record(node, name, owners, arguments, unfollowed)
        return found

    def is_own_function(self, name: str) -> bool:
        """Is this a function or method of the script's own?"""
        return name.removeprefix(LOCAL) in self.reading.functions

    def own_function(self, name: str, arguments: tuple[Argument, ...]) -> Value:
        """Tell the function what it is given, and answer what it gave back in the last round."""
        own = name.removeprefix(LOCAL)
        function = self.reading.functions[own]
        parameters = [one.arg for one in (*function.args.posonlyargs, *function.args.args)]
        if "." in own and parameters[:1] in (["self"], ["cls"]):
            parameters = parameters[1:]
        learned = self.reading.now
        rest: list[Argument] = []
        known = {*parameters, *(one.arg for one in function.args.kwonlyargs)}
        for one in arguments:
            positional = 0 <= one.position < len(parameters)
            wanted = parameters[one.position] if positional else one.name
            if wanted in known:
                learned.learn(learned.parameters, own, wanted, one.value)
            elif one.name:
                rest.append(one)
        if function.args.kwarg:
            learned.learn(learned.parameters, own, function.args.kwarg.arg, Value(entries=tuple(rest)))
        return self.reading.before.results.get(own, UNKNOWN)

    def record(
        self,
        node: ast.Call,
        name: str,
        owners: tuple[Made, ...],
        arguments: tuple[Argument, ...],
        unfollowed: bool,
    ) -> None:
        """Keep a call of a covered library."""
        number = self.reading.numbers[id(node)]
        if self.guarded:
            arguments = tuple(replace(one, guarded=True) for one in arguments)
        self.reading.calls[number] = Call(
            number=number,
            callable=name.removesuffix(".__init__"),
            made_by=owners,
            arguments=arguments,
            unfollowed=unfollowed,
            place=self.reading.place(node),
            callee=self.reading.place(node.func),
            function=self.scope.name,
            guarded=self.guarded or self.shields > 0,
        )

    def special(
        self, node: ast.Call, function: Value, arguments: tuple[Argument, ...], unfollowed: bool
    ) -> Value | None:
        """Functions of Python whose effect on values is known."""
        if isinstance(node.func, ast.Name) and not function.names:
            return self.builtin(node, node.func.id, arguments, unfollowed)
        if isinstance(node.func, ast.Attribute):
            owner = self.again(node.func.value)
            if node.func.attr in PARSES and owner.items:
                return Value(items=owner.items)
            if node.func.attr in DICTIONARY_METHODS and is_dictionary(owner):
                return self.dictionary_method(node, node.func, owner, arguments, unfollowed)
        if PROBES & set(function.names):
            return Value(tested=True)
        first = arguments[0].value if arguments else UNKNOWN
        if "functools.partial" in function.names:
            return self.partial(node, first, arguments, unfollowed)
        if {"copy.copy", "copy.deepcopy", "torch.compile"} & set(function.names):
            return first
        if "importlib.import_module" in function.names and first.constants:
            return named(str(first.constants[0]))
        return None

    def partial(
        self, node: ast.Call, target: Value, arguments: tuple[Argument, ...], unfollowed: bool
    ) -> Value:
        """``functools.partial(callable, ...)``: recorded, for what it puts in is checked where it stands."""
        given = tuple(one for one in arguments if one.name)
        for name in target.names:
            if is_covered(name):
                self.record(node, name, (), given, True)
        return replace(target, given=given, complete=False)

    def builtin(
        self, node: ast.Call, name: str, arguments: tuple[Argument, ...], unfollowed: bool
    ) -> Value | None:
        """``dict``, ``getattr``, ``super``; None for any other."""
        first = arguments[0].value if arguments else Value(complete=True)
        if name == "dict":
            start = replace(first, complete=first.complete and bool(first.entries or not node.args))
            for one in arguments:
                if one.name:
                    start = with_entry(start, replace(one, way="dictionary", guarded=self.guarded))
            return replace(start, complete=start.complete and not unfollowed)
        if name == "getattr" and len(arguments) > 1 and arguments[1].value.constants:
            attribute = str(arguments[1].value.constants[0])
            return Value(names=tuple(f"{one}.{attribute}" for one in first.names))
        if name == "super":
            bases = self.reading.classes.get(self.scope.class_name)
            made = tuple(Made(type=base, call=-1) for base in bases.bases) if bases else ()
            return Value(made=made)
        return None

    def dictionary_method(
        self,
        node: ast.Call,
        function: ast.Attribute,
        owner: Value,
        arguments: tuple[Argument, ...],
        unfollowed: bool,
    ) -> Value:
        """What a method does to a dictionary that is followed, and what it gives."""
        if function.attr == "copy":
            return owner
        first = arguments[0].value if arguments else UNKNOWN
        key = first.constants[0] if len(first.constants) == 1 and first.complete else None
        found = next((one.value for one in owner.entries if one.name == key), UNKNOWN)
        if function.attr == "update":
            given = tuple(
                replace(one, way="dictionary", guarded=self.guarded) for one in arguments if one.name
            )
            owner = updated(owner, first) if node.args else owner
            self.bind(function.value, updated(owner, Value(entries=given, complete=not unfollowed)))
        elif function.attr in ("pop", "clear"):
            self.bind(function.value, without_entry(owner, key) if isinstance(key, str) else filtered(owner))
        elif function.attr == "setdefault" and isinstance(key, str) and len(node.args) > 1:
            default = self.entry(key, arguments[1].value, node.args[1], self.reading.place(node))
            self.bind(function.value, updated(Value(entries=(default,), complete=True), owner))
        return replace(found, complete=False)


def is_dictionary(value: Value) -> bool:
    """Is this a dictionary that is followed, the empty one included?"""
    others = value.constants or value.names or value.made or value.items
    return bool(value.entries) or (value.complete and not others)
