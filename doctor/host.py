"""The one seam to the machine: processes, files, folders, the environment, and nothing else.

All that can hang, flood or die runs through :meth:`LocalHost.run`, with a limit on time, on idleness
and on output. Nothing here judges.
"""

from __future__ import annotations

import contextlib
import errno
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import IO, Any, NamedTuple, Protocol

from doctor.child import Child, Completed, OnLine, Patience
from doctor.loader_cache import LOADER_CACHE, machine, paths_by_name, places

READ_BYTES = 4 << 20  # of any file


class Disk(NamedTuple):
    """The file system below a folder, and what this user may do in the folder."""

    free_bytes: int | None  # None of one that has no size, as /proc
    writable: bool
    executable: bool  # False where it is mounted noexec


class Host(Protocol):
    """What the rest of the doctor may ask of a machine."""

    env: Mapping[str, str]
    os: str

    def run(
        self,
        argv: Sequence[str],
        *,
        patience: Patience,
        stdin: str = "",
        env: Mapping[str, str] | None = None,
        merge: bool = False,
        on_line: OnLine | None = None,
    ) -> Completed: ...
    def read_text(self, path: str) -> str | None: ...
    def read_bytes(self, path: str, limit: int) -> bytes: ...
    def open_binary(self, path: str) -> IO[bytes]: ...
    def identity(self, path: str) -> tuple[int, int, int] | None: ...
    def is_folder(self, path: str) -> bool: ...
    def list_folder(self, path: str) -> tuple[str, ...]: ...
    def is_file(self, path: str) -> bool: ...
    def is_link(self, path: str) -> bool: ...
    def is_usable(self, path: str, writing: bool = True) -> bool: ...
    def real_path(self, path: str) -> str: ...
    def disk(self, folder: str) -> Disk | None: ...
    def limits(self) -> Mapping[str, int | None]: ...
    def cached(self, name: str) -> bytes | None: ...
    def cache(self, name: str, content: bytes) -> None: ...
    def find_program(self, name: str) -> str | None: ...
    def find_library(self, name: str) -> str | None: ...
    def temporary_folder(self) -> contextlib.AbstractContextManager[str]: ...
    def machine(self) -> Mapping[str, Any]: ...
    def close(self) -> None: ...


class LocalHost:
    """This machine."""

    def __init__(self) -> None:
        self.env: Mapping[str, str] = dict(os.environ)
        self.os = sys.platform
        self._children: set[Child] = set()
        self._closed = False
        self._starting = threading.Lock()

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
        """Run a program to its end, its limit or its silence; never raises for what the child does.

        ``merge`` sends its standard error the way of its standard output, in the order of writing.
        """
        began = time.monotonic()
        try:
            child = self._start(argv, stdin, self.env if env is None else env, merge, on_line)
        except (OSError, ValueError) as error:
            return Completed(None, "", "", 0.0, error=str(error))
        try:
            timed_out = child.wait(patience)
            idle = child.idle
        finally:
            child.end()
            self._children.discard(child)
        seconds = time.monotonic() - began
        return Completed(child.process.returncode, child.text(0), child.text(1), seconds, timed_out, idle)

    def close(self) -> None:
        """Kill every child that still runs and start no more, for a doctor that leaves."""
        with self._starting:
            self._closed = True
        for child in tuple(self._children):
            child.end()

    def _start(
        self, argv: Sequence[str], stdin: str, env: Mapping[str, str], merge: bool, on_line: OnLine | None
    ) -> Child:
        with self._starting:  # a child that is being started is not missed by close
            if self._closed:
                raise OSError("the doctor is leaving")
            process = subprocess.Popen(
                list(argv),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT if merge else subprocess.PIPE,
                env=dict(env),
                start_new_session=True,
            )
            child = Child(process, stdin, on_line)
            self._children.add(child)
            return child

    def read_text(self, path: str) -> str | None:
        """The start of a file as text, None where it cannot be read."""
        try:
            with open(path, "rb") as file:
                return file.read(READ_BYTES).decode("utf-8", "replace")
        except (OSError, ValueError):
            return None

    def read_bytes(self, path: str, limit: int) -> bytes:
        """The start of a file, ``limit`` bytes at most. Raises OSError where no file can be read."""
        with self.open_binary(path) as file:
            return file.read(limit)

    def open_binary(self, path: str) -> IO[bytes]:
        """A regular file for reading at any place. Raises OSError where there is none to read."""
        if not os.path.isfile(path):  # a pipe or a device may never end
            os.stat(path)
            raise IsADirectoryError(errno.EISDIR, "it is no regular file", path)
        return open(path, "rb")

    def identity(self, path: str) -> tuple[int, int, int] | None:
        """(size in bytes, time of change in ns, inode) of a file, links followed; None without one."""
        try:
            state = os.stat(path)
        except (OSError, ValueError):
            return None
        return state.st_size, state.st_mtime_ns, state.st_ino

    def is_folder(self, path: str) -> bool:
        """Is there a folder, links followed?"""
        return os.path.isdir(path)

    def list_folder(self, path: str) -> tuple[str, ...]:
        """Names in a folder, sorted; empty where it cannot be listed."""
        try:
            return tuple(sorted(os.listdir(path)))
        except OSError:
            return ()

    def is_file(self, path: str) -> bool:
        """Is there a file, links followed?"""
        return os.path.isfile(path)

    def is_link(self, path: str) -> bool:
        """Is there a symbolic link, whether it leads somewhere or not?"""
        return os.path.islink(path)

    def is_usable(self, path: str, writing: bool = True) -> bool:
        """May this user read and write a file or device, or read it alone, by its permissions?"""
        return os.access(path, os.R_OK | os.W_OK if writing else os.R_OK)

    def disk(self, folder: str) -> Disk | None:
        """The file system of a folder that may not be there yet; None where the system does not tell."""
        while not os.path.isdir(folder) and os.path.dirname(folder) != folder:
            folder = os.path.dirname(folder)
        try:
            state = os.statvfs(folder)
        except (OSError, AttributeError, ValueError):
            return None
        executable = not state.f_flag & getattr(os, "ST_NOEXEC", 0)
        free = state.f_frsize * state.f_bavail if state.f_blocks else None
        return Disk(free, os.access(folder, os.W_OK | os.X_OK), executable)

    def limits(self) -> Mapping[str, int | None]:
        """Soft limits that a training inherits: "memory_lock_bytes", "open_files"; None for no limit."""
        try:
            import resource
        except ImportError:
            return {}
        numbers = {"memory_lock_bytes": resource.RLIMIT_MEMLOCK, "open_files": resource.RLIMIT_NOFILE}
        soft = {name: resource.getrlimit(number)[0] for name, number in numbers.items()}
        return {name: None if value == resource.RLIM_INFINITY else value for name, value in soft.items()}

    def cached(self, name: str) -> bytes | None:
        """What :meth:`cache` kept under a name, None where there is nothing."""
        try:
            return self.read_bytes(os.path.join(self._cache_folder(), name), READ_BYTES)
        except OSError:
            return None

    def cache(self, name: str, content: bytes) -> None:
        """Keep a file of our own for the next run, where this user has a cache folder; else do nothing."""
        folder = self._cache_folder()
        beside = os.path.join(folder, f"{name}.{os.getpid()}")
        with contextlib.suppress(OSError):
            os.makedirs(folder, exist_ok=True)
            with open(beside, "wb") as file:
                file.write(content)
            os.replace(beside, os.path.join(folder, name))
        with contextlib.suppress(OSError):  # what a full disk left
            os.unlink(beside)

    def _cache_folder(self) -> str:
        home = self.env.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
        return os.path.join(home, "lora-doctor")

    def real_path(self, path: str) -> str:
        """Where a path leads when every link is followed."""
        return os.path.realpath(path)

    def find_program(self, name: str) -> str | None:
        """The full path of a program on PATH, None where there is none."""
        import shutil

        return shutil.which(name, path=self.env.get("PATH", os.defpath))

    def find_library(self, name: str) -> str | None:
        """Where the loader of Linux would find a library, without loading it; None where it would not."""
        paths = places(name, self.env.get("LD_LIBRARY_PATH", ""), self._loader_cache)
        return next((path for path in paths if self.is_file(path)), None)

    @cached_property
    def _loader_cache(self) -> Mapping[str, str]:
        with contextlib.suppress(OSError):
            return paths_by_name(self.read_bytes(LOADER_CACHE, READ_BYTES), machine())
        return {}

    @contextlib.contextmanager
    def temporary_folder(self) -> Iterator[str]:
        """A folder of our own, removed afterwards whatever a child has left in it."""
        import tempfile

        with tempfile.TemporaryDirectory(prefix="lora-doctor-", ignore_cleanup_errors=True) as folder:
            yield folder

    def _temporary_space_bytes(self) -> int:
        """Free space where temporary files go, by the variables that the slow module tempfile follows."""
        import shutil

        stated = [self.env.get(name, "") for name in ("TMPDIR", "TEMP", "TMP")]
        for folder in (*stated, "/tmp", "."):
            with contextlib.suppress(OSError):
                return shutil.disk_usage(folder).free
        return 0

    def machine(self) -> Mapping[str, Any]:
        """What the system says of itself, raw: names, memory and disk in bytes."""
        import platform

        uname = platform.uname()
        return {
            "kernel": f"{uname.system} {uname.release}",
            "arch": uname.machine,
            "name": _system_name(),
            **_memory(),
            "libc": " ".join(part for part in _libc() if part) or None,
            "cpu_count": os.cpu_count() or 1,
            "disk_free_bytes": self._temporary_space_bytes(),
            "shared_memory_bytes": _folder_size("/dev/shm"),
        }


def _memory() -> dict[str, int]:
    """RAM in bytes where no /proc tells of it."""
    if sys.platform == "linux":
        return {}
    import psutil

    memory = psutil.virtual_memory()
    return {"ram_total_bytes": memory.total, "ram_available_bytes": memory.available}


def _system_name() -> str:
    if sys.platform == "linux":
        import distro

        return distro.name(pretty=True) or "Linux"
    import platform

    return f"{platform.system()} {platform.release()}"


def _libc() -> tuple[str, str]:
    if sys.platform != "linux":
        return ("", "")
    with contextlib.suppress(ValueError, OSError):
        name, _, version = (os.confstr("CS_GNU_LIBC_VERSION") or "").partition(" ")
        return name, version
    return ("musl", "")  # the other C library of Linux does not know the name


def _folder_size(path: str) -> int | None:
    with contextlib.suppress(OSError, AttributeError):
        state = os.statvfs(path)
        return state.f_frsize * state.f_blocks
    return None
