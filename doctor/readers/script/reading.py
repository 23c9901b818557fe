"""What is known while a script is read: scopes, what was recorded, and what a round tells the next one."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

from doctor.readers.script.source import ScriptUnreadable
from doctor.readers.script.values import UNBOUND, UNKNOWN, joined
from doctor.script import LOCAL, Call, Class, Import, Place, Value

# Libraries whose calls and imports are recorded.
COVERED = {
    *("transformers", "trl", "peft", "accelerate", "bitsandbytes", "datasets", "huggingface_hub"),
    "unsloth",
}
MOST_EFFORT = 5_000_000  # a long script of a person comes to some thousands
TEXT_LENGTH = 60  # of a value's source, as evidence

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass
class Scope:
    """The names of a module, a class body or a function, as they are at this point of the walk."""

    name: str = ""  # "train", "Tuner.fit"; "" for the module
    parent: Scope | None = None
    class_name: str = ""  # the class whose method this is
    is_class: bool = False
    names: dict[str, Value] = field(default_factory=dict)
    returned: list[Value] = field(default_factory=list)
    functions: list[tuple[FunctionNode, Scope]] = field(default_factory=list)  # walked when this one ends
    globals: set[str] = field(default_factory=set)

    def find(self, name: str) -> Value | None:
        """The value of a name, from the inside out; class bodies are not seen from their methods."""
        scope: Scope | None = self
        while scope:
            if name in scope.names and (scope is self or not scope.is_class):
                return scope.names[name]
            scope = scope.parent
        return None

    def inner(self, name: str, is_class: bool = False) -> Scope:
        """A scope inside this one."""
        class_name = self.name if self.is_class else self.class_name
        return Scope(f"{self.name}.{name}".lstrip("."), self, "" if is_class else class_name, is_class)


@dataclass
class Learned:
    """What one round of the walk knows of functions and attributes, for the next."""

    parameters: dict[tuple[str, str], Value] = field(default_factory=dict)  # by function and name
    results: dict[str, Value] = field(default_factory=dict)
    attributes: dict[tuple[str, str], Value] = field(default_factory=dict)  # by class and name

    def learn(self, store: dict[tuple[str, str], Value], owner: str, name: str, value: Value) -> None:
        """One more possibility."""
        key = owner, name
        store[key] = joined(store[key], value) if key in store else value


class Reading:
    """One script while it is read."""

    def __init__(self, tree: ast.Module, text: str) -> None:
        self.tree = tree
        self.lines = text.encode("utf-8", "replace").split(b"\n")
        calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call))
        self.numbers = {id(node): number for number, node in enumerate(calls)}
        definitions = (FunctionNode, ast.ClassDef)
        named = (node.name for node in ast.walk(tree) if isinstance(node, definitions))
        self.defined = set(named)
        self.before = Learned()
        self.effort = 0  # names that were copied where paths part
        self.begin()

    def begin(self) -> None:
        """A new round: what was recorded is forgotten, what was learned stays."""
        self.now = Learned()
        self.imports: dict[tuple[str, str, int, int], Import] = {}
        self.calls: dict[int, Call] = {}
        self.classes: dict[str, Class] = {}
        self.functions: dict[str, FunctionNode] = {}
        self.stars: set[str] = set()

    def end(self) -> bool:
        """Did this round learn more than the one before?"""
        grown = self.now != self.before
        self.before = self.now
        return grown

    def spend(self, names: int) -> None:
        """Paths part here. Raises :class:`ScriptUnreadable` where that costs more than a script is worth."""
        self.effort += names
        if self.effort > MOST_EFFORT:
            raise ScriptUnreadable("it has too many names and branches to be followed")

    def place(self, node: ast.expr | ast.stmt | ast.keyword | ast.alias | ast.arg) -> Place:
        """Where a node stands."""
        return Place(
            line=node.lineno,
            column=node.col_offset,
            end_line=node.end_lineno or node.lineno,
            end_column=node.end_col_offset or node.col_offset,
        )

    def text_of(self, node: ast.expr) -> str:
        """The source of an expression, cut to one short line."""
        end = node.end_lineno or node.lineno
        if end != node.lineno:
            return "..."
        text = self.lines[node.lineno - 1][node.col_offset : node.end_col_offset].decode("utf-8", "replace")
        return text if len(text) <= TEXT_LENGTH else text[: TEXT_LENGTH - 3] + "..."

    def attribute(self, owner: str, name: str) -> Value:
        """An attribute of a class of the script's own, or of its objects."""
        now = self.now.attributes.get((owner, name))
        return now or self.before.attributes.get((owner, name), UNKNOWN)

    def star(self, name: str) -> Value:
        """A name that nothing binds: of the one module that is imported by ``*``, if it is one."""
        if len(self.stars) == 1 and name[:1].isupper():
            (module,) = self.stars
            return Value(names=(f"{module}.{name}",))
        return UNBOUND


def root_of(name: str) -> str:
    """The library of a dotted name."""
    return name.partition(".")[0]


def is_covered(name: str) -> bool:
    """Is this a name of a library whose calls are recorded, or of the script's own?"""
    return root_of(name) in COVERED or name.startswith(LOCAL)
