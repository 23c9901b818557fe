"""The NVIDIA GPUs: from NVML, else from nvidia-smi."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import msgspec

from doctor.driver_text import MIB, GpuRow, cells, gpu_row, memory_cell
from doctor.facts import Gap, Gpu
from doctor.probes import SMI_ANSWERS, Looks, Smi
from doctor.probes.driver import absence

NO_MEMORY = ("[N/A]", "[Not Supported]", "N/A")
NOT_PERMITTED = "[Insufficient Permissions]"  # of a whole GPU, in a container that has a MIG instance of it


def probe(looks: Looks) -> tuple[Gpu, ...] | Gap:
    """Every GPU that answers; a gap where none does, or where nvidia-smi lists one that cannot be read."""
    nvml = looks.nvml.result().section("nvml") or {}
    if "gpus" in nvml:
        return from_nvml(nvml["gpus"])
    smi = looks.smi.result()
    if smi and smi.table.code in SMI_ANSWERS:
        found = from_query(smi)
        rows = [line for line in smi.query.stdout.splitlines() if line.strip() and "WARNING:" not in line]
        unread = len(rows) - len(found)
        if found and unread:
            reason = f"nvidia-smi lists {unread} more than the {len(found)} that can be read"
            return Gap(about="gpus", kind="failed", reason=reason)
        return (
            found
            or from_table(smi.table.stdout)
            or Gap(about="gpus", kind="failed", reason="nvidia-smi ran and listed no GPU that can be read")
        )
    none = absence(looks)
    return Gap(about="gpus", kind=none.kind, reason=none.reason)


def from_nvml(rows: Sequence[Mapping[str, Any]]) -> tuple[Gpu, ...] | Gap:
    """The GPUs that answer; those that do not are told of in ``DriverSigns.lost``."""
    answering = [row for row in rows if "error" not in row]
    if rows and not answering:
        reason = "; ".join(f"GPU {row['index']} does not answer: {row['error']}" for row in rows)
        return Gap(about="gpus", kind="failed", reason=reason)
    return msgspec.convert(answering, tuple[Gpu, ...])


def from_query(smi: Smi) -> tuple[Gpu, ...]:
    """GPUs from the query's table of index, name, driver, total and free MiB, compute capability."""
    rows = csv.reader(smi.query.stdout.splitlines(), skipinitialspace=True)
    return tuple(gpu for row in rows if (gpu := _row(row)))


def from_table(text: str) -> tuple[Gpu, ...]:
    """GPUs from the plain table, which cuts long names short: where the query is not answered."""
    rows = [cells(line) for line in text.splitlines()]
    return tuple(_table_row(row, after) for words, after in pairwise(rows) if (row := gpu_row(words)))


def _table_row(row: GpuRow, after: str) -> Gpu:
    memory = memory_cell(after)
    return Gpu(
        index=row.number,
        name=row.name,
        compute_capability=None,
        memory_total_bytes=memory and memory[1],
        memory_free_bytes=memory and memory[1] - memory[0],
    )


def _row(row: list[str]) -> Gpu | None:
    if len(row) not in (5, 6) or not row[0].strip().isdigit():
        return None
    index, name, _, total, free, capability = (cell.strip() for cell in (*row, "")[:6])
    if not name or name.startswith("[") or not (total.isdigit() or total in (*NO_MEMORY, NOT_PERMITTED)):
        return None  # "[Unknown Error]" in place of a name: the GPU is lost
    return Gpu(
        index=int(index),
        name=name,
        compute_capability=capability if capability.replace(".", "", 1).isdigit() else None,
        memory_total_bytes=int(total) * MIB if total.isdigit() else None,
        memory_free_bytes=int(free) * MIB if free.isdigit() else None,
        shares_memory=total in NO_MEMORY,
    )
