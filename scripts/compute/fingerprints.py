"""How a release answers what was asked of another, read from its text: who answers alike behaves alike.

The answers need not be right, only different wherever the true ones differ: a needless difference costs one
more evaluation, and whatever ends up in the matrix was evaluated.
"""

from __future__ import annotations

import ast
import operator
import re
import zlib
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import msgspec
from packaging.version import Version

from compute.sources import Sources

COMPARISONS: dict[str, Callable[[Version, Version], bool]] = {
    **{
        "==": operator.eq,
        "!=": operator.ne,
        "<": operator.lt,
        "<=": operator.le,
        ">": operator.gt,
        ">=": operator.ge,
    }
}
CALL = re.compile(r"(?P<callee>[\w.<>]*)\((?P<positional>\d+);(?P<keywords>[\w,]*)(?:;\w*)?\)")
OF_THIS_CODE = zlib.crc32(Path(__file__).read_bytes())  # other code may answer otherwise
STAR = re.compile(r"^\s*from\s+([\w.]+)\s+import\s+\*", re.M)
BLOCKS = (ast.If, ast.Try, ast.With, ast.For, ast.While)


class Question(NamedTuple):
    """One thing that one package asks another: a name, an attribute, a call, a parameter, its version."""

    kind: str
    module: str
    name: str


class Reader:
    """Answers of the releases of one package."""

    def __init__(self, sources: Sources, package: str, cache: Path | None = None) -> None:
        self.sources = sources
        self.package = package
        self.file = cache / f"answers-{package}-{OF_THIS_CODE:x}" if cache else None
        self.known: dict[tuple[str, Question], str] = self.kept()

    def kept(self) -> dict[tuple[str, Question], str]:
        """Answers that were found before: the text of a release does not change."""
        try:
            lines = msgspec.json.decode(zlib.decompress(self.file.read_bytes())) if self.file else []
        except (OSError, zlib.error, msgspec.MsgspecError):
            return {}
        return {(version, Question(*question)): answer for version, question, answer in lines}

    def keep(self) -> None:
        """Write what is known now."""
        if self.file:
            lines = [(version, question, answer) for (version, question), answer in self.known.items()]
            self.file.write_bytes(zlib.compress(msgspec.json.encode(lines)))

    def answers(self, version: str, questions: frozenset[Question]) -> tuple[str, ...]:
        """The answers of one release, in the order of the questions."""
        return tuple(self.answer(version, question) for question in sorted(questions))

    def answer(self, version: str, question: Question) -> str:
        """One answer, remembered."""
        key = (version, question)
        if key not in self.known:
            self.known[key] = self.find(version, question)
        return self.known[key]

    def find(self, version: str, question: Question) -> str:
        """One answer, read anew."""
        if question.kind == "version":
            return compared(version, question.name)
        path = self.path(version, question.module)
        if path is None:
            return "no module"
        if question.kind == "name":
            return self.bound(version, path, question)
        text = self.sources.text(self.package, version, path)
        if question.kind in ("call", "parameter"):
            return signature_answer(text, question)
        return str(re.search(rf"\b{re.escape(question.name.rpartition('.')[2])}\b", text) is not None)

    def path(self, version: str, module: str) -> str | None:
        """The file of a module."""
        base = module.replace(".", "/")
        files = self.sources.files(self.package, version)
        return next((path for path in (f"{base}/__init__.py", f"{base}.py") if path in files), None)

    def bound(self, version: str, path: str, question: Question) -> str:
        """Is a name bound in a module, mentioned in it, possibly made up when asked for, or none of these?"""
        text = self.sources.text(self.package, version, path)
        mentioned = question.name in text and re.search(rf"\b{re.escape(question.name)}\b", text)
        if mentioned and question.name in names_bound(text):
            return "bound"
        if self.path(version, f"{question.module}.{question.name}"):
            return "bound"
        for star in stars(text):
            module = star if not star.startswith(".") else absolute(star, question.module, path)
            inner = self.path(version, module)
            if (
                inner
                and inner != path
                and self.bound(version, inner, question._replace(module=module)) != "absent"
            ):
                return "bound"
        if mentioned:
            return "mentioned"
        return "made up" if re.search(r"^def __getattr__", text, re.M) else "absent"


def compared(version: str, comparison: str) -> str:
    """The answer to ">= 1.3.0", which may also stand as "1.3.0 <="."""
    for sign, compare in sorted(COMPARISONS.items(), key=lambda item: -len(item[0])):
        left, found, right = comparison.partition(sign)
        if found:
            bounds = [Version(side.strip()) if side.strip() else Version(version) for side in (left, right)]
            return str(compare(*bounds))
    return version


def absolute(star: str, module: str, path: str) -> str:
    """The full name of a relative module."""
    level = len(star) - len(star.lstrip("."))
    parts = module.split(".") if path.endswith("__init__.py") else module.split(".")[:-1]
    base = parts[: len(parts) - level + 1]
    return ".".join([*base, *filter(None, [star.lstrip(".")])])


@lru_cache(maxsize=64)
def parsed(text: str) -> ast.Module:
    """The tree of a file; an empty one where it does not parse."""
    try:
        return ast.parse(text)
    except SyntaxError:
        return ast.parse("")


@lru_cache(maxsize=4096)
def names_bound(text: str) -> frozenset[str]:
    """Names that the body of a module binds, on whatever condition."""
    return frozenset(name for statement in statements(parsed(text).body) for name in bound_by(statement))


def stars(text: str) -> list[str]:
    """Modules from which everything is imported."""
    return STAR.findall(text) if "import *" in text else []


def statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of a body and of the blocks in it."""
    for statement in body:
        yield statement
        if isinstance(statement, BLOCKS):
            for field in ("body", "orelse", "finalbody"):
                yield from statements(getattr(statement, field, []))
            for handler in getattr(statement, "handlers", []):
                yield from statements(handler.body)


def bound_by(statement: ast.stmt) -> Iterator[str]:
    """Names that one statement binds."""
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        yield statement.name
    elif isinstance(statement, (ast.Import, ast.ImportFrom)):
        yield from (alias.asname or alias.name.split(".")[0] for alias in statement.names)
    elif isinstance(statement, (ast.Assign, ast.AnnAssign, ast.AugAssign)):
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        yield from (node.id for target in targets for node in ast.walk(target) if isinstance(node, ast.Name))


def signature_answer(text: str, question: Question) -> str:
    """Would a call be accepted, or is a parameter there, as far as the parameters say?"""
    found = CALL.fullmatch(question.name)
    if found is None:
        callee, _, parameter = question.name.rstrip(")").partition("(")
        keywords = {parameter}
    else:
        callee, keywords = found["callee"], set(filter(None, found["keywords"].split(",")))
    arguments = arguments_of(text, callee)
    if arguments is None:
        return f"no such callable: {fields_of(text, callee)}"
    taken = [one.arg for one in arguments.posonlyargs + arguments.args]
    required = taken[: len(taken) - len(arguments.defaults)]
    named = {*taken, *(one.arg for one in arguments.kwonlyargs)}
    refused = sorted(keywords - named) if arguments.kwarg is None else []
    if found is None:
        return str(parameter in named)
    given = int(found["positional"]) + (taken[:1] in (["self"], ["cls"]))
    missing = [name for name in required[given:] if name not in keywords]
    too_many = given > len(taken) and arguments.vararg is None
    return f"refuses {refused}, misses {missing}, too many: {too_many}"


def arguments_of(text: str, qualname: str) -> ast.arguments | None:
    """The parameters of a function or method by its qualified name."""
    node: ast.AST = parsed(text)
    for part in qualname.split("."):
        inner = statements(getattr(node, "body", []))
        matching = [one for one in inner if getattr(one, "name", None) == part]
        if not matching:
            return None
        node = matching[-1]
    return node.args if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) else None


def fields_of(text: str, qualname: str) -> list[str]:
    """The fields of a dataclass, where its ``__init__`` is asked for."""
    owner = qualname.rpartition(".")[0] or qualname
    classes = [
        one for one in statements(parsed(text).body) if isinstance(one, ast.ClassDef) and one.name == owner
    ]
    return sorted(
        one.target.id
        for cls in classes
        for one in cls.body
        if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name)
    )
