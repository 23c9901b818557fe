"""The loader of glibc, told from files: what each name leads to, by the rules of ld.so(8) and dl-load.c.

One :class:`Process` follows one process from its start through all that it opens. Not told: ``$LIB`` and
``$PLATFORM`` in folders, ``dlmopen``, auditing libraries.
"""

from __future__ import annotations

import posixpath
import re
from functools import cached_property

import msgspec

from doctor.host import Host
from doctor.linking.folders import Folders, expanded
from doctor.linking.versions import lacking
from doctor.native import By, Dependency
from doctor.objects import SharedObject
from doctor.objects.store import Identity, Objects, Opened


class Mapped(msgspec.Struct, eq=False):
    """One object of a process."""

    path: str  # as it was opened, links not followed: $ORIGIN is its folder
    object: SharedObject
    asking: Mapped | None = None  # for whom it was mapped first; None for what was opened by its path
    by: By = "path"
    shadowed: str = ""

    @property
    def origin(self) -> str:
        """What $ORIGIN stands for in it."""
        return posixpath.dirname(self.path)


class Found(msgspec.Struct):
    """What a search ends at: a file to be mapped, or one that ends it by a fault."""

    path: str = ""
    by: By = "not found"
    opened: Opened | None = None
    fault: str = ""
    shadowed: str = ""

    @property
    def object(self) -> SharedObject | None:
        """What can be mapped."""
        return self.opened.object if self.opened and not self.fault else None


class Need(msgspec.Struct):
    """One name that an object needs, and what it led to."""

    name: str
    asked_by: str  # path of the object that asks, or who opens it by its path
    path: str = ""
    by: By = "not found"
    fault: str = ""
    shadowed: str = ""

    @property
    def fails(self) -> bool:
        """Is there nothing that serves?"""
        return bool(self.fault) or not self.path

    def told(self, host: Host) -> Dependency:
        """The fact, its paths as /proc/self/maps would show them."""
        return Dependency(
            name=readable(self.name),
            path=readable(host.real_path(self.path)) if self.path else "",
            by=self.by,
            asked_by=readable(
                posixpath.basename(self.asked_by) if posixpath.isabs(self.asked_by) else self.asked_by
            ),
            fault=readable(self.fault),
            shadowed=readable(host.real_path(self.shadowed)) if self.shadowed else "",
        )


class Opening(msgspec.Struct):
    """What came of opening one file."""

    path: str
    fault: str = ""  # why the file itself cannot be loaded
    needs: dict[str, Need] = {}  # by name, in the order of mapping
    mapped: list[Mapped] = []  # what was new, the file itself first

    @property
    def fails(self) -> bool:
        """Does the loader refuse it, or die of it?"""
        return bool(self.fault) or any(one.fails for one in self.needs.values())


class Process:
    """What one process has mapped so far."""

    def __init__(self, host: Host, objects: Objects, executable: str) -> None:
        """``executable``: the program; the libraries that it needs itself are mapped."""
        self.host, self.objects = host, objects
        self.names: dict[str, Mapped] = {}
        self._files: dict[Identity, Mapped] = {}
        path = host.real_path(executable)  # $ORIGIN of a program follows links
        opened = objects.open(path)
        program = opened.object if opened else None
        self.main = Mapped(path, program) if program and not program.damage else None
        if self.main:
            self._walk([self.main, *self._preloaded(self.main)], {})

    @property
    def interpreter(self) -> str:
        """The loader that the program asks for; "" where it cannot be read."""
        return self.main.object.interpreter if self.main else ""

    def open(self, path: str) -> Opening:
        """What ``dlopen`` of a full path maps.

        Where the whole fails, what it needs and what was found stays mapped all the same, so that the next
        opening tells of its own faults alone.
        """
        opened = self.objects.open(path)
        found = self._judged(path, "path", opened) if opened else Found(fault="is not there")
        if found.object is None:
            return Opening(path, found.fault)
        opening = Opening(path)
        root, is_new = self._map(found, path, None)
        if is_new:
            opening.mapped = self._walk([root], opening.needs)
            self._check_versions(opening)
        if opening.fails:
            self.names = {name: one for name, one in self.names.items() if one is not root}
            self._files = {identity: one for identity, one in self._files.items() if one is not root}
        return opening

    @property
    def mapped(self) -> tuple[Mapped, ...]:
        """All objects, the program first."""
        return (*((self.main,) if self.main else ()), *self._files.values())

    def has_mapped(self, text: str) -> bool:
        """Does a path hold this text, as /proc/self/maps would show it?"""
        return any(text in self.host.real_path(one.path) for one in self.mapped)

    def _preloaded(self, main: Mapped) -> list[Mapped]:
        names = [name for name in re.split("[ :]", self.host.env.get("LD_PRELOAD", "")) if name]
        found = [(name, self._search(name, main)) for name in names]
        for _, one in found:
            one.by = "preload"
        # One that cannot be loaded costs a warning and no more.
        return [self._map(one, name, None)[0] for name, one in found if one.object]

    def _walk(self, queue: list[Mapped], needs: dict[str, Need]) -> list[Mapped]:
        """Map breadth first what the objects of a queue need, and what that needs; all of them in order."""
        for asking in queue:
            for name in asking.object.needed:
                known = self.names.get(name)
                if known is not None:
                    needs.setdefault(name, self._met(name, known, asking))
                    continue
                found = self._search(name, asking)
                if found.object:
                    mapped, is_new = self._map(found, name, asking)
                    if is_new:
                        queue.append(mapped)
                needs.setdefault(
                    name, Need(name, asking.path, found.path, found.by, found.fault, found.shadowed)
                )
        return queue

    def _met(self, name: str, known: Mapped, asking: Mapped) -> Need:
        """What is mapped already. One that was preloaded stands in the way of another."""
        if known.by != "preload":
            return Need(name, asking.path, known.path, "already loaded", "", known.shadowed)
        other = self._first(name, asking)
        if other.object and other.path and self.objects.open(known.path) != other.opened:
            known.shadowed = other.path
        return Need(name, asking.path, known.path, "preload", "", known.shadowed)

    def _map(self, found: Found, name: str, asking: Mapped | None) -> tuple[Mapped, bool]:
        """The object of a file under one more name, and whether it is new: the same file is mapped once."""
        assert found.opened and found.opened.object
        mapped = self._files.get(found.opened.identity)
        is_new = mapped is None
        if mapped is None:
            mapped = Mapped(found.path, found.opened.object, asking, found.by, found.shadowed)
            self._files[found.opened.identity] = mapped
        for known_as in filter(None, (name, mapped.object.soname, found.path)):
            self.names.setdefault(known_as, mapped)
        return mapped, is_new

    def _search(self, name: str, asking: Mapped) -> Found:
        if "/" in name:
            path = expanded(name, asking.origin)
            opened = self.objects.open(path)
            return self._judged(path, "path", opened) if opened else Found()
        found = self._first(name, asking)
        if found.by == "LD_LIBRARY_PATH" and found.opened:
            other = self._first(name, asking, with_library_path=False)
            if other.opened and other.object and other.opened.identity != found.opened.identity:
                found.shadowed = other.path
        return found

    def _first(self, name: str, asking: Mapped, with_library_path: bool = True) -> Found:
        """The first file that fits this process.

        The loader passes over what is for another machine; at what is no ELF file it gives up.
        """
        passed_over = Found()
        for by, path in self._folders.candidates(name, asking, self.main, with_library_path):
            opened = self.objects.open(path)
            if opened is None:
                continue
            found = self._judged(path, by, opened)
            if opened.object and not self._fits(opened.object):
                passed_over = passed_over if passed_over.path else Found(path, fault=found.fault)
                continue
            return found
        return passed_over

    def _judged(self, path: str, by: By, opened: Opened) -> Found:
        if opened.object is None:
            return Found(path, by, opened, opened.fault)
        if not self._fits(opened.object):
            return Found(path, by, opened, f"is for {described(opened.object)}")
        return Found(path, by, opened, opened.object.damage)

    def _fits(self, one: SharedObject) -> bool:
        return not self.main or described(one) == described(self.main.object)

    def _check_versions(self, opening: Opening) -> None:
        """The versions that what is new asks of other files, held against what these offer."""
        for asking in opening.mapped:
            for library in asking.object.needed:
                offering = self.names.get(library)
                if offering is None:  # missing, and told so
                    continue
                fault = lacking(self.objects, asking, offering, library, self.mapped)
                known = opening.needs.get(library)
                if fault and not (known and known.fault):
                    by = known.by if known else offering.by
                    need = Need(library, asking.path, offering.path, by, fault, offering.shadowed)
                    opening.needs[library] = need

    @cached_property
    def _folders(self) -> Folders:
        return Folders(self.host, self.main.object.machine if self.main else "")


def described(one: SharedObject) -> str:
    """The machine that an object is for: "aarch64", "x86_64 (32 bits)"."""
    usual = 32 if one.machine in ("i386", "arm") else 64
    return one.machine if one.bits == usual else f"{one.machine} ({one.bits} bits)"


def readable(text: str) -> str:
    """A name that any report can carry: bytes that are not UTF-8 as \\\\xff."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
