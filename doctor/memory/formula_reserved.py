"""What torch's allocator reserves for what is allocated, where no stream tells: by replays of traces."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import NamedTuple

import msgspec

from doctor.memory.formula_table import FOLDER
from doctor.memory.plan import Plan


class Spread(msgspec.Struct, frozen=True, array_like=True):
    """Reserved over allocated, in replayed traces: the smallest, the median and the largest."""

    low: float
    middle: float
    high: float


class Reserved(NamedTuple):
    """The reserved peak, and how far it may be off to either side."""

    amount_bytes: int
    error_bytes: int


def reserved(allocated_bytes: int, plan: Plan) -> Reserved:
    """By how much replayed traces of such plans reserved more than they had allocated."""
    spread = spreads()[key_of(plan)]
    return Reserved(
        round(allocated_bytes * spread.middle),
        round(allocated_bytes * max(spread.middle - spread.low, spread.high - spread.middle)),
    )


def key_of(plan: Plan) -> str:
    """What tells plans apart whose memory falls to pieces differently: "native qlora checkpointing"."""
    words = (
        "expandable" if plan.expandable_segments else "native",
        plan.method,
        "checkpointing" if plan.gradient_checkpointing else "",
    )
    return " ".join(filter(None, words))


@cache
def spreads() -> Mapping[str, Spread]:
    """Those of all kinds of plans, by ``scripts/derive_memory_formula.py``."""
    return msgspec.json.decode((FOLDER / "reserved.json").read_bytes(), type=dict[str, Spread])
