"""Messages of what programs share: the memory of a GPU, shared memory, the way between GPUs."""

from __future__ import annotations

import re

from doctor.triage.case import Case
from doctor.triage.suspects import Ambiguous, Suspect
from doctor.triage.suspects.telling import (
    always,
    any_of,
    certainly,
    in_container,
    is_consumer_gpu,
    one_of,
    says,
    untold,
)

SIZE = r"(\d{1,5}(?:\.\d{1,2})?) (bytes|[KMG]iB)"
# "23.69 GiB total capacity; 1.20 GiB already allocated; 13.00 MiB free", or since torch 2.1 "a total capacity
# of 23.69 GiB of which 13.81 MiB is free ... Of the allocated memory 1.20 GiB is allocated by PyTorch".
TOTAL = (re.compile(rf"{SIZE} total capacity"), re.compile(rf"total capaci?ty of {SIZE}"))
OWN = (re.compile(rf"{SIZE} already allocated"), re.compile(rf"Of the allocated memory {SIZE}"))
FREE = (re.compile(rf"{SIZE} (?:is )?free"),)
UNITS = {"bytes": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
P2P_GPUS = says(r"re:\bRTX ?(?:40|50)[5-9]0|\b[45]0[5-9]0\b")
SHM_WORDS = says("/dev/shm", "shared memory", "ncclShmOpen", "--shm-size", "shm_open", "shmutils")


def bytes_in(patterns: tuple[re.Pattern[str], ...], text: str) -> float | None:
    """The first size that one of the patterns finds, in bytes."""
    found = next((match for pattern in patterns if (match := pattern.search(text))), None)
    return float(found[1]) * UNITS[found[2]] if found else None


def others_hold_memory(case: Case) -> bool | None:
    """Is most of the GPU's memory gone, and little of it in this program's hands?"""
    total, own, free = (bytes_in(patterns, case.text) for patterns in (TOTAL, OWN, FREE))
    if total is None or own is None or free is None:
        return None
    return own + free < total / 2


def lacks_peers(case: Case) -> bool | None:
    """Are the GPUs of a kind that has no peer-to-peer, or does NCCL complain of it?"""
    return any_of(P2P_GPUS, says("peer access", "P2P"))(case) or is_consumer_gpu(case)


SHARING = (
    Ambiguous(
        one_of(
            r"(?:CUDA|HIP) out of memory",
            r"OutOfMemoryError",
            r"Tried to allocate \d[\d.]{0,8} [KMG]iB",
        ),
        (
            Suspect(
                "gpu/held-by-other-process",
                certainly(others_hold_memory),
                "most of the memory is gone, and little of it is this program's",
            ),
            Suspect(
                "gpu/held-by-other-process",
                certainly(says(r"re:\bPID\s{1,8}GPU Memory\b", r"re:(?i:zombie|defunct) process")),
                "processes are listed that hold it",
            ),
            Suspect("workload/does-not-fit", always),
        ),
    ),
    # torch asks NVML for the free memory once an allocation has failed, and NVML fails too.
    Ambiguous(
        r"re:NVML_SUCCESS == [^\n]{0,80}INTERNAL ASSERT FAILED",
        (
            Suspect(
                "driver/library-version-mismatch",
                certainly(says(r"re:[Dd]river/library version mismatch")),
                "NVML says so itself",
            ),
            Suspect("workload/does-not-fit", untold),
            Suspect("driver/device-nodes-not-usable", untold),
        ),
        "Does nvidia-smi work in this place?",
        ("nvidia-smi",),
    ),
    # Of CUDA itself and not of torch's allocator: mostly at the start, when the memory is gone already.
    Ambiguous(
        r"re:CUDA error: out of memory|CUDA_ERROR_OUT_OF_MEMORY",
        (
            Suspect("gpu/held-by-other-process", certainly(others_hold_memory), "most of the memory is gone"),
            Suspect("gpu/held-by-other-process", untold),
            Suspect("workload/does-not-fit", untold),
        ),
        "How much memory is used before the script starts, and by whom?",
        ("nvidia-smi",),
    ),
    Ambiguous(
        r"re:No space left on device|Disk quota exceeded",
        (
            Suspect(
                "system/shared-memory-too-small",
                certainly(says("/dev/shm", "shm_open")),
                "it is /dev/shm that is full",
            ),
            Suspect("script/disk-full", always),
        ),
    ),
    Ambiguous(
        r"re:unhandled system error|ncclSystemError",
        (
            Suspect("system/shared-memory-too-small", certainly(SHM_WORDS), "shared memory is spoken of"),
            Suspect(
                "system/memory-lock-limited",
                certainly(says(r"re:ibv_\w{1,30} failed")),
                "locked memory is spoken of",
            ),
            Suspect("gpu/peer-to-peer-unsupported", certainly(P2P_GPUS), "the GPUs have no peer-to-peer"),
            Suspect("system/shared-memory-too-small", in_container),
            Suspect("gpu/peer-to-peer-unsupported", is_consumer_gpu),
        ),
        "What does NCCL itself say, with NCCL_DEBUG=INFO?",
        ("export", "NCCL_DEBUG=INFO"),
    ),
    Ambiguous(
        one_of(
            r"unhandled cuda error",
            r"ncclUnhandledCudaError",
            r"Watchdog caught collective operation timeout",
        ),
        (
            Suspect(
                "torch/gpu-arch-missing", certainly(says("no kernel image")), "torch has no code for the GPU"
            ),
            Suspect("workload/does-not-fit", certainly(says("out of memory")), "memory runs out as well"),
            Suspect("system/shared-memory-too-small", certainly(SHM_WORDS), "shared memory is spoken of"),
            Suspect(
                "gpu/peer-to-peer-unsupported",
                lacks_peers,
                "the GPUs have no peer-to-peer",
            ),
        ),
        "What does NCCL itself say, with NCCL_DEBUG=INFO?",
        ("export", "NCCL_DEBUG=INFO"),
    ),
)
