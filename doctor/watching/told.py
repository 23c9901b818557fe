"""Reads what the hook wrote, file by file as they grow, and keeps what becomes of it for each process."""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Mapping
from statistics import median
from typing import Any

from doctor.host import Host
from doctor.memory import allocator_setting
from doctor.memory.usage import Failure, Level, Look, Process, Torch
from doctor.watching.track import Track, kept

READ_BYTES = 4 << 20  # of one file at a time
MOST_SKIPPED = 64  # reads that a file without news is left out of: workers that have ended leave many
SIGN = "python"  # the file that says that some Python process has found the hook
COLUMNS = ("allocated", "reserved", "pieces", "peak_allocated", "peak_reserved", "retries", "failures")


class Device:
    """torch's allocator of one device, growing."""

    def __init__(self) -> None:
        self.allocated, self.reserved = Track(), Track()
        self.peaks = [0, 0]
        self.unusable = self.retries = self.failures = 0
        self.levels: list[Level] = []
        self.uuid = ""

    def add(self, at_s: float, row: Mapping[str, int], uuid: str) -> None:
        """One line's numbers of it."""
        self.allocated.add(at_s, row["allocated"])
        self.reserved.add(at_s, row["reserved"])
        if row["reserved"] >= self.reserved.peak:
            self.unusable = row["pieces"]
        self.peaks = [max(self.peaks[0], row["peak_allocated"]), max(self.peaks[1], row["peak_reserved"])]
        self.retries, self.failures = row["retries"], row["failures"]
        self.uuid = uuid

    def told(self, ordinal: int, gpu: int | None) -> Torch:
        """As a fact."""
        return Torch(
            device=ordinal,
            gpu=gpu,
            allocated=self.allocated.points,
            reserved=self.reserved.points,
            peak_allocated_bytes=max(self.peaks[0], self.allocated.peak),
            peak_reserved_bytes=max(self.peaks[1], self.reserved.peak),
            unusable_bytes=self.unusable,
            retries=self.retries,
            failures=self.failures,
            levels=tuple(self.levels),
        )


class Told:
    """One process that imported torch."""

    def __init__(self, began_at: float) -> None:
        self._began_at = began_at
        self.head: Mapping[str, Any] = {}
        self.devices: dict[int, Device] = {}
        self.looks: list[Look] = []
        self.resident: list[Level] = []
        self.failures: list[Failure] = []
        self.steps_in_eval_mode = False
        self._pace: list[tuple[float, int]] = []

    def take(self, line: Mapping[str, Any]) -> None:
        """One line of the hook. Raises LookupError, TypeError or ValueError for what is none."""
        kind = line["kind"]
        if kind == "torch":
            self.head = self.head or line
        elif kind == "look":
            self._look(line)
        elif kind == "failed":
            self._failed(line)
        elif kind == "error":
            self.failures.append(Failure(text=str(line["text"]), source="exception", pid=self._pid))

    @property
    def _pid(self) -> int:
        return int(self.head.get("pid", 0))

    def _look(self, line: Mapping[str, Any]) -> None:
        at_s, steps = float(line["at"]) - self._began_at, int(line["steps"])
        self._pace = kept([*self._pace, (at_s, steps)])
        for ordinal, *numbers, uuid in line["devices"]:
            row = dict(zip(COLUMNS, map(int, numbers), strict=True))
            self.devices.setdefault(int(ordinal), Device()).add(at_s, row, str(uuid))
        for ordinal, held in line["lowest"]:
            device = self.devices.setdefault(int(ordinal), Device())
            device.levels = kept([*device.levels, Level(step=steps, at_s=at_s, held_bytes=int(held))])
        if line["resident"]:
            level = Level(step=steps, at_s=at_s, held_bytes=int(line["resident"]))
            self.resident = kept([*self.resident, level])
        self.steps_in_eval_mode |= bool(line["eval_steps"])
        if line["answer"]:
            self._answered(*line["answer"])

    def _answered(
        self, at: float, steps: int, training: bool | None, gradients: bool | None, inside: bool
    ) -> None:
        sizes = [one.allocated.last for one in self.devices.values() if one.allocated]
        look = Look(
            at_s=float(at) - self._began_at,
            step=int(steps),
            training=training if isinstance(training, bool) else None,
            gradients=gradients if isinstance(gradients, bool) else None,
            inside=bool(inside),
            allocated_bytes=sum(sizes) if sizes else None,
        )
        self.looks = kept([*self.looks, look])

    def _failed(self, line: Mapping[str, Any]) -> None:
        row = line["row"]
        self.failures.append(
            Failure(
                source="allocator",
                pid=self._pid,
                device=int(line["device"]),
                asked_bytes=int(line["asked"]),
                total_bytes=int(line["total"]),
                free_bytes=int(line["free"]),
                allocated_bytes=int(row[1]) if row else None,
                reserved_bytes=int(row[2]) if row else None,
            )
        )

    def told(self, gpu_by_uuid: Mapping[str, int]) -> Process:
        """As a fact; ``gpu_by_uuid`` has NVML's index by the hash of a UUID."""
        only = next(iter(gpu_by_uuid.values())) if len(gpu_by_uuid) == 1 else None
        devices = (
            one.told(ordinal, gpu_by_uuid.get(hashed(one.uuid), only))
            for ordinal, one in sorted(self.devices.items())
        )
        return Process(
            pid=self._pid,
            torch=str(self.head.get("torch", "")),
            python=str(self.head.get("python", "")),
            devices=tuple(devices),
            looks=tuple(self.looks),
            steps=self._pace[-1][1] if self._pace and self.head.get("counted") else None,
            step_s=self._step_s(),
            resident=tuple(self.resident),
            steps_in_eval_mode=self.steps_in_eval_mode,
            expandable_segments=allocator_setting.is_expandable(str(self.head.get("allocator", ""))),
        )

    def _step_s(self) -> float | None:
        """Median time of a step, over the looks between which there were some."""
        paces = [
            (later[0] - earlier[0]) / (later[1] - earlier[1])
            for earlier, later in zip(self._pace, self._pace[1:], strict=False)
            if later[1] > earlier[1]
        ]
        return median(paces) if paces else None


def hashed(uuid: str) -> str:
    """torch tells a UUID without its prefix; NVML's collector hashes it with."""
    whole = uuid if uuid.startswith("GPU-") else f"GPU-{uuid}"
    return hashlib.sha256(whole.encode()).hexdigest()[:12]


class Records:
    """The folder into which every process of the run writes its own file."""

    def __init__(self, host: Host, folder: str, began_at: float) -> None:
        self._host, self._folder, self._began_at = host, folder, began_at
        self._read: dict[str, int] = {}  # bytes that were read, by file
        self._skips: dict[str, int] = {}  # how many reads a file is left out of after one without news
        self._due: dict[str, int] = {}
        self._reads = 0
        self.processes: dict[str, Told] = {}

    @property
    def hook_was_found(self) -> bool:
        """Has any Python process found the hook?"""
        return self._host.is_file(f"{self._folder}/{SIGN}")

    def read(self, *, last: bool = False) -> None:
        """Whatever is new. A line that is not whole yet waits for the next time.

        Files that have long told nothing are read more rarely, and all of them at the ``last`` time.
        """
        self._reads += 1
        for name in self._host.list_folder(self._folder):
            if name.endswith(".jsonl") and (last or self._due.get(name, 0) <= self._reads):
                with contextlib.suppress(OSError):
                    skips = (
                        0 if self._read_file(name) else min(2 * self._skips.get(name, 0) + 1, MOST_SKIPPED)
                    )
                    self._skips[name], self._due[name] = skips, self._reads + 1 + skips

    def _read_file(self, name: str) -> bool:
        """Take its new lines; True where there were some."""
        with self._host.open_binary(f"{self._folder}/{name}") as file:
            file.seek(self._read.get(name, 0))
            data = file.read(READ_BYTES)
        whole = data[: data.rfind(b"\n") + 1]
        self._read[name] = self._read.get(name, 0) + len(whole)
        process = self.processes.setdefault(name, Told(self._began_at))
        for line in whole.splitlines():
            with contextlib.suppress(LookupError, TypeError, ValueError, AttributeError):
                process.take(json.loads(line))
        return bool(whole)

    def told(self, gpu_by_uuid: Mapping[str, int]) -> tuple[Process, ...]:
        """Every process that came so far as to have torch."""
        return tuple(one.told(gpu_by_uuid) for one in self.processes.values() if one.head)

    def failures(self) -> tuple[Failure, ...]:
        """What ran out of memory, in each process."""
        return tuple(failure for one in self.processes.values() for failure in one.failures)
