"""Files written down in tests, and what is read of them."""

from __future__ import annotations

from collections.abc import Mapping

from doctor.readers import Source, Unreadable
from doctor.readers.recognition import read
from doctor.wanted import Wanted


def wanted(text: str, name: str = "requirements.txt", others: Mapping[str, str] | None = None) -> Wanted:
    """What a text asks for that stands in a file of this name, among others."""

    def include(path: str) -> str:
        if path not in (others or {}):
            raise Unreadable("it cannot be read: No such file or directory")
        return (others or {})[path]

    return read(Source(name, text, include))


def pairs(found: Wanted) -> list[tuple[str, str]]:
    """Names with their bounds, in order."""
    return [(one.name, one.specifier) for one in found.requirements]


def lines(found: Wanted) -> dict[str, int]:
    """The line of each name."""
    return {one.name: one.line for one in found.requirements}
