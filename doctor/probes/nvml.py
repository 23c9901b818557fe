"""NVML's answer, put together from what its child emitted of each GPU."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from doctor.collectors import Collected

Row = dict[str, Any]
STARTS = 2  # of its child in all: one GPU that ends it must not hide the others, and each may take its limit


def gathered(ask: Callable[[int], Collected]) -> Collected:
    """The answer as one section "nvml" with ``driver``, ``cuda`` and ``gpus``, or ``error`` and ``code``.

    ``ask`` starts a child that tells of the GPUs from an index on. A GPU at which the child ends or hangs is
    a row with ``error``, as is one that NVML cannot reach; another child is asked for those behind it. What
    is not asked any more has no row.
    """
    told = ask(0)
    answer, head = told, told.section("nvml") or {}
    if "count" not in head:
        return answer
    count, rows = head["count"], _rows(told)
    for start in range(STARTS):
        silent = next((index for index in range(count) if index not in rows), None)
        if silent is None:
            break
        rows[silent] = _silent(silent, told)
        if silent + 1 < count and start + 1 < STARTS:
            told = ask(silent + 1)
            rows.update(_rows(told))
    return answer._replace(events=({**head, "gpus": [rows[index] for index in sorted(rows)]},))


def _silent(index: int, told: Collected) -> Row:
    """A GPU of which a child said nothing before it ended."""
    done = told.completed
    error = f"asking it killed the process ({done.signal})" if done.signal else told.trouble
    if done.timed_out:
        error = f"no answer within {done.seconds:.0f} s"
    return {"index": index, "error": error, "code": None}


def _rows(answer: Collected) -> dict[int, Row]:
    """What was told of each GPU, by its index."""
    rows: dict[int, Row] = {}
    for event in answer.events:
        if event.get("section") in ("nvml-gpu", "nvml-peers"):
            rows.setdefault(event["index"], {}).update(_told(event))
    return rows


def _told(event: Mapping[str, Any]) -> Row:
    return {key: value for key, value in event.items() if key != "section"}
