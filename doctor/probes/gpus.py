"""The NVIDIA GPUs: from NVML, else from nvidia-smi."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from typing import Any

from doctor.facts import Gap, Gpu
from doctor.probes import Looks, Smi
from doctor.probes.driver import absence

MIB = 1 << 20
NOT_TOLD = ("[N/A]", "[Not Supported]", "N/A")


def probe(looks: Looks) -> tuple[Gpu, ...] | Gap:
    """Every GPU that answers. A GPU that the driver counts and cannot read makes the whole a gap."""
    nvml = looks.nvml.result().section("nvml") or {}
    if "gpus" in nvml:
        return from_nvml(nvml["gpus"])
    smi = looks.smi.result()
    if smi and smi.table.code == 0:
        found = from_query(smi)
        unread = len([line for line in smi.query.stdout.splitlines() if line.strip()]) - len(found)
        if found and unread:
            reason = f"nvidia-smi lists {unread} more than the {len(found)} that can be read"
            return Gap(about="gpus", kind="failed", reason=reason)
        return found or Gap(
            about="gpus", kind="failed", reason="nvidia-smi ran and listed no GPU that can be read"
        )
    none = absence(looks)
    return Gap(about="gpus", kind=none.kind, reason=none.reason)


def from_nvml(rows: Sequence[dict[str, Any]]) -> tuple[Gpu, ...] | Gap:
    """GPUs as NVML describes them."""
    lost = [row for row in rows if "error" in row]
    if lost:
        reason = "; ".join(f"GPU {row['index']} does not answer: {row['error']}" for row in lost)
        return Gap(about="gpus", kind="failed", reason=reason)
    return tuple(Gpu(**row) for row in rows)


def from_query(smi: Smi) -> tuple[Gpu, ...]:
    """GPUs from the query's table of index, name, driver, total and free MiB, compute capability."""
    rows = csv.reader(smi.query.stdout.splitlines(), skipinitialspace=True)
    return tuple(gpu for row in rows if (gpu := _row(row)))


def _row(row: list[str]) -> Gpu | None:
    if len(row) not in (5, 6) or not row[0].strip().isdigit():
        return None
    index, name, _, total, free, capability = (cell.strip() for cell in (*row, "")[:6])
    shares_memory = total in NOT_TOLD
    if not name or name.startswith("[") or not (total.isdigit() or shares_memory):
        return None  # "[Unknown Error]" in place of a name: the GPU is lost
    return Gpu(
        index=int(index),
        name=name,
        compute_capability=capability if capability.replace(".", "", 1).isdigit() else None,
        memory_total_bytes=None if shares_memory else int(total) * MIB,
        memory_free_bytes=int(free) * MIB if free.isdigit() else None,
    )
