"""What one node, or one rank of a collective test, has to say: a JSON object on a line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

# In their order; a collective that does not end well names the one in which it stopped.
Step = Literal[
    "rendezvous",
    "start",
    "import-torch",
    "store",
    "presence",
    "pairs",
    "group",
    "all-reduce",
    "bandwidth",
    "end",
]


class Seat(msgspec.Struct, frozen=True):
    """Where a rank sits, as it told the others."""

    rank: int
    node: str
    local_rank: int = 0
    device: str = ""


class PairTrial(msgspec.Struct, frozen=True, kw_only=True):
    """Two ranks alone: a sum of known numbers. ``absent`` is a partner that shows no sign of life."""

    other: int
    outcome: Literal["ok", "wrong", "failed", "absent"]
    seconds: float = 0.0  # of the larger transfer, the connection not counted
    bytes: int = 0
    reason: str = ""


class Sum(msgspec.Struct, frozen=True, kw_only=True):
    """One all-reduce of numbers whose sum is known."""

    outcome: Literal["ok", "wrong", "failed"]
    wanted: float | None = None  # of the first number that differs, else of the first number
    seen: float | None = None
    reason: str = ""


class Speed(msgspec.Struct, frozen=True, kw_only=True):
    """Time of an all-reduce of ``bytes``, the median of several.

    Bus bandwidth is what the slowest link must carry whatever the number of ranks n:
    2 (n-1) / n of the algorithm's (NVIDIA nccl-tests, doc/PERFORMANCE.md).
    """

    bytes: int
    seconds: float
    algorithm_bytes_per_s: float
    bus_bytes_per_s: float


class Collective(msgspec.Struct, frozen=True, kw_only=True):
    """The collective test as one rank saw it. ``missing`` are ranks that never came to the store.

    ``silent`` are those that showed no sign of life after this rank's test had failed.
    """

    outcome: Literal["ok", "failed", "died", "hung"]
    step: Step
    reason: str = ""
    rank: int | None = None  # None where no rendezvous gave it one
    world_size: int | None = None
    backend: str = ""
    master: str = ""  # "gpu-01:29400"
    torch: str = ""
    nccl: str = ""
    device: str = ""
    interfaces: tuple[str, ...] = ()
    env: Mapping[str, str] = {}
    seats: tuple[Seat, ...] = ()
    missing: tuple[int, ...] = ()
    silent: tuple[int, ...] = ()
    pairs: tuple[PairTrial, ...] = ()
    all_reduce: Sum | None = None
    speeds: tuple[Speed, ...] = ()
    seconds: float = 0.0


class Envelope(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=False):
    """A node's report, or why there is none, with the node's name, which no report holds."""

    schema: int = 1
    node: str
    rank: int | None = None
    local_rank: int | None = None
    report: Mapping[str, Any] | None = None
    failure: str = ""  # one line
    seconds: float | None = None
    collective: Collective | None = None


def line(envelope: Envelope) -> str:
    """An envelope as one line of JSON, without a line break."""
    return msgspec.json.encode(envelope).decode("utf-8")


def expected_line(names: tuple[str, ...]) -> str:
    """The line that says which nodes were asked, so that one that never answers is missed by name."""
    return msgspec.json.encode({"schema": 1, "expected": names}).decode("utf-8")
