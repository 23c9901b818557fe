"""Watches one run from its start, or a process that runs already, to its end."""

from __future__ import annotations

import contextlib
import pkgutil
import signal as signals
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Literal

from doctor.fact import Fact
from doctor.facts import Gap
from doctor.host import Host
from doctor.memory.usage import Failure, Run
from doctor.processes import Family, Foreground, place
from doctor.watching.gpus import Asking, Gpus
from doctor.watching.told import Records
from doctor.watching.track import Track

HOOK = ("sitecustomize.py", "state.py", "watcher.py")
HOOK_FOLDER = "hook"
FIRST_S = 0.1  # the first looks come sooner: what dies young is seen too
UNIQUE_SHARE = 0.002  # of the time may go into the slow question what belongs to the tree alone
KILLS = "oom_kill "  # the counter of the kernel's killer in /proc/vmstat


class Now(Fact, frozen=True, kw_only=True):
    """What the live line shows: bytes at this moment, None where nobody tells."""

    at_s: float
    used_bytes: int | None = None  # of the fullest GPU of the run, else resident memory of the tree
    total_bytes: int | None = None
    peak_bytes: int | None = None
    free_bytes: int | None = None
    others_bytes: int | None = None
    allocated_bytes: int | None = None  # by torch, all devices
    gpu: int | None = None
    step: int | None = None


OnNow = Callable[[Now], None]


class Watch:
    """One run being watched."""

    def __init__(self, host: Host, interval_s: float, on_now: OnNow | None = None) -> None:
        self._host, self._interval_s, self._on_now = host, interval_s, on_now
        self._began, self._began_at = time.monotonic(), time.time()
        self._gpus, self._resident = Gpus(), Track()
        self._unique: int | None = None
        self._unique_at = 0.0
        self._records: Records | None = None
        self._family: Family | None = None
        self._gaps: list[Gap] = []
        self._asking = Asking(host, interval_s, lambda rows, at: self._gpus.take(rows, at - self._began_at))

    def command(self, argv: Sequence[str], limit_bytes: int | None = None) -> Run:
        """Run a command to its end. Raises OSError where it cannot be started."""
        kills = self._kills()
        with self._hooked(argv) as env:
            child = Foreground(argv, env)
            try:
                self._follow(child.pid)
                while not child.wait(self._pause()):
                    self._try_to_look()
            finally:
                child.finish()
                self._asking.stop()
            self._try_to_look(last=True)
            code = child.code
            failures = self._failures(child.last_words(), code, self._kills() > kills)
            return self._told("command", argv[0], code, limit_bytes, failures)

    def process(self, pid: int, limit_bytes: int | None = None) -> Run:
        """Watch a process that runs already, until it ends or the user has seen enough (Ctrl-C).

        Raises ProcessLookupError where there is none.
        """
        self._gap("torch", "not-asked", "the hook can only be set where a command is started by watch")
        self._follow(pid)
        family = self._family
        assert family is not None
        if not family.is_alive:
            raise ProcessLookupError(f"process {pid} has ended")
        with contextlib.suppress(KeyboardInterrupt):
            while family.is_alive:
                self._look()
                time.sleep(self._pause())
        self._asking.stop()
        return self._told("process", family.name, None, limit_bytes, ())

    # While it runs

    def _follow(self, pid: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            self._family = Family(pid)
        if self._family is None and self._records is None:
            raise ProcessLookupError(f"there is no process {pid}")
        self._asking.start()

    def _pause(self) -> float:
        return self._interval_s if time.monotonic() - self._began > 2.0 else min(FIRST_S, self._interval_s)

    def _try_to_look(self, *, last: bool = False) -> None:
        """Look; what fails in us must not reach the command."""
        try:
            self._look(last=last)
        except Exception as error:
            if not any(gap.about == "watching" for gap in self._gaps):
                self._gap("watching", "failed", f"{type(error).__name__}: {error}")

    def _look(self, *, last: bool = False) -> None:
        if self._records:
            self._records.read(last=last)
        if not last and self._family:
            self._look_at(self._family)
        if self._on_now:
            self._on_now(self._now())

    def _look_at(self, family: Family) -> None:
        now = time.monotonic()
        family.refresh()
        self._gpus.ours |= family.pids
        resident = family.resident_bytes()
        if resident:
            self._resident.add(now - self._began, resident)
        if now >= self._unique_at:
            self._unique = max(self._unique or 0, family.unique_bytes() or 0) or None
            done = time.monotonic()
            self._unique_at = done + max((done - now) / UNIQUE_SHARE, 1.0)

    def _now(self) -> Now:
        at_s = time.monotonic() - self._began
        processes = self._records.processes.values() if self._records else ()
        devices = [device for one in processes for device in one.devices.values()]
        sizes = [device.allocated.last for device in devices if device.allocated]
        steps = [one.looks[-1].step for one in processes if one.looks]
        allocated, step = sum(sizes) if sizes else None, max(steps, default=None)
        rows = self._gpus.now(self._chosen())
        if not rows:
            used, peak = (self._resident.last, self._resident.peak) if self._resident else (None, None)
            return Now(at_s=at_s, used_bytes=used, peak_bytes=peak, allocated_bytes=allocated, step=step)
        row = max(rows.values(), key=lambda row: row["used"] / row["total"] if row["total"] else 0.0)
        told = next(gpu for gpu in self._gpus.told(frozenset([row["index"]])) if gpu.index == row["index"])
        return Now(
            at_s=at_s,
            used_bytes=row["used"],
            total_bytes=row["total"],
            peak_bytes=told.peak_bytes,
            free_bytes=row["free"],
            others_bytes=told.others[-1][1] if told.others else None,
            allocated_bytes=allocated,
            gpu=row["index"],
            step=step,
        )

    def _chosen(self) -> frozenset[int]:
        """The GPUs that torch says it uses, by NVML's index."""
        if self._records is None:
            return frozenset()
        processes = self._records.told(self._gpus.by_uuid)
        return frozenset(device.gpu for one in processes for device in one.devices if device.gpu is not None)

    # The hook

    @contextlib.contextmanager
    def _hooked(self, argv: Sequence[str]) -> Iterator[Mapping[str, str]]:
        """The environment of the command: the user's own, with our folder in front of PYTHONPATH."""
        with contextlib.ExitStack() as stack:
            try:
                folder = stack.enter_context(self._host.temporary_folder())
                texts = {name: pkgutil.get_data("doctor.watching", f"hook/{name}") or b"" for name in HOOK}
                place(f"{folder}/{HOOK_FOLDER}", texts)
            except OSError as error:
                self._gap("torch", "failed", f"no temporary folder for the hook: {error.strerror or error}")
                yield self._host.env
                return
            self._records = Records(self._host, folder, self._began_at)
            yield hooked(self._host.env, folder, self._interval_s)

    # After its end

    def _failures(self, last_words: str, code: int | None, killed: bool) -> tuple[Failure, ...]:
        """What ran out of memory, by whoever told of it."""
        told = list(self._records.failures()) if self._records else []
        if last_words and not any(failure.text for failure in told):
            told.append(Failure(source="standard error", text=last_words))
        if killed and code in (-9, 137):
            told.append(Failure(source="kernel"))
        return tuple(told)

    def _kills(self) -> int:
        """How often the kernel's killer has struck since the machine was started; 0 where nothing tells."""
        lines = (self._host.read_text("/proc/vmstat") or "").splitlines()
        return next((int(line[len(KILLS) :]) for line in lines if line.startswith(KILLS)), 0)

    def _told(
        self,
        kind: Literal["command", "process"],
        program: str,
        code: int | None,
        limit_bytes: int | None,
        failures: tuple[Failure, ...],
    ) -> Run:
        processes = self._records.told(self._gpus.by_uuid) if self._records else ()
        chosen = self._chosen()
        memory = self._host.machine().get("ram_total_bytes") or ram_bytes(self._host)
        if self._asking.gap:
            self._gaps.append(self._asking.gap)
        return Run(
            kind=kind,
            program=program.replace("\\", "/").rsplit("/", 1)[-1],
            seconds=round(time.monotonic() - self._began, 3),
            interval_s=self._interval_s,
            exit_code=exit_code(code),
            signal=signal_of(code),
            limit_bytes=limit_bytes,
            hook=self._hook_state(bool(processes)),
            gpus=self._gpus.told(chosen),
            processes=processes,
            resident=self._resident.points,
            peak_resident_bytes=self._resident.peak,
            unique_bytes=self._unique,
            memory_bytes=memory,
            spills=self._host.os == "win32" or "microsoft" in (self._host.read_text("/proc/version") or ""),
            failures=failures,
            gaps=tuple(self._gaps),
        )

    def _hook_state(self, worked: bool) -> Literal["worked", "silent", "impossible", "not-asked"]:
        if self._records is None:
            return "not-asked"
        if worked:
            return "worked"
        return "silent" if self._records.hook_was_found else "impossible"

    def _gap(self, about: str, kind: Literal["failed", "not-asked"], reason: str) -> None:
        self._gaps.append(Gap(about=about, kind=kind, reason=reason))


def hooked(env: Mapping[str, str], folder: str, interval_s: float) -> Mapping[str, str]:
    """An environment in which every Python finds the hook first."""
    paths = [f"{folder}/{HOOK_FOLDER}", *([env["PYTHONPATH"]] if env.get("PYTHONPATH") else [])]
    separator = ";" if sys.platform == "win32" else ":"
    return {
        **env,
        "PYTHONPATH": separator.join(paths),
        "LORA_DOCTOR_WATCH": folder,
        "LORA_DOCTOR_WATCH_INTERVAL": f"{interval_s:g}",
    }


def ram_bytes(host: Host) -> int | None:
    """The system's memory by /proc, None where there is none."""
    for line in (host.read_text("/proc/meminfo") or "").splitlines():
        if line.startswith("MemTotal:"):
            return int(line.split()[1]) << 10
    return None


def exit_code(code: int | None) -> int | None:
    """As a shell says it: 128 and the number of the signal that ended a process."""
    return code if code is None or code >= 0 else 128 - code


def signal_of(code: int | None) -> str:
    """The name of the signal that ended a process, "" where none did."""
    with contextlib.suppress(ValueError):
        return signals.Signals(-code).name if code is not None and code < 0 else ""
    return ""
