"""Which tests and handlers shield code from versions that cannot run it."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

from doctor.script import Value

Resolve = Callable[[ast.expr], Value]

# Functions whose result depends on what is installed.
PROBES = {
    "inspect.signature",
    "inspect.getfullargspec",
    "importlib.metadata.version",
    "importlib_metadata.version",
    "packaging.version.parse",
    "packaging.version.Version",
    "pkg_resources.get_distribution",
    "dataclasses.fields",
    "transformers.utils.versions.require_version",
    "transformers.utils.is_transformers_version",
    "accelerate.utils.is_transformers_version",
    "accelerate.utils.is_peft_version",
    "accelerate.utils.compare_versions",
}
SHAPES = {"__version__", "__dataclass_fields__", "__code__", "__signature__", "model_fields"}
LEAVES = {"sys.exit", "os._exit", "exit", "quit"}


def is_test_of_versions(test: ast.expr, resolve: Resolve) -> bool:
    """Does a condition ask for a version, a signature, or the presence of a name?"""
    return any(asks(node, resolve) for node in ast.walk(test))


def asks(node: ast.AST, resolve: Resolve) -> bool:
    """Does one part of a condition ask so?"""
    if isinstance(node, ast.Name):
        return node.id == "TYPE_CHECKING" or resolve(node).tested
    if isinstance(node, ast.Attribute):
        is_constant = node.attr == "TYPE_CHECKING"
        return is_constant or tells_versions(node.attr, resolve(node.value)) or resolve(node).tested
    if isinstance(node, ast.Call):
        function = resolve(node.func)
        if isinstance(node.func, ast.Name) and node.func.id == "hasattr" and node.args:
            owner = resolve(node.args[0])
            return bool(owner.names or owner.made)
        return bool(PROBES & set(function.names)) or resolve(node).tested
    return False


def tells_versions(attribute: str, owner: Value) -> bool:
    """Does an attribute depend on what is installed? The version of torch decides about no argument here."""
    return attribute in SHAPES and not (attribute == "__version__" and "torch" in owner.names)


def is_main(test: ast.expr) -> bool:
    """Is this ``__name__ == "__main__"``, which a script that is run always passes?"""
    return isinstance(test, ast.Compare) and "__name__" in ast.unparse(test)


def constant_truth(test: ast.expr) -> bool | None:
    """True or False for ``if True`` and ``if 0``; None where it depends."""
    return bool(test.value) if isinstance(test, ast.Constant) else None


def catches(handlers: Sequence[ast.ExceptHandler], wanted: set[str], broad: bool) -> bool:
    """Is one of these exceptions caught, and life goes on? ``broad``: by ``except Exception`` too."""
    for handler in handlers:
        names = caught_names(handler)
        everything = not names or names & {"Exception", "BaseException"}
        if (names & wanted or (broad and everything)) and not gives_up(handler.body):
            return True
    return False


def suppressed_names(node: ast.With | ast.AsyncWith, resolve: Resolve) -> set[str]:
    """The exceptions that ``with contextlib.suppress(...)`` swallows, by their last name."""
    calls = [one.context_expr for one in node.items if isinstance(one.context_expr, ast.Call)]
    shields = [call for call in calls if "contextlib.suppress" in resolve(call.func).names]
    return {ast.unparse(one).rpartition(".")[2] for call in shields for one in call.args}


def caught_names(handler: ast.ExceptHandler) -> set[str]:
    """The exceptions of one handler by their last name; none for a bare ``except``."""
    if handler.type is None:
        return set()
    types = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return {ast.unparse(one).rpartition(".")[2] for one in types}


def gives_up(body: Sequence[ast.stmt]) -> bool:
    """Does a block end the program, or hand the exception on?"""
    return any(isinstance(one, ast.Raise) or is_exit(one) for one in body)


def is_exit(statement: ast.stmt) -> bool:
    """Is this ``sys.exit(...)`` or its like?"""
    if not isinstance(statement, ast.Expr) or not isinstance(statement.value, ast.Call):
        return False
    return ast.unparse(statement.value.func) in LEAVES


def tries_again(handlers: Sequence[ast.ExceptHandler]) -> bool:
    """Is there a handler that calls something by keywords in place of what failed?"""
    return any(
        isinstance(node, ast.Call) and node.keywords and isinstance(node.func, (ast.Name, ast.Attribute))
        for handler in handlers
        for statement in handler.body
        if isinstance(statement, (ast.Assign, ast.Return, ast.AnnAssign))
        for node in ast.walk(statement)
    )
