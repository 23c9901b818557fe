"""What a script takes where nobody says otherwise, and to how many tokens it cuts its texts.

Defaults are those of its options, of its dataclasses and of its functions.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from doctor.script import Constant

CONFLICT = object()  # two defaults of one name


def options_of(tree: ast.Module) -> Mapping[str, Constant]:
    """Default values by the name under which the script uses them; names with two defaults are left out."""
    found: dict[str, object] = {}
    for node in ast.walk(tree):
        for name, value in _defaults(node):
            found[name] = value if found.get(name, value) == value else CONFLICT
    return {name: value for name, value in found.items() if isinstance(value, Constant)}


def truncations_of(tree: ast.Module, options: Mapping[str, Constant]) -> tuple[int, ...]:
    """The lengths to which tokenizers cut: ``max_length`` of calls that also say ``truncation``, in order."""
    known = {**dict(_assigned(tree)), **options}
    found: list[int] = []
    for node in ast.walk(tree):
        given = {one.arg: one.value for one in node.keywords} if isinstance(node, ast.Call) else {}
        if "truncation" in given and "max_length" in given:
            value = known.get(_last_name(given["max_length"]), _constant(given["max_length"]))
            found += [value] if type(value) is int and value > 0 else []
    return tuple(dict.fromkeys(found))


def _assigned(tree: ast.Module) -> Iterator[tuple[str, object]]:
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            yield node.targets[0].id, _constant(node.value)


def _last_name(node: ast.expr) -> str:
    """The name of a variable, or of an attribute; "" of anything else."""
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def _defaults(node: ast.AST) -> Iterator[tuple[str, object]]:
    if (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "add_argument"
    ):
        yield from _of_option(node)
    elif isinstance(node, ast.ClassDef):
        for field in node.body:
            if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and field.value:
                yield field.target.id, _constant(_field_default(field.value))
    elif isinstance(node, ast.FunctionDef):
        arguments = (*node.args.posonlyargs, *node.args.args)
        for argument, default in zip(reversed(arguments), reversed(node.args.defaults), strict=False):
            yield argument.arg, _constant(default)
        for argument, given in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True):
            if given:
                yield argument.arg, _constant(given)


def _of_option(call: ast.Call) -> Iterator[tuple[str, object]]:
    """``parser.add_argument("--batch-size", "-b", default=4)``: ("batch_size", 4)."""
    given = {keyword.arg: keyword.value for keyword in call.keywords}
    flags = [_constant(one) for one in call.args]
    long = [flag for flag in flags if isinstance(flag, str) and flag.startswith("--")]
    names = [_constant(given["dest"])] if "dest" in given else long[:1]
    name = names[0] if names else None
    if not isinstance(name, str):
        return
    if "default" in given:
        value = _constant(given["default"])
    else:
        action = _constant(given["action"]) if "action" in given else ""
        value = {"store_true": False, "store_false": True}.get(str(action), CONFLICT)
    yield name.lstrip("-").replace("-", "_"), value


def _field_default(value: ast.expr) -> ast.expr:
    """The default inside ``field(default=...)``, else the value itself."""
    if isinstance(value, ast.Call):
        return next((one.value for one in value.keywords if one.arg == "default"), value)
    return value


def _constant(node: ast.expr) -> object:
    try:
        value = ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return CONFLICT
    return value if isinstance(value, Constant) else CONFLICT
