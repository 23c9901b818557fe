"""One library of a package as a fact: what opening its file came to."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Sequence

from doctor.host import Host
from doctor.linking.loader import Mapped, Need, Opening, Process, readable
from doctor.linking.versions import numbers
from doctor.native import By, NativeLibrary

OF_THE_SYSTEM: tuple[By, ...] = ("ld.so.cache", "default folder")
# What glibc itself consists of: present wherever a process runs, and left out where it has no fault.
GLIBC_PARTS = re.compile(r"(?:lib(?:c|m|dl|rt|pthread|util|resolv|mvec)|ld-linux[\w-]*)\.so\.\d")


def link(process: Process, package: str, path: str, opening: Opening | None = None) -> NativeLibrary:
    """What the loader makes of a library of a package, in a process that goes on from there.

    ``opening``: what an earlier opening of the same file gave.
    """
    opening = opening or process.open(path)
    own = [one for one in opening.mapped if one.by not in OF_THE_SYSTEM]
    return NativeLibrary(
        package=package,
        path=readable(process.host.real_path(path)),
        dependencies=tuple(one.told(process.host) for one in opening.needs.values() if is_worth_telling(one)),
        fault=opening.fault,
        glibc=newest(own, "GLIBC"),
        libstdcxx=newest(own, "GLIBCXX"),
    )


def folder_of(host: Host, folders: Sequence[str], package: str) -> str | None:
    """The folder of a package: below the first folder on sys.path that holds it."""
    places = (posixpath.join(folder, package) for folder in folders)
    return next((place for place in places if host.is_file(posixpath.join(place, "__init__.py"))), None)


def is_worth_telling(one: Need) -> bool:
    """All but the faultless parts of glibc."""
    return one.fails or bool(one.shadowed) or not GLIBC_PARTS.match(one.name)


def newest(objects: Iterable[Mapped], family: str) -> str:
    """The newest version of a family that objects ask for: "2.28" of GLIBC; "" where they ask for none."""
    asked = {
        version
        for one in objects
        for versions in one.object.needs.values()
        for version in versions
        if version.startswith(family + "_") and version[len(family) + 1 :].replace(".", "").isdigit()
    }
    return max(asked, key=numbers).partition("_")[2] if asked else ""
