"""Values that stand for themselves, what is not known, and containers that remember doubt."""

from __future__ import annotations

import re
from typing import Any, Literal, TypeAlias

from packaging.version import Version

Value: TypeAlias = Any


class Unknown:
    """The one value of which nothing is known."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "UNKNOWN"

    def __bool__(self) -> bool:
        raise TypeError("the truth of UNKNOWN is not known")


UNKNOWN = Unknown()


Truth: TypeAlias = "bool | Unknown"


Flow = Literal["return", "break", "continue"]


class List(list[Value]):
    """A list that remembers whether it was changed where that was in doubt."""

    __slots__ = ("birth", "doubtful")

    def __init__(self, items: Any = (), birth: int = 0) -> None:
        super().__init__(items)
        self.birth = birth
        self.doubtful = False


class Set(set[Value]):
    """A set, likewise."""

    __slots__ = ("birth", "doubtful")

    def __init__(self, items: Any = (), birth: int = 0) -> None:
        super().__init__(items)
        self.birth = birth
        self.doubtful = False


class Dict(dict[Value, Value]):
    """A dict, likewise; ``open`` where it may have keys that are not known."""

    __slots__ = ("birth", "doubtful", "open", "uncertain")

    def __init__(self, items: Any = (), birth: int = 0, *, is_open: bool = False) -> None:
        super().__init__(items)
        self.birth = birth
        self.doubtful = False
        self.open = is_open
        self.uncertain: set[Value] = set()  # keys that may be there and may not


class VersionText(str):
    """The version of an installed distribution, as text that knows whose it is."""

    __slots__ = ("of",)

    def __new__(cls, text: str, of: str) -> VersionText:
        made = super().__new__(cls, text)
        made.of = of
        return made

    of: str


class VersionOf(Version):
    """The version of an installed distribution."""

    def __init__(self, text: str, of: str) -> None:
        super().__init__(text)
        self.of = of


CONCRETE = (type(None), bool, int, float, str, bytes, tuple, list, dict, set, frozenset, range, Version)


PLAIN = (*CONCRETE, re.Match, re.Pattern)


def concrete(value: Value, depth: int = 3) -> bool:
    """Does the value, and what it holds, stand for itself?"""
    if isinstance(value, (list, tuple, set, frozenset)):
        if getattr(value, "doubtful", False):
            return False
        return depth == 0 or all(concrete(item, depth - 1) for item in list(value)[:50])
    if isinstance(value, dict):
        return not getattr(value, "doubtful", False) and not getattr(value, "open", False)
    return isinstance(value, PLAIN)
