"""Where the loader of glibc looks for a name, in the order of ld.so(8)."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Protocol

from doctor.host import READ_BYTES, Host
from doctor.loader_cache import LOADER_CACHE, default_folders, paths_by_name
from doctor.native import By
from doctor.objects import SharedObject

ORIGIN = re.compile(r"\$(?:ORIGIN\b|\{ORIGIN\})")
HWCAPS = "glibc-hwcaps"  # below a folder, the variants for newer processors
# The features that each level of x86-64 adds (its psABI), in the words of /proc/cpuinfo.
LEVELS = {
    "x86-64-v2": "cx16 lahf_lm popcnt sse4_1 sse4_2 ssse3",
    "x86-64-v3": "abm avx avx2 bmi1 bmi2 f16c fma movbe",
    "x86-64-v4": "avx512bw avx512cd avx512dq avx512f avx512vl",
}


class Asking(Protocol):
    """An object of a process that needs another."""

    @property
    def object(self) -> SharedObject: ...
    @property
    def origin(self) -> str: ...
    @property
    def asking(self) -> Asking | None: ...


class Folders:
    """The places of one host that its loader knows, for processes of one architecture."""

    def __init__(self, host: Host, arch: str) -> None:
        self.host, self.arch = host, arch
        self._variants: dict[str, tuple[str, ...]] = {}

    def candidates(
        self, name: str, asking: Asking, main: Asking | None, with_library_path: bool = True
    ) -> Iterator[tuple[By, str]]:
        """Every path at which a name is looked for on behalf of an object, whether a file is there or not."""
        if not asking.object.has_runpath:
            yield from self._files("rpath", inherited(asking, main), name)
        if with_library_path:
            stated = self.host.env.get("LD_LIBRARY_PATH", "")
            # An empty part is the working folder; an empty variable is none.
            folders = [folder or "." for folder in re.split("[:;]", stated)] if stated else []
            origin = main.origin if main else ""
            yield from self._files("LD_LIBRARY_PATH", (expanded(one, origin) for one in folders), name)
        yield from self._files(
            "runpath", (expanded(one, asking.origin) for one in asking.object.runpath), name
        )
        yield from self._of_the_system(name, asking.object.no_default_folders)

    def _of_the_system(self, name: str, is_restricted: bool) -> Iterator[tuple[By, str]]:
        defaults = default_folders(self.arch)
        cached = self._cache.get(name)
        if cached and not (is_restricted and posixpath.dirname(cached) in defaults):
            yield "ld.so.cache", cached
        if not is_restricted:
            yield from self._files("default folder", defaults, name)

    @cached_property
    def _cache(self) -> Mapping[str, str]:
        try:
            return paths_by_name(self.host.read_bytes(LOADER_CACHE, READ_BYTES), self.arch)
        except OSError:
            return {}

    def _files(self, by: By, folders: Iterable[str], name: str) -> Iterator[tuple[By, str]]:
        for folder in folders:
            for place in self._with_variants(folder):
                yield by, posixpath.join(place, name)

    def _with_variants(self, folder: str) -> tuple[str, ...]:
        if folder not in self._variants:
            below = posixpath.join(folder, HWCAPS)
            levels = self._levels if self.host.is_folder(below) else ()
            self._variants[folder] = (*(posixpath.join(below, level) for level in levels), folder)
        return self._variants[folder]

    @cached_property
    def _levels(self) -> tuple[str, ...]:
        """What of LEVELS this processor reaches, the highest first. Each level includes those before it."""
        told = re.search(r"^flags\s*:(.*)$", self.host.read_text("/proc/cpuinfo") or "", re.M)
        features = set(told.group(1).split()) if told else set()
        reached: list[str] = []
        for level, added in LEVELS.items():
            if not features.issuperset(added.split()):
                break
            reached.insert(0, level)
        return tuple(reached)


def inherited(asking: Asking, main: Asking | None) -> Iterator[str]:
    """The folders of DT_RPATH that serve an object: its own, those of who asked for it, the program's."""
    owners, owner = [], asking
    while True:
        owners.append(owner)
        if owner.asking is None:
            break
        owner = owner.asking
    if main is not None and main not in owners:
        owners.append(main)
    for one in owners:
        yield from (expanded(folder, one.origin) for folder in one.object.rpath)


def expanded(folder: str, origin: str) -> str:
    """A folder with $ORIGIN replaced."""
    return ORIGIN.sub(lambda _: origin, folder) if "$" in folder else folder
