"""Environments on machines with NVIDIA GPUs that are made of stub libraries (``tests/stubs``).

Quick checks stand on a skeleton of the stack. What libcuda says is asked in a full check alone, which has
nothing to try where nothing is installed.
"""

from __future__ import annotations

import stubs

from .environment import FULL, QUICK, QUICK_HEALTHY, Expected, Target, broken, environment, impaired
from .lab import Lab
from .stand_ins import lay_wheels

CU130, CU121, CU124 = ("2.13.0+cu130", "13.0"), ("2.5.1+cu121", "12.1"), ("2.6.0+cu124", "12.4")
# What goes with torch 2.13, and what went with torch 2.5 and 2.6.
PACKAGES = ("transformers", "accelerate", "peft", "trl", "datasets", "bitsandbytes")
RELEASES = dict(zip(PACKAGES, ("5.24.0", "1.15.0", "0.21.2", "1.16.0", "5.2.0", "0.50.2"), strict=True))
OLDER = dict(zip(PACKAGES, ("4.49.0", "1.4.0", "0.14.0", "0.15.2", "3.3.2", "0.45.5"), strict=True))
NOT_INSTALLED = "python/stack-missing"


def beside(lab: Lab, torch: tuple[str, str], variables: dict[str, str]) -> Target:
    """A skeleton of the stack around this build of torch, on a machine of stubs."""
    of_its_time = RELEASES if torch is CU130 else OLDER
    return Target(lab.skeleton(*torch, of_its_time).python, variables=variables)


def with_nothing(lab: Lab, variables: dict[str, str]) -> Target:
    """Nothing installed, on a machine of stubs."""
    return Target(lab.empty().python, variables=variables)


@environment(QUICK_HEALTHY)
def gpu_and_torch_that_fit(lab: Lab) -> Target:
    """Nothing is at fault: an RTX 4090, its driver, and torch for a CUDA that the driver offers"""
    return beside(lab, CU130, stubs.machine("rtx4090"))


# --- builds and GPUs


@environment(broken("torch/cpu-only-build", options=QUICK))
def rtx4090_and_cpu_torch(lab: Lab) -> Target:
    """An RTX 4090, and torch's CPU build"""
    return Target(lab.base().python, variables=stubs.machine("rtx4090"))


@environment(broken("torch/cpu-only-build", options=QUICK))
def torch_replaced_by_cpu_build(lab: Lab) -> Target:
    """An RTX 4090; a later install put torch's CPU build in the CUDA build's place, whose wheels remain"""
    venv = lab.copy()
    lay_wheels(venv)
    venv.register("triton", "3.7.1")
    return Target(venv.python, variables=stubs.machine("rtx4090"))


@environment(broken("torch/gpu-arch-missing", "bitsandbytes/gpu-arch-missing", options=QUICK))
def v100_and_cu130(lab: Lab) -> Target:
    """A V100, for which CUDA 13 compiles no more, and torch for CUDA 13.0"""
    return beside(lab, CU130, stubs.machine("v100", driver="580.65.06"))


@environment(broken("torch/gpu-arch-missing", options=QUICK))
def rtx5090_and_cu124(lab: Lab) -> Target:
    """An RTX 5090, and a torch for CUDA 12.4 that was built before it"""
    return beside(lab, CU124, stubs.machine("rtx5090"))


@environment(broken("driver/too-old-for-cuda-runtime", options=QUICK))
def driver_470_and_cu121(lab: Lab) -> Target:
    """A T4 under driver 470, and torch for CUDA 12.1"""
    return beside(lab, CU121, stubs.machine("t4", driver="470.82.01"))


@environment(broken("driver/too-old-for-cuda-runtime", options=QUICK))
def driver_470_and_cu130(lab: Lab) -> Target:
    """A T4 under driver 470, and torch for CUDA 13.0"""
    return beside(lab, CU130, stubs.machine("t4", driver="470.82.01"))


@environment(broken("gpu/hidden-by-environment", options=QUICK))
def gpu_hidden(lab: Lab) -> Target:
    """CUDA_VISIBLE_DEVICES=-1 hides the GPU"""
    return beside(lab, CU130, {**stubs.machine("rtx4090"), "CUDA_VISIBLE_DEVICES": "-1"})


# --- libnvidia-ml.so.1


@environment(impaired("driver/not-answering"))
def nvml_absent(lab: Lab) -> Target:
    """There is no libnvidia-ml.so.1, and nvidia-smi says so"""
    return beside(lab, CU130, stubs.machine("rtx4090", library="absent"))


@environment(impaired("driver/not-answering"))
def nvml_empty(lab: Lab) -> Target:
    """libnvidia-ml.so.1 has no bytes"""
    return beside(lab, CU130, stubs.machine("rtx4090", library="empty", smi=False))


@environment(broken("driver/crashes", options=QUICK))
def nvml_cut(lab: Lab) -> Target:
    """libnvidia-ml.so.1 is cut short: loading it is SIGBUS"""
    return beside(lab, CU130, stubs.machine("rtx4090", library="truncated", smi=False))


@environment(impaired("driver/not-answering"))
def nvml_is_text(lab: Lab) -> Target:
    """libnvidia-ml.so.1 is a text file"""
    return beside(lab, CU130, stubs.machine("rtx4090", library="text", smi=False))


@environment(impaired("driver/not-answering"))
def nvml_of_another_machine(lab: Lab) -> Target:
    """libnvidia-ml.so.1 is for ARM"""
    return beside(lab, CU130, stubs.machine("rtx4090", library="foreign", smi=False))


@environment(impaired("driver/not-answering"))
def nvml_without_symbols(lab: Lab) -> Target:
    """libnvidia-ml.so.1 has none of its functions"""
    return beside(lab, CU130, stubs.machine("rtx4090", library="symbolless", smi=False))


@environment(QUICK_HEALTHY)
def nvml_old(lab: Lab) -> Target:
    """libnvidia-ml.so.1 knows only the first form of each function"""
    return beside(lab, CU130, stubs.machine("rtx4090", library="old"))


def answering(lab: Lab, code: str, smi: bool = False) -> Target:
    """NVML whose start gives this code, or ends in this way."""
    return beside(lab, CU130, stubs.machine("rtx4090", f"nvmlInit_v2={code}", smi=smi))


@environment(broken("driver/library-version-mismatch", options=QUICK))
def nvml_version_mismatch(lab: Lab) -> Target:
    """nvmlInit gives 18: the driver was upgraded and its kernel module is still the old one"""
    return answering(lab, "18")


@environment(impaired("driver/not-answering"))
def nvml_driver_not_loaded(lab: Lab) -> Target:
    """nvmlInit gives 9: the kernel module is not loaded"""
    return answering(lab, "9")


@environment(broken("driver/device-nodes-not-usable", options=QUICK))
def nvml_no_permission(lab: Lab) -> Target:
    """nvmlInit gives 4: this user may not use the device files"""
    return answering(lab, "4")


@environment(impaired("driver/not-answering"))
def nvml_unknown_error(lab: Lab) -> Target:
    """nvmlInit gives 999, an unknown error"""
    return answering(lab, "999")


@environment(broken("driver/hangs", options=QUICK))
def nvml_hangs(lab: Lab) -> Target:
    """nvmlInit never returns"""
    return answering(lab, "hang")


@environment(broken("driver/crashes", options=QUICK))
def nvml_segfaults(lab: Lab) -> Target:
    """nvmlInit is a segmentation fault"""
    return answering(lab, "segv")


@environment(broken("driver/crashes", options=QUICK))
def nvml_aborts(lab: Lab) -> Target:
    """nvmlInit aborts its process"""
    return answering(lab, "abort")


@environment(broken("gpu/hardware-fault", options=QUICK))
def gpu_lost(lab: Lab) -> Target:
    """The second of two GPUs has fallen off the bus"""
    return beside(lab, CU130, stubs.machine("rtx4090_x2", "nvmlDevice*@1=15", driver="580.65.06"))


# --- libcuda.so.1


def starting(lab: Lab, code: str, profile: str = "rtx4090") -> Target:
    """libcuda whose start gives this code, or ends in this way, and nothing installed."""
    return with_nothing(lab, stubs.machine(profile, f"cuInit={code}"))


def cuda_fault(id: str) -> Expected:
    """A full check, in an environment that holds nothing."""
    return broken(id, NOT_INSTALLED, options=FULL)


@environment(cuda_fault("driver/fabric-manager-not-running"))
def cuda_802(lab: Lab) -> Target:
    """cuInit gives 802 on eight H100 with NVSwitch: fabric manager does not run"""
    return starting(lab, "802", "h100_x8")


@environment(cuda_fault("driver/libcuda-mismatch"))
def cuda_803(lab: Lab) -> Target:
    """cuInit gives 803: libcuda and the kernel module are of two drivers"""
    return starting(lab, "803")


@environment(cuda_fault("driver/libcuda-mismatch"))
def cuda_804(lab: Lab) -> Target:
    """cuInit gives 804: compatibility libraries beside a GPU for gaming"""
    return starting(lab, "804")


@environment(cuda_fault("driver/uvm-broken"))
def cuda_999(lab: Lab) -> Target:
    """cuInit gives 999, an unknown error"""
    return starting(lab, "999")


@environment(cuda_fault("driver/cuda-start-failed"))
def cuda_100(lab: Lab) -> Target:
    """cuInit gives 100: it sees no GPU, and NVML sees one"""
    return starting(lab, "100")


@environment(cuda_fault("gpu/held-by-other-process"))
def cuda_46(lab: Lab) -> Target:
    """cuInit gives 46: the GPU is busy or unavailable"""
    return starting(lab, "46")


@environment(cuda_fault("driver/stub-library"))
def cuda_34(lab: Lab) -> Target:
    """cuInit gives 34: libcuda is the stub of a toolkit"""
    return starting(lab, "34")


@environment(cuda_fault("driver/hangs"))
def cuda_hangs(lab: Lab) -> Target:
    """cuInit never returns"""
    return starting(lab, "hang")


@environment(cuda_fault("driver/crashes"))
def cuda_segfaults(lab: Lab) -> Target:
    """cuInit is a segmentation fault"""
    return starting(lab, "segv")
