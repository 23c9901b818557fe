"""The packages that are looked at: their sources, their versions, and which of them owns a module."""

from __future__ import annotations

import sys
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, Protocol

# Bodies of these are interpreted.
WALKED = frozenset(
    "transformers peft accelerate trl bitsandbytes huggingface_hub datasets tokenizers".split()
)
# Of these the names that a file binds are read, nothing more.
SHALLOW = frozenset("torch numpy pyarrow pandas safetensors fsspec dill multiprocess".split())
# Modules that left the standard library: https://docs.python.org/3/whatsnew/3.12.html and 3.13.html.
LEFT_THE_LIBRARY = {
    (3, 12): frozenset("asynchat asyncore distutils imp smtpd".split()),
    (3, 13): frozenset(
        "aifc audioop cgi cgitb chunk crypt imghdr lib2to3 mailcap msilib nis nntplib ossaudiodev pipes "
        "sndhdr spwd sunau telnetlib uu xdrlib".split()
    ),
}


class Tree(Protocol):
    """Files below a site folder. Paths are posix and relative to it: "torch/version.py"."""

    def read(self, path: str) -> str | None:
        """The text of a file, None where there is none."""

    def names(self, folder: str) -> Sequence[str]:
        """Names of the files and folders of a folder, empty where it is not one."""


class TextTree:
    """A tree held in memory: texts by path."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self.texts = texts
        self.folders: dict[str, set[str]] = {}
        for path in texts:
            while path:
                folder, _, name = path.rpartition("/")
                self.folders.setdefault(folder, set()).add(name)
                path = folder

    def read(self, path: str) -> str | None:
        return self.texts.get(path)

    def names(self, folder: str) -> Sequence[str]:
        return sorted(self.folders.get(folder, ()))


@dataclass(frozen=True, eq=False)
class Distribution:
    """One installed distribution. Without a tree it only counts as installed."""

    name: str  # normalised: "huggingface-hub"
    version: str
    tree: Tree | None = None
    modules: tuple[str, ...] = ()  # top-level import names


class Cache:
    """Whatever can be derived from one file of one release; shared by all runs of a process."""

    def __init__(self) -> None:
        self.entries: dict[Hashable, Any] = {}

    def find(self, key: Hashable, make: Callable[[], Any]) -> Any:
        """What was made for the key before, or what ``make`` makes now."""
        if key not in self.entries:
            self.entries[key] = make()
        return self.entries[key]

    def drop(self, name: str, version: str) -> None:
        """Forget one release, to keep memory low in long sweeps."""
        self.entries = {key: made for key, made in self.entries.items() if key[1:3] != (name, version)}  # type: ignore[index]


@dataclass(frozen=True)
class Place:
    """Where the source of a module is."""

    path: str  # "transformers/trainer.py", of a folder without ``__init__`` the folder
    form: Literal["source", "folder", "binary"]
    package: bool  # can it hold submodules


@dataclass(frozen=True)
class World:
    """The packages of one environment, on one kind of machine. Immutable, so it may be run often."""

    distributions: Iterable[Distribution]
    python: str = "3.11"
    os: str = "linux"  # as in ``facts.System``: "linux", "darwin", "win32"
    cache: Cache = field(default_factory=Cache)

    @cached_property
    def by_name(self) -> dict[str, Distribution]:
        """Distributions by normalised name."""
        return {distribution.name: distribution for distribution in self.distributions}

    @cached_property
    def by_module(self) -> dict[str, Distribution]:
        """Distributions by the top-level modules that they install."""
        return {module: owner for owner in self.by_name.values() for module in owner.modules}

    @cached_property
    def python_release(self) -> tuple[int, int]:
        """The first two numbers of Python's version."""
        major, minor = self.python.split(".")[:2]
        return int(major), int(minor)

    def in_library(self, top: str) -> bool:
        """Is this top-level module part of Python's own library?"""
        gone = (names for since, names in LEFT_THE_LIBRARY.items() if self.python_release >= since)
        if any(top in names for names in gone):
            return top == "distutils" and "setuptools" in self.by_name
        return top in sys.stdlib_module_names or any(top in names for names in LEFT_THE_LIBRARY.values())

    def owner(self, module: str) -> Distribution | None:
        """The distribution that installs this module."""
        return self.by_module.get(module.partition(".")[0])

    def read(self, module: str, path: str) -> str:
        """The text of a source file in the tree of the module's distribution, "" where it is gone."""
        owner = self.owner(module)
        return (owner.tree.read(path) or "") if owner and owner.tree else ""

    def place(self, module: str) -> Place | None:
        """Where a module's source is, None where the tree has no such module."""
        owner = self.owner(module)
        if owner is None or owner.tree is None:
            return None
        key = ("place", owner.name, owner.version, module)
        tree = owner.tree
        return self.cache.find(key, lambda: _place(tree, module.replace(".", "/")))  # type: ignore[no-any-return]


def _place(tree: Tree, path: str) -> Place | None:
    folder, _, name = path.rpartition("/")
    inside = tree.names(path)
    if "__init__.py" in inside:
        return Place(f"{path}/__init__.py", "source", package=True)
    beside = tree.names(folder)
    if f"{name}.py" in beside:
        return Place(f"{path}.py", "source", package=False)
    if any(other.startswith(f"{name}.") and other.endswith((".so", ".pyd")) for other in beside):
        return Place(f"{path}.so", "binary", package=False)
    return Place(path, "folder", package=True) if inside else None
