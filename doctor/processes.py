"""The user's own command as a child of ours, and a process with all that it started.

Beside ``host`` and ``child`` the only place that starts or asks processes. Those run what the doctor wants to
know; this one runs what the user wants, as if nobody stood between.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import psutil

KEPT_BYTES = 64 << 10  # of the end of standard error
DRAINED_S = 5.0  # after the end of a command, for what its own children still have to say
PASSED_ON = ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2")
FROM_TERMINAL = ("SIGINT", "SIGQUIT")
ROUNDS = 10
REFRESHED_SHARE = 0.003  # of the time may go into looking for new children


class Foreground:
    """A command with our own standard streams, in our own process group: a terminal stays a terminal.

    Standard error is copied through us only where it is no terminal and not the same as standard output,
    since a copy may arrive later than what is written past it. Raises OSError where it cannot be started.
    """

    def __init__(self, argv: Sequence[str], env: Mapping[str, str]) -> None:
        self._end = bytearray()
        copied = _is_apart()
        self._signals = _Signals()
        self._process = subprocess.Popen(
            list(argv), env=dict(env), stderr=subprocess.PIPE if copied else None, close_fds=False, bufsize=0
        )
        self._signals.begin()  # only now, so that the command inherits none of it
        self._copier = threading.Thread(target=self._copy, daemon=True) if copied else None
        if self._copier:
            self._copier.start()

    @property
    def pid(self) -> int:
        """Its process number."""
        return self._process.pid

    @property
    def code(self) -> int | None:
        """How it ended: its exit code, minus the number of the signal that ended it, None while it runs."""
        return self._process.poll()

    def wait(self, seconds: float) -> bool:
        """Wait for its end, passing on signals; True once it has ended."""
        until = time.monotonic() + seconds
        while self.code is None and (left := until - time.monotonic()) > 0:
            for number in self._signals.wait(self._process, left):
                with contextlib.suppress(OSError):
                    self._process.send_signal(number)
        return self.code is not None

    def finish(self) -> None:
        """After its end: the rest of what it said, and signals as they were."""
        if self._copier:
            self._copier.join(DRAINED_S)
        self._signals.end()

    def last_words(self) -> str:
        """The end of its standard error, "" where that did not pass through us."""
        return bytes(self._end).decode("utf-8", "replace")

    def _copy(self) -> None:
        stream = self._process.stderr
        assert stream is not None
        with contextlib.suppress(OSError, ValueError), stream:
            while data := os.read(stream.fileno(), 1 << 16):
                self._end += data
                del self._end[:-KEPT_BYTES]
                while data:
                    data = data[os.write(2, data) :]


def _is_apart() -> bool:
    """Is standard error neither a terminal nor where standard output goes?"""
    try:
        return not os.isatty(2) and not os.path.sameopenfile(1, 2)
    except OSError:
        return False


class _Signals:
    """Signals that reach us while a command runs, and which of them it has not had already.

    What a terminal sends goes to the whole foreground group, so the command has it; what a process sends
    came to us alone.
    """

    def __init__(self) -> None:
        self._numbers = [getattr(signal, name) for name in PASSED_ON if hasattr(signal, name)]
        self._numbers = [number for number in self._numbers if signal.getsignal(number) != signal.SIG_IGN]
        self._precise = hasattr(signal, "sigtimedwait")
        self._old_mask: set[int | signal.Signals] = set()
        self._old: dict[int, object] = {}
        self._seen: list[int] = []

    def begin(self) -> None:
        """Nothing of this ends us any more."""
        if self._precise:
            self._old_mask = signal.pthread_sigmask(signal.SIG_BLOCK, [*self._numbers, signal.SIGCHLD])
            return
        for number in self._numbers:
            with contextlib.suppress(OSError, ValueError):
                self._old[number] = signal.signal(number, lambda number, frame: self._seen.append(number))

    def wait(self, process: subprocess.Popen[bytes], seconds: float) -> list[int]:
        """Wait for a signal or the end; what is to be passed on."""
        if self._precise:
            info = signal.sigtimedwait([*self._numbers, signal.SIGCHLD], seconds)
            if info is None or info.si_signo == signal.SIGCHLD:
                return []
            sent_by_terminal = info.si_pid == 0 and info.si_signo in _numbers_of(FROM_TERMINAL)
            return [] if sent_by_terminal else [info.si_signo]
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(min(seconds, 0.2))
        seen, self._seen = self._seen, []
        return [number for number in seen if not (number in _numbers_of(FROM_TERMINAL) and _in_foreground())]

    def end(self) -> None:
        """As before."""
        if self._precise:
            while signal.sigtimedwait([*self._numbers, signal.SIGCHLD], 0):
                continue  # it came too late to matter
            signal.pthread_sigmask(signal.SIG_SETMASK, self._old_mask)
        for number, handler in self._old.items():
            signal.signal(number, handler)  # type: ignore[arg-type]


def _numbers_of(names: Sequence[str]) -> set[int]:
    return {getattr(signal, name) for name in names if hasattr(signal, name)}


def _in_foreground() -> bool:
    """Does the terminal that we have send its signals to our group?"""
    if sys.platform == "win32":
        return True
    with contextlib.suppress(OSError):
        file = os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY)
        try:
            return os.tcgetpgrp(file) == os.getpgrp()
        finally:
            os.close(file)
    return False


class Family:
    """A process and what it started, each as long as it lives. Raises ProcessLookupError without one."""

    def __init__(self, pid: int) -> None:
        import psutil

        self._error = psutil.Error
        try:
            self._first = psutil.Process(pid)
            self.name = self._first.name()
        except (psutil.NoSuchProcess, ValueError, OverflowError) as error:
            raise ProcessLookupError(f"there is no process {pid}") from error
        except psutil.Error:
            self.name = ""
        self._members: dict[int, psutil.Process] = {pid: self._first}
        self._refresh_at = 0.0

    def refresh(self) -> None:
        """Look for children that are new, and forget who has ended; as often as that is cheap."""
        began = time.monotonic()
        if began < self._refresh_at:
            return
        # Who lost its parent is no longer below it, and is kept.
        for process in (self._first, *tuple(self._members.values())):
            with contextlib.suppress(self._error, OSError):
                for child in process.children(recursive=process is self._first):
                    self._members.setdefault(child.pid, child)
            if process is self._first and self._is_alive(process):
                break
        self._members = {pid: one for pid, one in self._members.items() if self._is_alive(one)}
        now = time.monotonic()
        self._refresh_at = now + (now - began) / REFRESHED_SHARE

    def _is_alive(self, process: psutil.Process) -> bool:
        with contextlib.suppress(self._error, OSError):
            return process.is_running() and process.status() != "zombie"
        return False

    @property
    def is_alive(self) -> bool:
        """Does the first process still run?"""
        return self._is_alive(self._first)

    @property
    def pids(self) -> frozenset[int]:
        """Who belongs to it."""
        return frozenset(self._members)

    def resident_bytes(self) -> int | None:
        """Resident memory of all, what they share counted for each; None where none tells."""
        sizes = []
        for process in tuple(self._members.values()):
            with contextlib.suppress(self._error, OSError):
                sizes.append(process.memory_info().rss)
        return sum(sizes) or None

    def unique_bytes(self) -> int | None:
        """Memory that would be free without them. Slow: the kernel walks through all their pages."""
        sizes = []
        for process in tuple(self._members.values()):
            with contextlib.suppress(self._error, OSError, AttributeError):
                sizes.append(process.memory_full_info().uss)
        return sum(sizes) or None


def place(folder: str, files: Mapping[str, bytes]) -> None:
    """Write files of our own into a folder of our own. Raises OSError where that is not possible."""
    for name, content in files.items():
        path = Path(folder, name)
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.write_bytes(content)


class Companion:
    """A child that outlives us if we are killed: it sees its pipe close, and does what is then due.

    It has a session of its own and inherits the descriptors ``shared``. Raises OSError where it does not
    say that it is ready.
    """

    def __init__(self, argv: Sequence[str], env: Mapping[str, str], shared: Sequence[int]) -> None:
        self._process = subprocess.Popen(
            list(argv),
            env=dict(env),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            pass_fds=tuple(shared),
            start_new_session=True,
        )
        assert self._process.stdout is not None
        with self._process.stdout as stream:
            if not stream.readline():
                self.leave(b"")
                raise OSError("the child that would restore after a death did not start")

    def leave(self, word: bytes) -> None:
        """Send it a last word, "" for none, close its pipe and wait until it has ended."""
        assert self._process.stdin is not None
        with contextlib.suppress(OSError), self._process.stdin as stream:
            stream.write(word)
        self._process.wait()


def prepare() -> None:
    """Import what :func:`end_marked` needs, for a process under which packages are about to change."""
    import psutil  # noqa: F401


def end_marked(variable: str, value: str) -> None:
    """Kill every process of this user that has a variable of this value in its environment."""
    import psutil

    for _ in range(ROUNDS):  # one that dies may have started another
        marked = []
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error, OSError):
                if process.environ().get(variable) == value:
                    process.kill()
                    marked.append(process)
        if not marked:
            return
        psutil.wait_procs(marked, timeout=5.0)
