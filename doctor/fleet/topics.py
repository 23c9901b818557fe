"""What is compared between nodes, in the order of its weight, and how grave a difference in it is.

Error: ranks of one job disagree about what they compute with or talk through. Warning: they may run, and
not alike. Note: it is seldom the cause of anything.
"""

from __future__ import annotations

import re
from functools import lru_cache

import msgspec

from doctor.findings import Severity
from doctor.stack import STACK

ABSENT = "none"
NOT_INSTALLED = "not installed"
NOT_SET = "not set"


class Topic(msgspec.Struct, frozen=True):
    """One thing that nodes have alike or not."""

    id: str  # "gpu.model"
    title: str
    severity: Severity
    field: str  # of Facts: where that was not seen, neither was this


_TOPICS = (
    Topic("gpu.lost", "GPUs that do not answer", "error", "driver_signs"),
    Topic("gpu.count", "number of GPUs", "error", "gpus"),
    Topic("gpu.model", "GPU model", "error", "gpus"),
    Topic("gpu.compute_capability", "compute capability", "error", "gpus"),
    Topic("driver.nvml_error", "NVML", "error", "driver_signs"),
    Topic("driver", "driver", "warning", "driver"),
    Topic("driver.kernel", "driver in the kernel", "warning", "driver_signs"),
    Topic("driver.fabric_manager", "fabric manager", "error", "driver_signs"),
    Topic("torch", "torch", "error", "torch"),
    Topic("torch.cuda", "torch's CUDA", "error", "torch"),
    Topic("machine.arch", "processor architecture", "error", "system"),
    Topic("machine.os", "operating system", "error", "system"),
    Topic("python", "Python", "warning", "interpreter"),
    Topic("gpu.memory_errors", "GPU memory errors", "warning", "gpus"),
    Topic("gpu.xid", "Xid errors in the kernel's log", "warning", "driver_signs"),
    Topic("gpu.memory", "GPU memory", "warning", "gpus"),
    Topic("gpu.nvlinks", "active NVLinks", "warning", "gpus"),
    Topic("gpu.pcie_width", "PCIe lanes", "warning", "gpus"),
    Topic("gpu.mig", "MIG mode", "warning", "gpus"),
    Topic("gpu.ecc", "ECC", "warning", "gpus"),
    Topic("gpu.compute_mode", "compute mode", "warning", "gpus"),
    Topic("driver.cuda", "driver's CUDA", "warning", "driver"),
    Topic("network.rdma", "RDMA devices", "warning", "compiling"),
    Topic("bitsandbytes.library", "library that bitsandbytes selects", "warning", "linkage"),
    Topic("files.altered", "packages with altered files", "warning", "files"),
    Topic("machine.libc", "C library", "warning", "system"),
    Topic("machine.container", "container", "warning", "system"),
    Topic("limit.memory_lock", "limit of locked memory", "warning", "compiling"),
    Topic("machine.shared_memory", "/dev/shm", "warning", "system"),
    Topic("driver.flavor", "kernel module", "note", "driver_signs"),
    Topic("limit.open_files", "limit of open files", "note", "compiling"),
    Topic("machine.memory", "system memory", "note", "system"),
    Topic("machine.cpu", "processor", "note", "system"),
    Topic("machine.cpu_count", "number of CPUs", "note", "system"),
    Topic("machine.distribution", "distribution", "note", "system"),
    Topic("machine.kernel", "kernel", "note", "system"),
    Topic("python.kind", "kind of environment", "note", "interpreter"),
    Topic("python.executable", "interpreter's path", "note", "interpreter"),
    Topic("trial.device", "device of the smoke test", "error", "trial"),
)
FIXED = {topic.id: topic for topic in _TOPICS}
_WEIGHT = {topic.id: weight for weight, topic in enumerate(_TOPICS)}

# Of those that a run is steered by, whoever reads them; the rest of the allow-list is told as a note.
_STEERING = re.compile(
    r"(?:NCCL|BNB|CUDA|NVIDIA|PYTORCH|TORCH|HIP|ROCR|HSA|LD)_\w+|PYTHONPATH|PYTHONHOME|OMP_NUM_THREADS"
)
# They differ from node to node, or from job to job, by their nature.
_OF_ONE_NODE = re.compile(
    r"SLURM_JOB_ID|SLURM_(?:JOB|STEP)_GPUS|TMPDIR|TEMP|TMP|CUDA_MPS_PIPE_DIRECTORY|\w*_CACHE(?:_DIR|_PATH)?"
)
_LIBRARY = re.compile(
    r"lib(?:cuda|cudart|cublas|cublasLt|cudnn|nccl|nvrtc|cusparse|cusolver|nvJitLink|stdc\+\+|gomp|hsa-runtime64"
    r"|amdhip64)\.so(?:\.\d+)*"
)
_TIED = re.compile(r"torch|nvidia-nccl-cu\d+|rccl")  # they must be one release on all ranks


def is_compared_variable(name: str) -> bool:
    """Is a variable expected to be the same on all nodes?"""
    return not _OF_ONE_NODE.fullmatch(name)


def is_compared_library(name: str) -> bool:
    """Is a shared object one that ranks must load alike?"""
    return _LIBRARY.fullmatch(name) is not None


@lru_cache(maxsize=1 << 12)
def topic_of(id: str) -> Topic:
    """The topic of an id: of the list, or a package, a variable, a library."""
    if id in FIXED:
        return FIXED[id]
    family, _, name = id.partition(".")
    if family == "package":
        return Topic(id, name, "error" if _TIED.fullmatch(name) else "warning", "packages")
    if family == "env":
        return Topic(id, name, "warning" if _STEERING.fullmatch(name) else "note", "environment")
    return Topic(id, name, "warning", "linkage")


def absent(id: str) -> str | None:
    """What a node has that does not tell of a topic: None where that says nothing of it."""
    return {"package": NOT_INSTALLED, "env": NOT_SET}.get(id.partition(".")[0])


def weight(id: str) -> tuple[int, int, str]:
    """The order of topics of one severity, the most telling first."""
    name = id.partition(".")[2]
    if id.startswith("package."):
        place = STACK.index(name) if name in STACK else len(STACK)
        return len(_TOPICS) if name in STACK or _TIED.fullmatch(name) else len(_TOPICS) + 2, place, id
    if id.startswith("env."):
        return len(_TOPICS) + 1, 0, id
    return _WEIGHT.get(id, len(_TOPICS) + 1), 0, id


def severity(id: str, one: str, other: str) -> Severity:
    """How grave it is that a node has one value and the others have another."""
    topic = topic_of(id)
    if id in ("driver", "python"):
        parts = 1 if id == "driver" else 2
        return "error" if release(one)[:parts] != release(other)[:parts] else "warning"
    if id.startswith("package.") and id.partition(".")[2] in STACK:
        return "error" if release(one)[:2] != release(other)[:2] else "warning"
    return topic.severity


def release(version: str) -> tuple[str, ...]:
    """The numbers of a version as they stand; () of what is none."""
    match = re.match(r"\d+(?:\.\d+)*", version)
    return tuple(match[0].split(".")) if match else ()
