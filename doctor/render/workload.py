"""The line of a plan that was asked about."""

from __future__ import annotations

from doctor.facts import Facts
from doctor.render.describe import gib, reason


def plan(facts: Facts) -> str:
    """The plan's peak against what is free: "gpt2 needs 8.9 GiB (give or take 5%), 14.6 GiB are free"."""
    if facts.workload is None:
        return reason(facts, "workload")
    load = facts.workload
    free = "no GPU is seen" if load.free_bytes is None else f"{gib(load.free_bytes)} are free"
    return f"{load.model} needs {gib(load.needed_bytes)} (give or take {load.error:.0%}), {free}"
