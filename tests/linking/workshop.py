"""Real libraries built by the system's compiler, and what a real process makes of them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from doctor.host import LocalHost
from doctor.linking.loader import Opening, Process
from doctor.objects.store import Objects

# Opens a file as an extension module would be, and tells which files that added to the process.
PROGRAM = """
import ctypes, json, re, sys
def mapped():
    with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as maps:
        return {line.split(None, 5)[5].rstrip("\\n") for line in maps if ".so" in line}
for path in sys.argv[1:]:
    before = mapped()
    try:
        ctypes.CDLL(path)
        error = ""
    except Exception as raised:  # words that are not UTF-8 may be lost
        error = str(raised) or type(raised).__name__
    print(json.dumps([error, sorted(mapped() - before)]), flush=True)
"""


class Seen(NamedTuple):
    """What a child showed of one opening."""

    error: str  # what the loader said, or how the child died; "" where it opened
    mapped: frozenset[str]

    @property
    def fails(self) -> bool:
        return bool(self.error)


class Workshop:
    """A folder in which libraries are built."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._number = 0

    def library(
        self,
        path: str,
        *,
        soname: str = "",
        source: str = "",
        links: Sequence[str] = (),
        rpath: str = "",
        runpath: str = "",
        versions: str = "",
        options: Sequence[str] = (),
    ) -> str:
        """Build a library; its file is named by ``path`` below the folder.

        ``links``: libraries built before, by their paths here; ``versions``: a version script.
        """
        self._number += 1
        target = self.folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        code = self.folder / f"source{self._number}.c"
        code.write_text(source or f"int unique{self._number}(void) {{ return {self._number}; }}\n")
        command = ["gcc", "-shared", "-fPIC", "-o", str(target), str(code), "-Wl,--no-as-needed"]
        command += [str(self.folder / link) for link in links]
        command += ["-Wl,--allow-shlib-undefined", "-Wl,-soname," + (soname or target.name)]
        if rpath:
            command += ["-Wl,--disable-new-dtags", "-Wl,-rpath," + rpath]
        if runpath:
            command += ["-Wl,--enable-new-dtags", "-Wl,-rpath," + runpath]
        if versions:
            script = self.folder / f"versions{self._number}.map"
            script.write_text(versions)
            command += [f"-Wl,--version-script={script}"]
        subprocess.run([*command, *options], check=True, capture_output=True)
        return str(target)

    def real(
        self, *paths: str, env: Mapping[str, str] | None = None, python: str = sys.executable
    ) -> list[Seen]:
        """What a real process makes of opening files one after another."""
        done = subprocess.run(
            [python, "-c", PROGRAM, *paths],
            env={**os.environ, **(env or {})},
            cwd=self.folder,
            capture_output=True,
            check=False,
        )
        lines = done.stdout.decode("utf-8", "replace").splitlines()
        seen = [Seen(error, frozenset(mapped)) for error, mapped in map(json.loads, lines)]
        said = done.stderr.decode("utf-8", "replace")
        return (
            seen
            if len(seen) == len(paths)
            else [*seen, Seen(f"exit code {done.returncode} {said}", frozenset())]
        )

    def process(self, env: Mapping[str, str] | None = None, python: str = sys.executable) -> Process:
        """A process of the model that begins."""
        host = LocalHost()
        host.env = {**host.env, "XDG_CACHE_HOME": str(self.folder / "cache"), **(env or {})}
        return Process(host, Objects(host), python)

    def told(
        self, *paths: str, env: Mapping[str, str] | None = None, python: str = sys.executable
    ) -> list[Opening]:
        """What the model tells of the same."""
        process = self.process(env, python)
        told = [process.open(path) for path in paths]
        process.objects.save()
        return told

    def agree(
        self, *paths: str, env: Mapping[str, str] | None = None, python: str = sys.executable
    ) -> list[Opening]:
        """Hold the model against reality, opening by opening up to the first that fails; what it told."""
        told, real = self.told(*paths, env=env, python=python), self.real(*paths, env=env, python=python)
        for opening, seen in zip(told, real, strict=False):
            assert opening.fails == seen.fails, (opening, seen)
            if seen.fails:
                break
            assert {os.path.realpath(one.path) for one in opening.mapped} == seen.mapped
        return told
