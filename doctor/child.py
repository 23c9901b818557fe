"""One child process: its streams read as they fill, its signs of life, its end. Used by ``host`` alone."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import IO, TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import psutil

KEPT_BYTES = 8 << 20  # of each stream of a child; a flood beyond it is read and dropped
LINE_BYTES = 4 << 20


class Patience(NamedTuple):
    """How long a child may take between two signs of life.

    ``idle_s`` is time without using the processor or reading the disk; ``limit_s`` bounds all time.
    """

    limit_s: float
    idle_s: float | None = None
    ask_stack: bool = False  # SIGABRT before SIGKILL, so that faulthandler shows where it hangs
    ask_end: bool = False  # SIGTERM before SIGKILL, so that a doctor ends its own children


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


class Child:
    """A running process, which is not left before it has ended."""

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
        activity: Activity | None = None
        while True:
            # The end of its output announces a child's own end, without the delay of asking again and again.
            self.silent.wait(timeout=0.25)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(timeout=0.25 if self.silent.is_set() else 0.0)
                return False
            silent_s = time.monotonic() - self.alive_at
            if silent_s > patience.limit_s:
                self.idle = activity is not None and activity.idle_s() > patience.limit_s / 2
                break
            if patience.idle_s is not None and silent_s > 1.0:
                activity = activity or Activity(self.process.pid)
                self.idle = min(activity.idle_s(), silent_s) > patience.idle_s
                if self.idle:
                    break
        asked = {"SIGABRT": patience.ask_stack, "SIGTERM": patience.ask_end}
        for name in (name for name, is_asked in asked.items() if is_asked and hasattr(signal, name)):
            self._signal(getattr(signal, name))
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
        """What was kept of a stream: 0 standard output, 1 standard error."""
        return b"".join(self.kept[index]).decode("utf-8", "replace")


class Activity:
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
        """Seconds of processor and bytes read, of all its children; a wait for the disk counts as work."""
        seconds, read = 0.0, 0
        for process in self._family():
            with contextlib.suppress(self.error, OSError):
                times = process.cpu_times()
                seconds += times.user + times.system + times.children_user + times.children_system
                seconds += time.monotonic() if process.status() == "disk-sleep" else 0.0
                read += process.io_counters().read_chars if hasattr(process, "io_counters") else 0
        return seconds, read

    def _family(self) -> Iterator[psutil.Process]:
        """The process and its descendants that run now: a launcher only waits for the one that works."""
        if self.process is not None:
            yield self.process
            with contextlib.suppress(self.error, OSError):
                yield from self.process.children(recursive=True)

    def idle_s(self) -> float:
        """Seconds since it last did either."""
        now, spent = time.monotonic(), self._spent()
        if abs(spent[0] - self.last[0]) > 0.05 or spent[1] != self.last[1]:
            self.last, self.since = spent, now
        return now - self.since
