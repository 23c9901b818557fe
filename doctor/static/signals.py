"""How a simulated exception travels, and what ends a run."""

from __future__ import annotations

import builtins
from dataclasses import dataclass
from functools import cache

from doctor.static.outcomes import Kind
from doctor.static.plain import (
    Value,
    concrete,
)
from doctor.static.values import (
    Class,
    External,
)


@dataclass(frozen=True)
class Ask:
    """What was asked for when an exception arose."""

    kind: Kind
    module: str  # module that was asked
    symbol: str


class Raised(Exception):
    """An exception of the program under interpretation."""

    def __init__(
        self,
        name: str,
        message: str,
        *,
        kinds: frozenset[str],
        where: str,
        asker: str,
        chain: tuple[str, ...],
        imports: int,
        ask: Ask | None = None,
        cause: Raised | None = None,
        doubted: bool = False,
        value: Value = None,
    ) -> None:
        super().__init__(f"{name}: {message}")
        self.name = name
        self.message = message
        self.kinds = kinds  # it, and all of its bases
        self.where = where
        self.asker = asker  # the module whose code ran
        self.chain = chain
        self.imports = imports  # how many imports were under way
        self.ask = ask
        self.cause = cause
        self.doubted = doubted  # raised on purpose for a value that may not be as computed
        self.value = value

    @property
    def first(self) -> Raised:
        """The exception that began it."""
        return self.cause.first if self.cause else self


class OutOfBudget(Exception):
    """More steps than one call, or one stage, may take."""


ELSEWHERE = {
    "PackageNotFoundError": "ModuleNotFoundError",
    "InvalidVersion": "ValueError",
    "JSONDecodeError": "ValueError",
    "HTTPError": "OSError",
    "UnsupportedOperation": "OSError",
    "Empty": "Exception",
}


@cache
def kinds_of(name: str) -> frozenset[str]:
    """The names of an exception class of Python's own and of its bases."""
    cls = getattr(builtins, name, None)
    if isinstance(cls, type) and issubclass(cls, BaseException):
        return frozenset(base.__name__ for base in cls.__mro__ if base is not object)
    return kinds_of(ELSEWHERE.get(name, "Exception")) | {name}


def kinds_of_class(cls: Value) -> frozenset[str]:
    """Likewise of any value that may stand for an exception class."""
    if isinstance(cls, External):
        return kinds_of(cls.name)
    if not isinstance(cls, Class):
        return kinds_of("Exception")
    found: frozenset[str] = frozenset()
    for base in cls.order:
        found |= {base.name} if isinstance(base, Class) else kinds_of(base.name)
    return found if "BaseException" in found else found | kinds_of("Exception")


def text_of(value: Value) -> str:
    """``str(value)`` as far as it is known."""
    if isinstance(value, Raised):
        return value.message
    return str(value) if concrete(value) else "{}"
