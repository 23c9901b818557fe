"""Classes and functions as they are written, in the words of the api tables; nothing is run."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

AVAILABILITY = re.compile(r"^_?is_\w+_available$")
HARMLESS_METACLASSES = {"ABCMeta", "type"}
# Class decorators that leave the constructor as it is written; any other makes it unknown.
HARMLESS_CLASS_DECORATORS = {
    *(
        "add_end_docstrings",
        "add_start_docstrings",
        "auto_docstring",
        "dataclass",
        "deprecated",
        "experimental",
    ),
    *("export", "final", "requires", "requires_backends", "runtime_checkable", "total_ordering"),
}


@dataclass
class ClassRead:
    """A class as its body is written."""

    bases: list[str]
    methods: dict[str, list[str]]
    fields: list[str] | None  # None where it is no dataclass
    known: bool  # False where a decorator or metaclass may make its constructor


def dotted(node: ast.expr | None) -> str:
    """`a.b.c` of a name or attribute, of what is subscripted or called; "" of anything else."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        left = dotted(node.value)
        return f"{left}.{node.attr}" if left else ""
    if isinstance(node, ast.Subscript):
        return dotted(node.value)
    return dotted(node.func) if isinstance(node, ast.Call) else ""


def last(node: ast.expr | None) -> str:
    """The last part of a dotted name."""
    return dotted(node).rpartition(".")[2]


def strings(node: ast.expr | None) -> list[str]:
    """The strings of a literal list, tuple or set, and of sums of them."""
    if isinstance(node, ast.BinOp):
        return strings(node.left) + strings(node.right)
    items = node.elts if isinstance(node, ast.List | ast.Tuple | ast.Set) else ()
    return [item.value for item in items if isinstance(item, ast.Constant) and isinstance(item.value, str)]


def truth(test: ast.expr) -> bool | None:
    """What a condition is where everything optional is installed; None where that is not known."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        inner = truth(test.operand)
        return None if inner is None else not inner
    if isinstance(test, ast.BoolOp):
        parts = [truth(value) for value in test.values]
        if None in parts:
            return None
        return all(parts) if isinstance(test.op, ast.And) else any(parts)
    if last(test) == "TYPE_CHECKING":
        return False
    if isinstance(test, ast.Call) and AVAILABILITY.match(last(test)):
        return True
    return test.value if isinstance(test, ast.Constant) and isinstance(test.value, bool) else None


def read_class(node: ast.ClassDef) -> ClassRead:
    """A class as its body is written."""
    decorators = {last(decorator): decorator for decorator in node.decorator_list}
    made = {last(own.value) for own in node.keywords if own.arg == "metaclass"} - HARMLESS_METACLASSES
    methods: dict[str, list[str]] = {}
    for item in statements(node.body):
        if isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef):
            names = {last(decorator) for decorator in item.decorator_list}
            if item.name.startswith("_") and item.name not in ("__init__", "__new__"):
                continue
            if not names & {"overload", "property", "cached_property", "setter", "deleter"}:
                methods[item.name] = words_of_function(item, 0 if "staticmethod" in names else 1)
        elif isinstance(item, ast.Assign) and any(dotted(own) == "__init__" for own in item.targets):
            made.add("__init__")
    is_data = "dataclass" in decorators and "__init__" not in methods
    return ClassRead(
        bases=[dotted(base) or "?" for base in node.bases],
        methods=methods,
        fields=words_of_fields(node, decorators["dataclass"]) if is_data else None,
        known=not made and set(decorators) <= HARMLESS_CLASS_DECORATORS,
    )


def statements(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of a body and of the branches of its conditions."""
    for item in body:
        if isinstance(item, ast.If):
            yield from statements([*item.body, *item.orelse])
        else:
            yield item


def words_of_fields(node: ast.ClassDef, decorator: ast.expr) -> list[str]:
    """The fields of a dataclass, as words of a callable."""
    words = ["."]
    keywords = decorator.keywords if isinstance(decorator, ast.Call) else []
    if any(own.arg == "kw_only" and truth(own.value) for own in keywords):
        words.append("*")
    for item in statements(node.body):
        if not isinstance(item, ast.AnnAssign) or not isinstance(item.target, ast.Name):
            continue
        kind = last(item.annotation)
        if kind == "KW_ONLY":
            words.append("*")
        elif kind != "ClassVar":
            words.append(word_of_field(item.target.id, item.value))
    return words


def word_of_field(name: str, value: ast.expr | None) -> str:
    """`name`, `name=` or `-name`."""
    if isinstance(value, ast.Call) and last(value) == "field":
        given = {own.arg: own.value for own in value.keywords}
        if "init" in given and truth(given["init"]) is False:
            return f"-{name}"
        return f"{name}=" if {"default", "default_factory", None} & set(given) else name
    return name if value is None else f"{name}="


def words_of_function(node: ast.FunctionDef | ast.AsyncFunctionDef, skip: int = 0) -> list[str]:
    """The parameters of a function, as words of a callable; the first `skip` are bound already."""
    own = node.args
    named = [*own.posonlyargs, *own.args]
    required = len(named) - len(own.defaults)
    words = [argument.arg + ("=" if index >= required else "") for index, argument in enumerate(named)]
    if own.posonlyargs:
        words.insert(len(own.posonlyargs), "/")
    words = words[skip:]
    if own.vararg or own.kwonlyargs:
        words.append(f"*{own.vararg.arg}" if own.vararg else "*")
    for argument, default in zip(own.kwonlyargs, own.kw_defaults, strict=True):
        words.append(argument.arg + ("=" if default else ""))
    names = {word.rstrip("=") for word in words}
    taken = {*renamed_by(node, names), *(taken_from(node, own.kwarg.arg) if own.kwarg else ())}
    words += [f"~{name}" for name in sorted(taken - names)]
    if own.kwarg is None:
        return words
    passed = [">super"] if goes_to_base(node, own.kwarg.arg) else []
    return [*words, f"**{own.kwarg.arg}", *passed]


def goes_to_base(node: ast.FunctionDef | ast.AsyncFunctionDef, kwargs: str) -> bool:
    """Are all of `**kwargs` that are left given to the same method of the base class?"""
    inside = list(ast.walk(node))
    if any(
        isinstance(own, ast.Name) and own.id == kwargs and isinstance(own.ctx, ast.Store) for own in inside
    ):
        return False
    calls = [own for own in inside if isinstance(own, ast.Call) and isinstance(own.func, ast.Attribute)]
    bases = [own for own in calls if last(own.func) == node.name and last(own.func.value) == "super"]
    given = [own.value for call in bases for own in call.keywords if own.arg is None]
    return len(bases) == 1 and any(dotted(own) == kwargs for own in given)


def renamed_by(node: ast.FunctionDef | ast.AsyncFunctionDef, names: set[str]) -> Iterator[str]:
    """Old names that a decorator turns into new ones."""
    for decorator in node.decorator_list:
        if isinstance(decorator, ast.Call) and last(decorator) == "deprecate_kwarg":
            given = {own.arg: own.value for own in decorator.keywords}
            old = decorator.args[0] if decorator.args else given.get("old_name")
            if isinstance(old, ast.Constant) and ("new_name" in given or len(decorator.args) > 2):
                yield str(old.value)
        elif last(decorator) == "validate_hf_hub_args" and "token" in names:
            yield "use_auth_token"


def taken_from(node: ast.FunctionDef | ast.AsyncFunctionDef, kwargs: str) -> Iterator[str]:
    """The names that a function takes out of its `**kwargs`."""
    inside = list(ast.walk(node))
    calls = [own for own in inside if isinstance(own, ast.Call) and own.args]
    pops = [own for own in calls if dotted(own.func) == f"{kwargs}.pop"]
    keys = [own.args[0].value for own in pops if isinstance(own.args[0], ast.Constant)]
    yield from map(str, keys)
    if len(keys) == len(pops):
        return
    lists = {dotted(own.targets[0]): own.value for own in inside if isinstance(own, ast.Assign)}
    for item in inside:
        if isinstance(item, ast.DictComp | ast.ListComp | ast.For) and any(
            own in pops for own in ast.walk(item)
        ):
            source = item.iter if isinstance(item, ast.For) else item.generators[0].iter
            yield from strings(source) or strings(lists.get(dotted(source)))
