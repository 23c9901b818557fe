"""``def``, ``lambda`` and ``class``: what runs where they stand."""

from __future__ import annotations

import ast
from collections.abc import Callable

from doctor.static.compiling import Expression, block, compiles, expression, run_block
from doctor.static.functions import Definition, FunctionCode, Step, Steps
from doctor.static.machine import Frame
from doctor.static.names import bind_name
from doctor.static.plain import (
    UNKNOWN,
    Dict,
    Flow,
    Value,
)
from doctor.static.values import (
    Bound,
    Class,
    External,
    Function,
    Partial,
)

DATACLASS = External("dataclasses.dataclass")
HARMLESS = frozenset(("final", "runtime_checkable", "total_ordering", "unique", "deprecated"))
ACCESSORS = (".setter", ".getter", ".deleter")


@compiles(ast.FunctionDef, ast.AsyncFunctionDef)
def _function(node: ast.FunctionDef | ast.AsyncFunctionDef) -> Step:
    """``def``: decorators, defaults and annotations are evaluated, and the name is bound."""
    texts = tuple(ast.unparse(decorator) for decorator in node.decorator_list)
    decorators = [
        expression(decorator)
        for decorator, text in zip(node.decorator_list, texts, strict=True)
        if not text.endswith(ACCESSORS)
    ]
    accessor = any(text.endswith(ACCESSORS) for text in texts)
    annotations = [expression(annotation) for annotation in _annotations(node)]
    make = _maker(node, texts, lambda: block(node.body))

    def run(frame: Frame) -> Flow | None:
        for decorator in decorators:
            decorator(frame)
        function = make(frame)
        if not frame.function and not frame.module.postponed:
            for annotation in annotations:
                annotation(frame)
        if not (accessor and node.name in frame.names):
            bind_name(frame, node.name, function)
        return None

    return run


def _annotations(node: ast.FunctionDef | ast.AsyncFunctionDef) -> list[ast.expr]:
    arguments = node.args
    every = [
        *arguments.posonlyargs,
        *arguments.args,
        *arguments.kwonlyargs,
        arguments.vararg,
        arguments.kwarg,
    ]
    found = [arg.annotation for arg in every if arg is not None and arg.annotation is not None]
    found += [node.returns] if node.returns else []
    return [annotation for annotation in found if not isinstance(annotation, ast.Constant)]


def _maker(
    node: Definition, texts: tuple[str, ...], compile_body: Callable[[], Steps]
) -> Callable[[Frame], Function]:
    defaults = [expression(default) for default in node.args.defaults]
    keyword_defaults = [expression(default) if default else None for default in node.args.kw_defaults]
    name = getattr(node, "name", "<lambda>")
    codes: dict[str, FunctionCode] = {}

    def make(frame: Frame) -> Function:
        in_class = frame.names.get("__qualname__") if "__fields__" in frame.names else None
        qualname = f"{in_class}.{name}" if in_class else name
        if qualname not in codes:
            codes[qualname] = FunctionCode(node, qualname, compile_body, texts)
        function = Function(frame.module, codes[qualname], _visible(frame))
        function.defaults = [default(frame) for default in defaults]
        function.keyword_defaults = [default(frame) if default else UNKNOWN for default in keyword_defaults]
        return function

    return make


def _visible(frame: Frame) -> Frame | None:
    """The innermost frame whose names a function made here sees: a class body's are not among them."""
    scope: Frame | None = frame
    while scope is not None and "__fields__" in scope.names:
        scope = scope.outer
    return scope if scope is not None and (scope.function or scope.outer is not None) else None


@compiles(ast.Lambda)
def _lambda(node: ast.Lambda) -> Expression:
    """``lambda``."""

    def body() -> Steps:
        value = expression(node.body)

        def result(frame: Frame) -> Flow | None:
            frame.result = value(frame)
            return "return"

        return (result,)

    return _maker(node, (), body)


@compiles(ast.ClassDef)
def _class(node: ast.ClassDef) -> Step:
    """``class``: bases, keywords and decorators are evaluated, the body runs."""
    bases = [expression(base.value if isinstance(base, ast.Starred) else base) for base in node.bases]
    keywords = [(keyword.arg or "**", expression(keyword.value)) for keyword in node.keywords]
    decorators = [expression(decorator) for decorator in node.decorator_list]
    body = block(node.body)

    def run(frame: Frame) -> Flow | None:
        outer = frame.names.get("__qualname__") if "__fields__" in frame.names else None
        qualname = f"{outer}.{node.name}" if outer else node.name
        cls = Class(frame.module, node.name, qualname, [base(frame) for base in bases])
        given = {keyword: value(frame) for keyword, value in keywords}
        cls.metaclass = given.pop("metaclass", None)
        inner = frame.inner({"__fields__": Dict(), "__qualname__": qualname, "__module__": frame.module.name})
        inner.cls = cls
        run_block(body, inner)
        _finish(cls, inner.names)
        _tell_base(frame, cls, given)
        for decorator in reversed(decorators):
            _decorate(frame, cls, decorator(frame))
        bind_name(frame, node.name, cls)
        return None

    return run


def _tell_base(frame: Frame, cls: Class, given: dict[str, Value]) -> None:
    """Call the ``__init_subclass__`` that the class inherits."""
    for base in cls.order[1:]:
        if isinstance(base, External):
            return
        if "__init_subclass__" in base.names:
            frame.machine.call(Bound(base.names["__init_subclass__"], cls), **given)
            return


def _decorate(frame: Frame, cls: Class, decorator: Value) -> None:
    """``dataclass`` makes it one; what another decorator does to its parameters is not known."""
    callee = decorator.callee if isinstance(decorator, Partial) else decorator
    if callee == DATACLASS:
        frame.machine.call(decorator, cls)
    elif not (isinstance(callee, External) and callee.name in HARMLESS):
        cls.wrapped = True


def _finish(cls: Class, names: dict[str, Value]) -> None:
    cls.fields = names.pop("__fields__")
    del names["__qualname__"]
    cls.names = names
    for value in names.values():
        if isinstance(value, Function) and value.owner is None:
            value.owner = cls
