"""The one seam to the machine: processes, files, folders, the environment, and nothing else.

All that can hang, flood or die runs through :meth:`LocalHost.run`, with a limit on time, on idleness
and on output. Nothing here judges.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import IO, Any, NamedTuple, Protocol

KEPT_BYTES = 8 << 20  # of each stream of a child; a flood beyond it is read and dropped
LINE_BYTES = 4 << 20
READ_BYTES = 4 << 20  # of any file
LOADER_CACHE = "/etc/ld.so.cache"
LOADER_FOLDERS = ("/lib64", "/usr/lib64", "/lib", "/usr/lib")


class Patience(NamedTuple):
    """How long a child may take between two signs of life.

    ``idle_s`` is time without using the processor or reading the disk; ``limit_s`` bounds all time.
    """

    limit_s: float
    idle_s: float | None = None
    ask_stack: bool = False  # SIGABRT before SIGKILL, so that faulthandler shows where it hangs


class Completed(NamedTuple):
    """How a child ended. ``code`` is None where it could not be started."""

    code: int | None
    stdout: str
    stderr: str
    seconds: float
    timed_out: bool = False
    idle: bool = False  # it was given up because it neither computed nor read
    error: str = ""  # why it could not be started

    @property
    def signal(self) -> str:
        """The signal that killed it ("SIGBUS"), "" where none did."""
        if self.timed_out or self.code is None:
            return ""
        number = -self.code if self.code < 0 else self.code - 128
        with contextlib.suppress(ValueError):
            return signal.Signals(number).name if number > 0 else ""
        return ""


OnLine = Callable[[str], bool]  # takes a line of output; True where it is a sign of life


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
    def list_folder(self, path: str) -> tuple[str, ...]: ...
    def is_file(self, path: str) -> bool: ...
    def is_link(self, path: str) -> bool: ...
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
        self._children: set[_Child] = set()
        self._closed = False

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
        if self._closed:
            return Completed(None, "", "", 0.0, error="the doctor is leaving")
        try:
            process = subprocess.Popen(
                list(argv),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT if merge else subprocess.PIPE,
                env=dict(self.env if env is None else env),
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            return Completed(None, "", "", 0.0, error=str(error))
        child = _Child(process, stdin, on_line)
        self._children.add(child)
        try:
            timed_out = child.wait(patience)
            idle = child.idle
        finally:
            child.end()
            self._children.discard(child)
        seconds = time.monotonic() - began
        return Completed(process.returncode, child.text(0), child.text(1), seconds, timed_out, idle)

    def close(self) -> None:
        """Kill every child that still runs and start no more, for a doctor that leaves."""
        self._closed = True
        for child in tuple(self._children):
            child.end()

    def read_text(self, path: str) -> str | None:
        """The start of a file as text, None where it cannot be read."""
        try:
            with open(path, "rb") as file:
                return file.read(READ_BYTES).decode("utf-8", "replace")
        except (OSError, ValueError):
            return None

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

    def find_program(self, name: str) -> str | None:
        """The full path of a program on PATH, None where there is none."""
        import shutil

        return shutil.which(name, path=self.env.get("PATH", os.defpath))

    def find_library(self, name: str) -> str | None:
        """Where the loader of Linux would find a library, without loading it; None where it would not.

        It looks in LD_LIBRARY_PATH, then in its cache, then in its default folders.
        """
        stated = [folder for folder in self.env.get("LD_LIBRARY_PATH", "").split(":") if folder]
        for folder in (*stated, *LOADER_FOLDERS):
            if self.is_file(os.path.join(folder, name)):
                return os.path.join(folder, name)
        cached = (self.read_text(LOADER_CACHE) or "").split("\0")
        return next((path for path in cached if path.endswith("/" + name) and self.is_file(path)), None)

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
            "libc": " ".join(part for part in _libc() if part) or None,
            "cpu_count": os.cpu_count() or 1,
            "disk_free_bytes": self._temporary_space_bytes(),
            "shared_memory_bytes": _folder_size("/dev/shm"),
        }


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


class _Child:
    """A running process with its streams read as they fill, and its signs of life."""

    def __init__(self, process: subprocess.Popen[bytes], stdin: str, on_line: OnLine | None) -> None:
        self.process = process
        self.kept: tuple[list[bytes], list[bytes]] = ([], [])
        self.alive_at = time.monotonic()
        self.on_line = on_line
        self.silent = threading.Event()
        self.idle = False
        jobs: list[Callable[[], None]] = []
        if process.stdin:
            jobs.append(partial(self._feed, process.stdin, stdin.encode("utf-8", "surrogateescape")))
        streams = (process.stdout, process.stderr)
        jobs += [partial(self._drain, stream, index) for index, stream in enumerate(streams) if stream]
        self.threads = [threading.Thread(target=job, daemon=True) for job in jobs]
        for thread in self.threads:
            thread.start()

    def _feed(self, stream: IO[bytes], data: bytes) -> None:
        with contextlib.suppress(OSError, ValueError), stream:
            stream.write(data)

    def _drain(self, stream: IO[bytes], index: int) -> None:
        room = KEPT_BYTES
        with contextlib.suppress(OSError, ValueError), stream:
            for line in iter(lambda: stream.readline(LINE_BYTES), b""):
                if room > 0:
                    self.kept[index].append(line[:room])
                    room -= len(line)
                if index == 0 and self.on_line and self.on_line(line.decode("utf-8", "replace")):
                    self.alive_at = time.monotonic()
        if index == 0:
            self.silent.set()

    def wait(self, patience: Patience) -> bool:
        """Wait for the end; True where patience ran out first."""
        activity: _Activity | None = None
        while True:
            # The end of its output announces a child's own end, without the delay of asking again and again.
            self.silent.wait(timeout=0.25)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(timeout=0.25 if self.silent.is_set() else 0.0)
                return False
            silent_s = time.monotonic() - self.alive_at
            if silent_s > patience.limit_s:
                break
            if patience.idle_s is not None and silent_s > 1.0:
                activity = activity or _Activity(self.process.pid)
                self.idle = min(activity.idle_s(), silent_s) > patience.idle_s
                if self.idle:
                    break
        if patience.ask_stack and hasattr(signal, "SIGABRT"):
            self._signal(signal.SIGABRT)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(timeout=2.0)
        return True

    def end(self) -> None:
        """Kill what is left of the process and its children, and collect what they said."""
        self._signal(signal.SIGKILL if hasattr(signal, "SIGKILL") else signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(timeout=5.0)  # a process in an uninterruptible driver call stays
        for thread in self.threads:
            thread.join(timeout=2.0)

    def _signal(self, number: int) -> None:
        with contextlib.suppress(OSError):
            if hasattr(os, "killpg"):
                os.killpg(self.process.pid, number)
            else:
                self.process.kill()

    def text(self, index: int) -> str:
        return b"".join(self.kept[index]).decode("utf-8", "replace")


class _Activity:
    """How long a process has neither used the processor nor read from disk."""

    def __init__(self, pid: int) -> None:
        import psutil  # 60 ms: only for children that take long

        self.error = psutil.Error
        self.process: psutil.Process | None = None
        with contextlib.suppress(psutil.Error):
            self.process = psutil.Process(pid)
        self.last = self._spent()
        self.since = time.monotonic()

    def _spent(self) -> tuple[float, int]:
        """Seconds of processor and bytes read, children included; a wait for the disk counts as work."""
        if self.process is None:
            return (0.0, 0)
        try:
            times = self.process.cpu_times()
            waits = self.process.status() == "disk-sleep"
            read = self.process.io_counters().read_chars if hasattr(self.process, "io_counters") else 0
        except (self.error, OSError):
            return (0.0, 0)
        spent = times.user + times.system + times.children_user + times.children_system
        return (spent + (time.monotonic() if waits else 0.0), read)

    def idle_s(self) -> float:
        now, spent = time.monotonic(), self._spent()
        if spent[0] - self.last[0] > 0.05 or spent[1] != self.last[1]:
            self.last, self.since = spent, now
        return now - self.since
