"""What CUDA takes that no trace on ``meta`` can see, from ``compat_matrix/platform/memory.toml``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from doctor.matrix.platform import table
from doctor.versions import comparable

MIB = 1 << 20
THREADS = 2  # that multiply: the one of the user's code, and autograd's


class Kernels(NamedTuple):
    """What CUDA and its libraries take of a GPU of one compute capability."""

    context_bytes: int
    context_error_bytes: int  # to either side
    context_seen_on: (
        str  # "T4"; "" where no GPU of this compute capability was seen, and a usual figure stands in
    )
    workspace_bytes: int  # of cuBLAS, in each thread that multiplies
    lt_workspace_bytes: int  # of cuBLASLt, likewise
    expands_keys: bool  # the attention kernel wants a key for each query head


def facts(compute_capability: str) -> Kernels:
    """What is known of a GPU ("8.6"); of one that nothing tells of ("") what holds for most."""
    rows = table("memory")
    context = of_gpu(rows["context"], compute_capability)
    context_bytes = context["mib"] * MIB
    share = rows["context_error"]["seen" if context["gpu"] else "other"]
    order, flash = comparable(compute_capability), comparable(rows["flash_attention"]["compute_capability"])
    return Kernels(
        context_bytes=context_bytes,
        context_error_bytes=int(context_bytes * share),
        context_seen_on=context["gpu"],
        workspace_bytes=of_gpu(rows["cublas_workspace"], compute_capability)["kib"] << 10,
        lt_workspace_bytes=rows["cublaslt_workspace"]["kib"] << 10,
        expands_keys=order is not None and flash is not None and order < flash,
    )


def of_gpu(rows: Sequence[dict[str, Any]], compute_capability: str) -> dict[str, Any]:
    """The row of a compute capability, or the one for all others."""
    return next(row for row in rows if row["compute_capability"] in (compute_capability, ""))


def for_child(compute_capability: str) -> dict[str, Any]:
    """What the child that traces must know of the GPU."""
    known = facts(compute_capability)
    return {
        "workspace_bytes": known.workspace_bytes,
        "lt_workspace_bytes": known.lt_workspace_bytes,
        "threads": THREADS,
        "expands_keys": known.expands_keys,
    }
