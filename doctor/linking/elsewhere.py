"""The loaders of Windows and macOS in short: what a native file needs and where each name leads.

Windows takes what is mapped under the same name, else looks in the file's own folder, the interpreter's and
the system's; PATH is not searched (ctypes since Python 3.8). macOS follows the paths in a file, ``@rpath`` in
the folders of all that led there; what belongs to the system lies in a cache of dyld and not on disk.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from doctor.host import Host
from doctor.linking.library import folder_of
from doctor.native import By, Dependency, LibraryChoice, NativeLibrary
from doctor.objects import SharedObject
from doctor.objects.store import Objects

API_SETS = ("api-ms-", "ext-ms-")  # names that Windows itself resolves
OF_MACOS = ("/usr/lib/", "/System/")
OBJECTS = 400  # that one library may lead to


class Place(NamedTuple):
    """Where a name leads to; ``path`` is "" for what the system keeps elsewhere than in files."""

    path: str
    by: By


class Loader(Protocol):
    """Finds what an object asks for."""

    def find(self, name: str, asking: str, one: SharedObject) -> Place | None: ...


def libraries_of(
    objects: Objects, interpreter: Mapping[str, Any], folders: Sequence[str], choice: LibraryChoice | None
) -> tuple[NativeLibrary, ...]:
    """Those of torch, then that of bitsandbytes; ``interpreter`` is the section of the survey.

    ``folders``: all folders of packages, in the order of sys.path.
    """
    host = objects.host
    torch, ours = folder_of(host, folders, "torch"), folder_of(host, folders, "bitsandbytes")
    if torch is None:
        return ()
    loader: Loader = MacOS(host, interpreter["executable"])
    roots = [posixpath.join(torch, "lib", "libtorch_python.dylib")]
    if host.os == "win32":
        own, base = posixpath.dirname(_slashed(interpreter["executable"])), interpreter["base_prefix"]
        system = host.env.get("SYSTEMROOT", "C:/Windows")
        loader = Windows(host, f"{torch}/lib", (own, base, f"{base}/Library/bin", f"{system}/System32"))
        names = (name for name in host.list_folder(f"{torch}/lib") if name.lower().endswith(".dll"))
        roots = [f"{torch}/lib/{name}" for name in names]  # torch loads each of them by itself
    told = [link(loader, objects, "torch", roots)] if roots else []
    if ours and choice and choice.is_there:
        told.append(link(loader, objects, "bitsandbytes", [posixpath.join(ours, choice.library)]))
    return tuple(told)


def link(loader: Loader, objects: Objects, package: str, paths: Sequence[str]) -> NativeLibrary:
    """The first of some files with all that they lead to outside of the system, and all that is missing."""
    told: dict[str, Dependency] = {}
    opened = [(path, objects.open(path)) for path in paths]
    queue = [(path, one.object) for path, one in opened if one and one.object]
    for asking, one in queue:
        for name in one.needed:
            place = loader.find(name, asking, one) or Place("", "not found")
            if name in told or place.by == "default folder":
                continue
            told[name] = Dependency(
                name=name, path=place.path, by=place.by, asked_by=posixpath.basename(asking)
            )
            following = objects.open(place.path) if place.by in ("rpath", "path") else None
            if following and following.object and len(queue) < OBJECTS:
                queue.append((place.path, following.object))
    first = opened[0][1]
    fault = "is not there" if first is None else first.fault or (first.object.damage if first.object else "")
    return NativeLibrary(package=package, path=paths[0], dependencies=tuple(told.values()), fault=fault)


class Windows:
    """One Python on Windows with torch in it."""

    def __init__(self, host: Host, torch: str, folders: Sequence[str]) -> None:
        """``torch``: the folder of torch's DLLs; ``folders``: those of the interpreter and the system."""
        self.host = host
        self.torch = _listed(host, torch)
        self.folders = [_listed(host, folder) for folder in folders]

    def find(self, name: str, asking: str, one: SharedObject) -> Place | None:
        """Where a DLL is found; the case of its name does not matter."""
        key = name.lower()
        if key.startswith(API_SETS):
            return Place("", "default folder")
        if key in self.torch:
            return Place(self.torch[key], "already loaded")
        own = _listed(self.host, posixpath.dirname(_slashed(asking)))
        if key in own:
            return Place(own[key], "path")
        return next((Place(found[key], "default folder") for found in self.folders if key in found), None)


class MacOS:
    """One Python on macOS."""

    def __init__(self, host: Host, executable: str) -> None:
        self.host, self.program = host, posixpath.dirname(host.real_path(executable))
        self.folders: list[str] = []  # of each @rpath met so far
        self.mapped: dict[str, str] = {}

    def find(self, name: str, asking: str, one: SharedObject) -> Place | None:
        """Where a library is found, by its install name."""
        if name.startswith(OF_MACOS):
            return Place("", "default folder")
        self.folders += [self._expanded(folder, asking) for folder in one.rpath]
        if name in self.mapped:
            return Place(self.mapped[name], "already loaded")
        for path in self._paths(name, asking):
            if self.host.is_file(path):
                self.mapped[name] = self.host.real_path(path)
                return Place(self.mapped[name], "rpath")
        return None

    def _paths(self, name: str, asking: str) -> Iterator[str]:
        if name.startswith("@rpath/"):
            yield from (posixpath.join(folder, name[7:]) for folder in self.folders)
        else:
            yield self._expanded(name, asking)

    def _expanded(self, path: str, asking: str) -> str:
        own = posixpath.dirname(asking)
        return path.replace("@loader_path", own).replace("@executable_path", self.program)


def _slashed(path: str) -> str:
    return path.replace("\\", "/")


def _listed(host: Host, folder: str) -> dict[str, str]:
    """Files of a folder by their names in small letters."""
    return {name.lower(): f"{folder}/{name}" for name in host.list_folder(folder)}
