"""The one fake of the whole suite: a machine whose answers are written down beforehand."""

from __future__ import annotations

import contextlib
import io
import itertools
import json
import os
import posixpath
import threading
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import IO, Any, NamedTuple, NoReturn

import pytest

from doctor.host import Completed, Disk, OnLine, Patience

FOLDER = "/tmp/lora-doctor-fake"
MACHINE: Mapping[str, Any] = {
    "kernel": "Linux 6.1.0-28-amd64",
    "arch": "x86_64",
    "name": "Debian GNU/Linux 12 (bookworm)",
    "libc": "glibc 2.36",
    "cpu_count": 8,
    "disk_free_bytes": 79 << 30,
    "shared_memory_bytes": 12 << 30,
}


class Call(NamedTuple):
    """One command as it was asked for."""

    argv: tuple[str, ...]
    stdin: str
    env: Mapping[str, str] | None
    merge: bool
    patience: Patience

    @property
    def config(self) -> dict[str, Any]:
        """What a collector was told."""
        told = json.loads(self.argv[2])
        assert isinstance(told, dict)
        return told


Reply = Completed | Callable[[Call], Completed]


def ended(
    stdout: str = "",
    stderr: str = "",
    code: int | None = 0,
    *,
    seconds: float = 0.5,
    timed_out: bool = False,
    idle: bool = False,
    error: str = "",
) -> Completed:
    """How a process ended: well, unless said otherwise."""
    return Completed(code, stdout, stderr, seconds, timed_out=timed_out, idle=idle, error=error)


HUNG = ended(code=-9, seconds=10.0, timed_out=True, idle=True)
NOT_STARTED = ended(code=None, error="[Errno 2] No such file or directory")


def emits(*items: Mapping[str, Any] | str, **how: Any) -> Callable[[Call], Completed]:
    """A collector's child that emits each mapping as an event and prints each text besides."""

    def reply(call: Call) -> Completed:
        mark = call.config["mark"]
        lines = (item if isinstance(item, str) else f"\n{mark}{json.dumps(item)}{mark}\n" for item in items)
        return ended("".join(lines), **how)

    return reply


def program_of(argv: Sequence[str]) -> tuple[str, ...]:
    """A command with the configuration of a collector replaced by the collector's name."""
    if len(argv) != 3 or argv[1] != "-":
        return tuple(argv)
    config = json.loads(argv[2])
    if "stages" in config:
        return (*argv[:2], "trial")
    if "look" in config:
        return (*argv[:2], config["look"])
    return (*argv[:2], "hashes" if config.get("hash") else "survey")


class FakeHost:
    """A machine of our own making. A command that nobody scripted fails the test, in whatever thread."""

    def __init__(
        self,
        *,
        env: Mapping[str, str] | None = None,
        os: str = "linux",
        files: Mapping[str, str] | None = None,
        programs: Mapping[str, str] | None = None,
        libraries: Mapping[str, str] | None = None,
        links: Sequence[str] = (),
        leads: Mapping[str, str] | None = None,
        machine: Mapping[str, Any] | None = None,
        blobs: Mapping[str, bytes] | None = None,
        unusable: Sequence[str] = (),
        disks: Mapping[str, Disk] | None = None,
        limited: Mapping[str, int | None] | None = None,
    ) -> None:
        self.env: Mapping[str, str] = dict(env or {})
        self.os = os
        self.files = dict(files or {})
        self.programs = dict(programs or {})
        self.libraries = dict(libraries or {})
        self.links = frozenset(links)
        self.leads = dict(leads or {})
        self.blobs = dict(blobs or {})  # files that are no text
        self.unusable = frozenset(unusable)
        self.disks = dict(disks or {})  # by the folder at which a file system begins
        self.limited = {"memory_lock_bytes": None, "open_files": 1024, **(limited or {})}
        self.kept: dict[str, bytes] = {}
        self.described = {**MACHINE, **(machine or {})}
        self.calls: list[Call] = []
        self.folders_open = 0
        self.closed = False
        self._replies: dict[tuple[str, ...], Iterator[Reply]] = {}
        self._lock = threading.Lock()

    def on(self, *argv: str, replies: Reply | Sequence[Reply]) -> FakeHost:
        """Script the commands that begin so. Several replies are given in turn, one for ever."""
        if isinstance(replies, Completed) or callable(replies):
            self._replies[argv] = itertools.repeat(replies)
        else:
            self._replies[argv] = iter(replies)
        return self

    def run(
        self,
        argv: Sequence[str],
        *,
        patience: Patience,
        stdin: str = "",
        env: Mapping[str, str] | None = None,
        merge: bool = False,
        on_line: OnLine | None = None,
    ) -> Completed:
        call = Call(tuple(argv), stdin, env, merge, patience)
        with self._lock:
            self.calls.append(call)
            reply = self._reply_to(call)
        done = reply if isinstance(reply, Completed) else reply(call)
        if on_line:
            for line in done.stdout.splitlines(keepends=True):
                on_line(line)
        return done

    def _reply_to(self, call: Call) -> Reply:
        asked = program_of(call.argv)
        fitting = [prefix for prefix in self._replies if asked[: len(prefix)] == prefix]
        if not fitting:
            refuse(f"nobody scripted the command {asked}")
        reply = next(self._replies[max(fitting, key=len)], None)
        return reply or refuse(f"all replies to {asked} are used up")

    def commands(self, *prefix: str) -> list[Call]:
        """What was run so far of the commands that begin so."""
        return [call for call in self.calls if program_of(call.argv)[: len(prefix)] == prefix]

    def read_text(self, path: str) -> str | None:
        return self.files.get(path)

    def read_bytes(self, path: str, limit: int) -> bytes:
        if path not in self.files:
            raise FileNotFoundError(2, "No such file or directory", path)
        return self.files[path].encode("utf-8", "surrogateescape")[:limit]

    def open_binary(self, path: str) -> IO[bytes]:
        return io.BytesIO(self._content(path))

    def _content(self, path: str) -> bytes:
        path = posixpath.normpath(path)
        return self.blobs[path] if path in self.blobs else self.read_bytes(path, 1 << 30)

    def identity(self, path: str) -> tuple[int, int, int] | None:
        if not self.is_file(path):
            return None
        # Two files are two, however alike; a link is the file that it leads to.
        return len(self._content(path)), 0, zlib.crc32(os.fsencode(self.real_path(path)))

    def is_usable(self, path: str, writing: bool = True) -> bool:
        return self.is_file(path) and path not in self.unusable

    def disk(self, folder: str) -> Disk | None:
        holding = [start for start in self.disks if (folder + "/").startswith(start.rstrip("/") + "/")]
        return self.disks[max(holding, key=len)] if holding else Disk(79 << 30, True, True)

    def limits(self) -> Mapping[str, int | None]:
        return self.limited

    def cached(self, name: str) -> bytes | None:
        return self.kept.get(name)

    def cache(self, name: str, content: bytes) -> None:
        self.kept[name] = content

    def is_folder(self, path: str) -> bool:
        return bool(self.list_folder(path))

    def list_folder(self, path: str) -> tuple[str, ...]:
        folder = PurePosixPath(path)
        inside = [PurePosixPath(file) for file in (*self.files, *self.blobs)]
        found = {file.relative_to(folder).parts[0] for file in inside if folder in file.parents}
        return tuple(sorted(found))

    def is_file(self, path: str) -> bool:
        path = posixpath.normpath(path)
        return path in self.files or path in self.blobs

    def is_link(self, path: str) -> bool:
        return path in self.links

    def real_path(self, path: str) -> str:
        return self.leads.get(path, posixpath.normpath(path))

    def find_program(self, name: str) -> str | None:
        return self.programs.get(name)

    def find_library(self, name: str) -> str | None:
        return self.libraries.get(name)

    @contextlib.contextmanager
    def temporary_folder(self) -> Iterator[str]:
        self.folders_open += 1
        try:
            yield FOLDER
        finally:
            self.folders_open -= 1

    def machine(self) -> Mapping[str, Any]:
        return self.described

    def close(self) -> None:
        self.closed = True


def refuse(reason: str) -> NoReturn:
    """Fail the test. No ``except Exception`` of ours can swallow it, and pytest sees it in any thread."""
    pytest.fail(reason)
