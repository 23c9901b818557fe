"""What a watched run told of its memory: curves over time, torch's own numbers, and how it ended.

Bytes, and seconds since the run began. None stands for what nobody told.
"""

from __future__ import annotations

from typing import Literal

from doctor.fact import Fact
from doctor.facts import Gap

Curve = tuple[tuple[float, int], ...]  # (seconds, bytes), in the order of time


class Gpu(Fact, frozen=True, kw_only=True):
    """One GPU as the driver tells of it, all processes together."""

    index: int  # as NVML counts
    name: str = ""
    total_bytes: int | None = None
    used: Curve = ()
    own: Curve = ()  # by processes of this run; empty where the driver's process numbers are not ours
    others: Curve = ()  # by other processes
    peak_bytes: int = 0
    least_free_bytes: int | None = None
    holders: tuple[Holder, ...] = ()  # other processes at their largest, the largest first


class Holder(Fact, frozen=True, kw_only=True):
    """Another process on the same GPU."""

    pid: int
    name: str  # of its command, without folder and arguments
    memory_bytes: int
    before: bool  # it was there when the run began


class Level(Fact, frozen=True, kw_only=True):
    """What was held right after an optimizer step: the same point of every step."""

    step: int
    at_s: float
    held_bytes: int


class Torch(Fact, frozen=True, kw_only=True):
    """torch's allocator of one device in one process."""

    device: int  # torch's ordinal
    gpu: int | None = None  # NVML's index of the same GPU
    allocated: Curve = ()
    reserved: Curve = ()
    peak_allocated_bytes: int = 0
    peak_reserved_bytes: int = 0
    unusable_bytes: int = 0  # in pieces of split segments, when most was reserved
    retries: int = 0  # times the cache was given back because the driver had no more
    failures: int = 0  # out of memory errors, those that were caught among them
    levels: tuple[Level, ...] = ()


class Look(Fact, frozen=True, kw_only=True):
    """One look at what a process was doing. ``None``: it could not be told."""

    at_s: float
    step: int
    training: bool | None  # the mode of the trained modules
    gradients: bool | None  # autograd records
    inside: bool = False  # it was in the forward of a module, where that counts
    allocated_bytes: int | None = None  # on all devices


class Process(Fact, frozen=True, kw_only=True):
    """One process of the run that imported torch."""

    pid: int
    torch: str  # version
    python: str
    devices: tuple[Torch, ...] = ()
    looks: tuple[Look, ...] = ()
    steps: int | None = None  # of its first optimizer; None where torch cannot tell
    step_s: float | None = None  # median time of a step
    resident: tuple[Level, ...] = ()  # right after a step, without mapped files
    steps_in_eval_mode: bool = False  # it trains with model.eval(), so the mode says nothing
    expandable_segments: bool = False


class Failure(Fact, frozen=True, kw_only=True):
    """Words or numbers that an out of memory error left."""

    text: str = ""  # as torch worded it, "" where it was caught and only the numbers are known
    source: Literal["exception", "allocator", "standard error", "kernel"]
    pid: int | None = None
    device: int | None = None
    asked_bytes: int | None = None
    total_bytes: int | None = None
    free_bytes: int | None = None
    allocated_bytes: int | None = None
    reserved_bytes: int | None = None


class Run(Fact, frozen=True, kw_only=True):
    """A run from its start, or from when it was first watched, to its end."""

    kind: Literal["command", "process"]
    program: str  # "python", without folder and arguments
    seconds: float
    interval_s: float
    exit_code: int | None = None  # None where it went on
    signal: str = ""  # "SIGKILL", where one ended it
    limit_bytes: int | None = None  # what the user wants it to stay under
    hook: Literal["worked", "silent", "impossible", "not-asked"] = "not-asked"
    gpus: tuple[Gpu, ...] = ()
    processes: tuple[Process, ...] = ()
    resident: Curve = ()  # of the whole tree of processes; what they share counts more than once
    peak_resident_bytes: int = 0
    unique_bytes: int | None = None  # the most that belonged to the tree alone
    memory_bytes: int | None = None  # of the system
    spills: bool = False  # Windows or WSL, where the driver moves memory out of the GPU instead of failing
    failures: tuple[Failure, ...] = ()
    gaps: tuple[Gap, ...] = ()
