"""Functions as compiled, and how arguments meet parameters: the errors are Python's own words."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from functools import cached_property
from typing import TypeAlias

from doctor.static.machine import Frame, Machine
from doctor.static.outcomes import Observation
from doctor.static.plain import (
    UNKNOWN,
    Dict,
    Flow,
    Value,
)
from doctor.static.signals import Ask, Raised
from doctor.static.values import (
    Arguments,
    Function,
)

Step: TypeAlias = "Callable[[Frame], Flow | None]"
Steps: TypeAlias = "tuple[Step, ...]"
Definition: TypeAlias = "ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda"

# Decorators that leave the parameters of what they decorate as they are.
TRANSPARENT = frozenset(
    "staticmethod classmethod property cached_property lru_cache cache wraps torch_required no_grad "
    "inference_mode contextmanager deprecate_kwarg add_start_docstrings add_end_docstrings "
    "add_start_docstrings_to_model_forward replace_return_docstrings abstractmethod on_main_process "
    "on_local_main_process on_process requires check_backend overload _deprecate_arguments "
    "validate_hf_hub_args deprecate_method auto_docstring _deprecate_positional_args deprecated "
    "deprecated_argument require setter getter deleter override".split()
)
RENAMED = re.compile(r"deprecate_kwarg\(\s*['\"](\w+)")


class FunctionCode:
    """What is known of a function before it runs. The body is compiled at the first call."""

    def __init__(
        self, node: Definition, qualname: str, compile_body: Callable[[], Steps], decorators: tuple[str, ...]
    ) -> None:
        arguments = node.args
        self.name = getattr(node, "name", "<lambda>")
        self.qualname = qualname
        self.line = node.lineno
        self.compile_body = compile_body
        self.decorators = tuple(text.partition("(")[0].rpartition(".")[2] for text in decorators)
        self.positional = tuple(arg.arg for arg in arguments.posonlyargs + arguments.args)
        self.positional_only = len(arguments.posonlyargs)
        self.keyword_only = tuple(arg.arg for arg in arguments.kwonlyargs)
        self.required_keywords = tuple(
            arg.arg
            for arg, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
            if default is None
        )
        self.default_count = len(arguments.defaults)
        self.rest = arguments.vararg.arg if arguments.vararg else ""
        self.rest_keywords = arguments.kwarg.arg if arguments.kwarg else ""
        self.coroutine = isinstance(node, ast.AsyncFunctionDef)
        self.generator = not isinstance(node, ast.Lambda) and yields(node)
        # Names that a decorator takes and passes on under others.
        self.renamed = frozenset(name for text in decorators for name in RENAMED.findall(text))
        self.opaque = any(name not in TRANSPARENT for name in self.decorators)

    @cached_property
    def steps(self) -> Steps:
        """The body."""
        return self.compile_body()

    @cached_property
    def names(self) -> frozenset[str]:
        """All parameters but ``*`` and ``**``."""
        return frozenset(self.positional + self.keyword_only)

    @property
    def is_property(self) -> bool:
        """Does it stand for an attribute?"""
        return "property" in self.decorators or "cached_property" in self.decorators

    @property
    def is_static(self) -> bool:
        """Does it take no receiver?"""
        return "staticmethod" in self.decorators

    @property
    def is_class_method(self) -> bool:
        """Is its receiver the class?"""
        return "classmethod" in self.decorators or self.name in ("__init_subclass__", "__class_getitem__")

    @property
    def remembers(self) -> bool:
        """Does it keep its results?"""
        return "lru_cache" in self.decorators or "cache" in self.decorators


def yields(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Is it a generator? Functions inside it do not count."""
    waiting: list[ast.AST] = list(node.body)
    while waiting:
        inner = waiting.pop()
        if isinstance(inner, (ast.Yield, ast.YieldFrom)):
            return True
        if not isinstance(inner, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)):
            waiting.extend(ast.iter_child_nodes(inner))
    return False


def check(machine: Machine, function: Function, arguments: Arguments, label: str = "") -> None:
    """Hold a call against the parameters; TypeError in Python's words where they do not meet."""
    fault = _fault(machine, function, arguments, label or function.code.qualname)
    owner = function.module.owner
    if owner and owner.name != machine.consumer:
        shape = ",".join(sorted(arguments.keywords))
        asked = f"{function.code.qualname}({len(arguments.positional)};{shape};{arguments.open})"
        answer = fault.message if fault else "accepted"
        machine.observe(
            Observation(machine.consumer, owner.name, "call", function.module.name, asked, answer)
        )
    if fault:
        raise fault


def _fault(machine: Machine, function: Function, arguments: Arguments, label: str) -> Raised | None:
    code = function.code
    module = function.module.name
    if not code.rest_keywords and (not code.opaque or code.renamed):
        known = code.names | code.renamed
        unexpected = next((name for name in arguments.keywords if name not in known), None)
        if unexpected is not None:
            return machine.error(
                "TypeError",
                f"{label}() got an unexpected keyword argument '{unexpected}'",
                ask=Ask("unexpected-keyword", module, f"{label}({unexpected})"),
            )
    if code.opaque:
        return None
    if not code.rest and len(arguments.positional) > len(code.positional):
        return machine.error(
            "TypeError",
            f"{label}() {_too_many(code, arguments)}",
            ask=Ask("too-many-arguments", module, label),
        )
    missing = () if arguments.open else _missing(code, arguments)
    if missing:
        return machine.error(
            "TypeError",
            f"{label}() missing {_listed(code, missing)}",
            ask=Ask("missing-argument", module, f"{label}({missing[0]})"),
        )
    return None


def _too_many(code: FunctionCode, arguments: Arguments) -> str:
    given, most = len(arguments.positional), len(code.positional)
    takes = f"from {most - code.default_count} to {most}" if code.default_count else str(most)
    plural = "s" if code.default_count or most != 1 else ""
    only = sum(name in code.keyword_only for name in arguments.keywords)
    beside = f" positional argument{_s(given)} (and {only} keyword-only argument{_s(only)})" if only else ""
    verb = "was" if given == 1 and not only else "were"
    return f"takes {takes} positional argument{plural} but {given}{beside} {verb} given"


def _s(count: int) -> str:
    return "" if count == 1 else "s"


def _missing(code: FunctionCode, arguments: Arguments) -> tuple[str, ...]:
    required = code.positional[len(arguments.positional) : len(code.positional) - code.default_count]
    missing = tuple(name for name in required if name not in arguments.keywords)
    return missing or tuple(name for name in code.required_keywords if name not in arguments.keywords)


def _listed(code: FunctionCode, missing: tuple[str, ...]) -> str:
    """ "2 required positional arguments: 'a' and 'b'"."""
    kind = "keyword-only" if missing[0] in code.keyword_only else "positional"
    quoted = [f"'{name}'" for name in missing]
    last = quoted.pop()
    if quoted:
        last = f"{', '.join(quoted)}{',' if len(quoted) > 1 else ''} and {last}"
    return f"{len(missing)} required {kind} argument{'s' if len(missing) > 1 else ''}: {last}"


def bind(function: Function, arguments: Arguments, names: dict[str, Value], birth: int) -> None:
    """Give the parameters their values. What is open may have given any value to any of them."""
    code = function.code
    positional, vague = code.positional, arguments.open
    for name, default in zip(
        positional[len(positional) - code.default_count :], function.defaults, strict=True
    ):
        names[name] = UNKNOWN if vague else default
    for name, default in zip(code.keyword_only, function.keyword_defaults, strict=True):
        names[name] = UNKNOWN if vague else default
    names.update(zip(positional, arguments.positional, strict=False))
    further: dict[str, Value] = {}
    for name, value in arguments.keywords.items():
        (names if name in code.names else further)[name] = value
    for name in positional:
        names.setdefault(name, UNKNOWN)
    if code.rest:
        names[code.rest] = UNKNOWN if vague else tuple(arguments.positional[len(positional) :])
    if code.rest_keywords:
        names[code.rest_keywords] = Dict(further, birth, is_open=vague)
