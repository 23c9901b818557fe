"""The values that the interpreter computes with.

Numbers, texts, tuples, ``re`` objects and versions stand for themselves. What cannot be known is ``UNKNOWN``;
what belongs to a package that is not interpreted is an ``External``, known by its dotted name alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from doctor.static.plain import UNKNOWN, Dict, Value, concrete

if TYPE_CHECKING:
    from doctor.static.functions import FunctionCode
    from doctor.static.machine import Frame
    from doctor.static.world import Distribution


@dataclass(frozen=True)
class External:
    """A thing of a package that is not interpreted: "torch.nn.Module"."""

    path: str

    @property
    def name(self) -> str:
        """The last part of the path."""
        return self.path.rpartition(".")[2]


class Module:
    """A module: interpreted, or ("shallow") known by the names that its file binds."""

    def __init__(self, name: str, path: str, form: str, package: bool, owner: Distribution | None) -> None:
        self.name = name
        self.path = path
        self.form = form  # "source", "shallow", "opaque"
        self.owner = owner
        self.names: dict[str, Value] = {}
        self.package = name if package else name.rpartition(".")[0]
        self.loading = True
        self.postponed = False  # from __future__ import annotations

    def __repr__(self) -> str:
        return f"<module {self.name}>"


class Function:
    """A function of an interpreted module."""

    def __init__(self, module: Module, code: FunctionCode, outer: Frame | None) -> None:
        self.module = module
        self.code = code
        self.outer = outer  # the frame whose names it sees
        self.defaults: list[Value] = []
        self.keyword_defaults: list[Value] = []
        self.owner: Class | None = None
        self.attributes: dict[str, Value] = {}

    def __repr__(self) -> str:
        return f"<function {self.module.name}.{self.code.qualname}>"


class Class:
    """A class of an interpreted module."""

    def __init__(self, module: Module, name: str, qualname: str, bases: list[Value]) -> None:
        self.module = module
        self.name = name
        self.qualname = qualname
        self.bases = bases
        self.names: dict[str, Value] = {}
        self.dataclass = False
        self.fields: dict[str, Value] = {}  # annotated names in order; ``REQUIRED`` without a default
        self.metaclass: Value = None
        self.wrapped = False  # by a decorator that may have changed how it is called
        self.order = linear(self)

    def interpreted(self) -> Iterator[Class]:
        """The classes of its MRO that are interpreted."""
        return (base for base in self.order if isinstance(base, Class))

    @property
    def closed(self) -> bool:
        """Is all of its MRO known?"""
        return all(isinstance(base, Class) for base in self.order)

    @property
    def is_dataclass(self) -> bool:
        """Is it, or a base of it, a dataclass?"""
        return any(base.dataclass for base in self.interpreted())

    @property
    def is_enum(self) -> bool:
        """Does it derive from enum's classes?"""
        return any(isinstance(base, External) and base.path.startswith("enum.") for base in self.order)

    def find(self, name: str) -> tuple[Value, Class] | None:
        """The attribute and the class that has it, of those that are interpreted."""
        for base in self.interpreted():
            if name in base.names:
                return base.names[name], base
        return None

    def __repr__(self) -> str:
        return f"<class {self.module.name}.{self.name}>"


# Bases that have no attributes of their own that matter here.
PLAIN_BASES = frozenset(
    (
        "builtins.object",
        "types.ModuleType",
        "abc.ABC",
        "typing.Generic",
        "typing.Protocol",
        "typing.Generic[]",
    )
)
REQUIRED = External("dataclasses.MISSING")


def linear(cls: Class) -> list[Class | External]:
    """The MRO, nearly: depth first, each class at its last place, with bases that are not interpreted."""
    order: list[Class | External] = [cls]
    for base in cls.bases:
        if isinstance(base, Class):
            for further in base.order:
                if further in order:
                    order.remove(further)
                order.append(further)
        elif not isinstance(base, External):
            order.append(External("?"))
        elif base.path not in PLAIN_BASES:
            order.append(base)
    return order


class Instance:
    """An object of an interpreted class."""

    def __init__(self, cls: Class, birth: int) -> None:
        self.cls = cls
        self.birth = birth  # depth of doubt at which it was made
        self.attributes = Dict((), birth)  # open where code that may set more was not followed

    def __repr__(self) -> str:
        return f"<{self.cls.name} object>"


@dataclass(frozen=True, eq=False)
class Possibly:
    """An object, where a branch in doubt put it in place of something else: what is done with it is done with
    the object, but no test of it is decided."""

    value: Value


@dataclass(frozen=True, eq=False)
class Foreign:
    """An object of a class that is not interpreted and of which a little is known."""

    cls: str  # "torch.optim.AdamW"
    bases: frozenset[str]
    has: Mapping[str, Value] = field(default_factory=dict)  # UNKNOWN where only the name is known
    lacks: frozenset[str] = frozenset()

    @property
    def name(self) -> str:
        """The class's name."""
        return self.cls.rpartition(".")[2]


def leave_open(values: Iterable[Value]) -> None:
    """What was not followed may have set attributes of these objects."""
    for value in values:
        if isinstance(value, Instance):
            value.attributes.open = True


@dataclass(frozen=True, eq=False)
class Bound:
    """A function bound to its first argument."""

    function: Function
    receiver: Value


@dataclass(frozen=True, eq=False)
class Super:
    """``super()`` as seen from a class, for an object."""

    cls: Class
    receiver: Instance | Class


@dataclass(frozen=True, eq=False)
class Partial:
    """``functools.partial``."""

    callee: Value
    arguments: Arguments


@dataclass(frozen=True, eq=False)
class Method:
    """A method of a value that stands for itself: ``"a".join``."""

    receiver: Value
    name: str


@dataclass(frozen=True, eq=False)
class Signature:
    """``inspect.signature`` of a function: the names of its parameters."""

    label: str
    names: tuple[str, ...]
    module: Module


@dataclass(frozen=True)
class Path:
    """``pathlib.Path``."""

    text: str


@dataclass
class Arguments:
    """The arguments of one call; ``open`` where ``*`` or ``**`` brought in what is not known."""

    positional: list[Value] = field(default_factory=list)
    keywords: dict[str, Value] = field(default_factory=dict)
    open_positional: bool = False
    open_keywords: bool = False

    @property
    def open(self) -> bool:
        """May there be more arguments than these?"""
        return self.open_positional or self.open_keywords


def either(values: Sequence[Value]) -> Value:
    """What a value is that may be any of these."""
    objects = [value.value if isinstance(value, Possibly) else value for value in values]
    objects = [value for value in objects if isinstance(value, (Instance, Foreign, Class, Module, Function))]
    if objects:
        if any(not _alike(value, objects[0]) for value in objects):
            return UNKNOWN
        certain = len(objects) == len(values) and not any(isinstance(value, Possibly) for value in values)
        return objects[-1] if certain else Possibly(objects[-1])
    first = values[0]
    if all(value is first for value in values):
        return first
    return first if all(concrete(value) and _equal(value, first) for value in values) else UNKNOWN


def _alike(one: Value, other: Value) -> bool:
    return one is other or (
        isinstance(one, Instance) and isinstance(other, Instance) and one.cls is other.cls
    )


def _equal(one: Value, other: Value) -> bool:
    try:
        return type(one) is type(other) and bool(one == other)
    except Exception:
        return False
