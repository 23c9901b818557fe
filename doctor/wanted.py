"""What a file of requirements says: which packages it asks for, on which line, and what else it states."""

from __future__ import annotations

from typing import Literal

import msgspec


class Requirement(msgspec.Struct, frozen=True, kw_only=True):
    """One line of a file that asks for a package, or that only limits it."""

    name: str  # normalised: "huggingface-hub"
    specifier: str = ""  # PEP 440: ">=4.36,<5"; "" where any release will do
    extras: tuple[str, ...] = ()
    marker: str = ""  # PEP 508: "sys_platform == 'linux'"
    origin: str = ""  # the URL or repository that stands in place of a release
    text: str = ""  # as it is written there
    file: str = ""
    line: int = 0  # counted from 1; 0 where the form has no lines
    is_constraint: bool = False  # limits a package, and does not ask for it
    group: str = ""  # the extra or dependency group that it belongs to


class Note(msgspec.Struct, frozen=True, kw_only=True):
    """A line of a file that is not what it should be; reading went on after it."""

    file: str
    line: int
    text: str


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """What a file asks for: open requirements, the pins of a lock, or what is installed somewhere."""

    file: str
    form: Literal["open", "locked", "installed"]
    requirements: tuple[Requirement, ...]
    python: str = ""  # what it says of Python, PEP 440: ">=3.10"
    index_urls: tuple[str, ...] = ()
    torch_cuda: str = ""  # torch's CUDA where the file states it apart from torch: "12.1", "cpu", "unknown"
    notes: tuple[Note, ...] = ()
