"""The memory of the GPUs over a run, from a child of ours that asks NVML and may hang instead of us."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from doctor.child import Patience
from doctor.collectors import Collected, Event, collect, program
from doctor.facts import Gap
from doctor.host import Host
from doctor.memory.usage import Gpu, Holder
from doctor.watching.track import Track

PARTS = ("device_memory", "end")
SILENT_S = 15.0  # beyond an interval; a driver that says nothing for so long hangs
LOOKS = 600  # of one child, so that what it prints does not pile up
NO_ANSWER = "NVML stopped answering while the run went on"

OnGpus = Callable[[Sequence[Mapping[str, Any]], float], None]


class Asking:
    """A thread that has a child ask NVML, until told to stop."""

    def __init__(self, host: Host, interval_s: float, on_gpus: OnGpus) -> None:
        self._host, self._interval_s, self._on_gpus = host, interval_s, on_gpus
        self._stopped = threading.Event()
        self.gap: Gap | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        """Begin to ask."""
        self._thread.start()

    def stop(self) -> None:
        """Ask no more. The child ends when its host is closed."""
        self._stopped.set()

    def _run(self) -> None:
        while not self._stopped.is_set() and self.gap is None:
            seen = self._ask()
            if self._stopped.is_set():
                return
            refused = seen.section("refused")
            if refused is not None:
                self.gap = Gap(about="gpus", kind="not-applicable", reason=str(refused["error"]))
            elif seen.completed.code != 0 or not seen.events:
                reason = NO_ANSWER if seen.completed.timed_out else seen.trouble
                self.gap = Gap(about="gpus", kind="failed", reason=reason)

    def _ask(self) -> Collected:
        return collect(
            self._host,
            sys.executable,
            program(PARTS),
            {"interval": self._interval_s, "count": LOOKS},
            patience=Patience(self._interval_s + SILENT_S),
            on_event=self._take,
        )

    def _take(self, event: Event) -> None:
        if event.get("section") == "memory" and not self._stopped.is_set():
            self._on_gpus(event["gpus"], float(event["at"]))


class Watched:
    """One GPU, growing."""

    def __init__(self) -> None:
        self.row: Mapping[str, Any] = {}
        self.used, self.own, self.others = Track(), Track(), Track()
        self.least_free: int | None = None
        self._holders: dict[int, Holder] = {}
        self.belongs = False  # a process of the run holds memory of it

    def add(self, row: Mapping[str, Any], at_s: float, ours: frozenset[int], *, first: bool) -> None:
        """One moment; ``ours`` are the processes of the run."""
        self.row = row
        self.used.add(at_s, row["used"])
        self.least_free = min(self.least_free or row["free"], row["free"])
        processes = row["processes"]
        own = [size for pid, _, size in processes or () if pid in ours]
        self.belongs |= bool(own)
        if None not in own and processes is not None:
            self.own.add(at_s, sum(own))
        foreign = [(pid, name, size) for pid, name, size in processes or () if pid not in ours]
        if processes is not None and all(size is not None for _, _, size in foreign):
            self.others.add(at_s, sum(size for _, _, size in foreign))
        for pid, name, size in foreign:
            self._hold(pid, name, size or 0, first)

    def _hold(self, pid: int, name: str, size: int, first: bool) -> None:
        known = self._holders.get(pid)
        before = known.before if known else first
        largest = max(size, known.memory_bytes if known else 0)
        self._holders[pid] = Holder(pid=pid, name=name, memory_bytes=largest, before=before)

    def told(self, ours: frozenset[int]) -> Gpu:
        """As a fact. Where no process of the run was ever seen on it, whose memory it is stays open."""
        # One of ours may have been seen by the driver before it was seen to be ours.
        foreign = [one for pid, one in self._holders.items() if pid not in ours]
        holders = sorted(foreign, key=lambda one: -one.memory_bytes)
        return Gpu(
            index=self.row["index"],
            name=self.row["name"],
            total_bytes=self.row["total"],
            used=self.used.points,
            own=self.own.points if self.belongs else (),
            others=self.others.points if self.belongs else (),
            peak_bytes=self.used.peak,
            least_free_bytes=self.least_free,
            holders=tuple(holders) if self.belongs else (),
        )


class Gpus:
    """All GPUs of the machine over a run."""

    def __init__(self) -> None:
        self._by_index: dict[int, Watched] = {}
        self._lock = threading.Lock()
        self.ours: frozenset[int] = frozenset()  # every process that the run ever had

    def take(self, rows: Sequence[Mapping[str, Any]], at_s: float) -> None:
        """What NVML said at a moment."""
        with self._lock:
            for row in rows:
                first = row["index"] not in self._by_index
                watched = self._by_index.setdefault(row["index"], Watched())
                watched.add(row, at_s, self.ours, first=first)

    @property
    def by_uuid(self) -> Mapping[str, int]:
        """NVML's index by the hash of a UUID."""
        with self._lock:
            return {one.row["uuid_hash"]: index for index, one in self._by_index.items()}

    def now(self, chosen: frozenset[int]) -> Mapping[int, Mapping[str, Any]]:
        """The last row of each GPU that matters."""
        with self._lock:
            return {index: one.row for index, one in self._by_index.items() if self._matters(index, chosen)}

    def told(self, chosen: frozenset[int]) -> tuple[Gpu, ...]:
        """The GPUs that the run uses; ``chosen`` are those that torch says it uses."""
        with self._lock:
            return tuple(
                one.told(self.ours)
                for index, one in sorted(self._by_index.items())
                if self._matters(index, chosen)
            )

    def _matters(self, index: int, chosen: frozenset[int]) -> bool:
        known = chosen | {index for index, one in self._by_index.items() if one.belongs}
        return index in known or (not known and len(self._by_index) == 1)
