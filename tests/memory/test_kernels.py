"""What the table of CUDA's own needs says, against the sources that it names."""

from __future__ import annotations

import pytest

from doctor.matrix.platform import table
from doctor.memory.kernels import facts, for_child

MIB = 2**20


@pytest.mark.parametrize(
    ("compute_capability", "workspace_mib", "context_mib", "expands_keys"),
    [
        ("7.5", 8.125, 141, True),
        ("8.0", 8.125, 400, False),
        ("8.6", 8.125, 256, False),
        ("9.0", 32, 522, False),
        ("12.0", 8.125, 400, False),
        ("", 8.125, 400, False),
    ],
)
def test_a_gpu_takes_what_its_kind_takes(
    compute_capability: str, workspace_mib: float, context_mib: int, expands_keys: bool
) -> None:
    known = facts(compute_capability)
    assert known.workspace_bytes == workspace_mib * MIB
    assert known.context_bytes == context_mib * MIB
    assert known.expands_keys is expands_keys


def test_a_figure_that_stands_in_for_others_may_be_further_off() -> None:
    seen, other = facts("7.5"), facts("8.0")
    assert seen.context_seen_on == "T4" and not other.context_seen_on
    assert seen.context_error_bytes / seen.context_bytes < other.context_error_bytes / other.context_bytes
    low, high = (
        287047680 / MIB - 20,
        616,
    )  # the ends of what was told: pull request 86509, less a segment, and LMCache
    assert abs(low - 400) * MIB <= other.context_error_bytes
    assert abs(high - 400) * MIB <= other.context_error_bytes


def test_the_child_is_told_in_plain_values() -> None:
    assert for_child("9.0") == {
        "workspace_bytes": 32 * MIB,
        "lt_workspace_bytes": MIB,
        "threads": 2,
        "expands_keys": False,
    }


def test_every_row_names_its_source() -> None:
    rows = dict(table("memory"))
    sources = rows.pop("sources")
    entries = [entry for value in rows.values() for entry in (value if isinstance(value, list) else [value])]
    assert {entry["source"] for entry in entries} == set(sources)
