"""Messages of a driver that is there and does not serve, or serves another."""

from __future__ import annotations

from doctor.triage.case import Case
from doctor.triage.suspects import Ambiguous, Suspect
from doctor.triage.suspects.telling import (
    all_of,
    always,
    any_of,
    certainly,
    driver_is_too_old,
    has_broken_gpu,
    has_driver,
    in_container,
    is_consumer_gpu,
    is_divided,
    mentions,
    on_wsl,
    one_of,
    says,
    untold,
    without,
)

MISMATCHED = certainly(says(r"re:[Dd]river/library version mismatch"))
BLACKWELL = r"re:\bRTX (?:PRO )?50[5-9]0|\bRTX PRO [2-6]\d00|\bB[23]00\b"
EXCLUSIVE = one_of(
    r"\bE\. ?Process\b",
    r"[Ee]xclusive[_ -]?[Pp]rocess",
    r"EXCLUSIVE_PROCESS",
    r"\bProhibited\b",
    r"compute mode",
)
SMI = ("nvidia-smi",)


def is_old_in_container(case: Case) -> bool | None:
    """Was a library of the image meant to lift a driver that is too old? On data-centre GPUs alone it may."""
    too_old, consumer = driver_is_too_old(case), is_consumer_gpu(case)
    if consumer:
        return False
    return True if too_old or in_container(case) else too_old


STARTING = (
    Ambiguous(
        one_of(
            r"forward compatibility was attempted on non supported HW",
            r"COMPAT_NOT_SUPPORTED_ON_DEVICE",
            r"\bError 804\b",
        ),
        (
            Suspect("driver/library-version-mismatch", MISMATCHED),
            Suspect(
                "driver/libcuda-mismatch", certainly(is_consumer_gpu), "the GPU is none of a data centre"
            ),
            Suspect(
                "driver/too-old-for-cuda-runtime",
                certainly(is_old_in_container),
                "an image is newer than the host's driver",
            ),
            Suspect("driver/libcuda-mismatch", untold),
            Suspect("driver/too-old-for-cuda-runtime", untold),
        ),
        "Which GPU and driver are on the host, and which CUDA does the image bring?",
        SMI,
    ),
    Ambiguous(
        one_of(
            r"unsupported display driver / cuda driver combination",
            r"SYSTEM_DRIVER_MISMATCH",
            r"\bError 803\b",
        ),
        (
            Suspect("driver/library-version-mismatch", MISMATCHED, "NVML says so too"),
            Suspect("driver/libcuda-mismatch", always),
        ),
    ),
    Ambiguous(
        one_of(r"CUDA unknown error", r"CUDA_ERROR_UNKNOWN\b", r"CUDA error: unknown error", r"Error 999\b"),
        (
            Suspect(
                "gpu/hardware-fault", certainly(has_broken_gpu), "the kernel's log has an Xid of the GPU"
            ),
            Suspect("driver/library-version-mismatch", MISMATCHED, "NVML says so too"),
            Suspect(
                "driver/device-nodes-not-usable",
                certainly(says("Failed to initialize NVML: Unknown Error")),
                "NVML has lost its right to the device files too",
            ),
            Suspect("driver/uvm-broken", always),
        ),
    ),
    Ambiguous(
        one_of(
            r"CUDA-capable device\(s\) is/are busy or unavailable",
            r"CUDA-capable devices are busy or unavailable",
        ),
        (
            Suspect("gpu/exclusive-compute-mode", certainly(says(EXCLUSIVE)), "a compute mode is spoken of"),
            Suspect(
                "gpu/hardware-fault", certainly(has_broken_gpu), "the kernel's log has an Xid of the GPU"
            ),
            Suspect("gpu/held-by-other-process", always),
        ),
    ),
    Ambiguous(
        r"re:couldn.{0,3}t communicate with the NVIDIA driver",
        (
            Suspect(
                "driver/linux-driver-in-wsl", certainly(on_wsl), "it is WSL, which uses the driver of Windows"
            ),
            Suspect(
                "driver/module-not-loaded",
                certainly(
                    says("nvml error: driver not loaded", "Key was rejected", "could not insert 'nvidia")
                ),
                "its kernel module is refused",
            ),
            Suspect("driver/not-installed", untold),
            Suspect("driver/module-not-loaded", untold),
        ),
        "What does sudo modprobe nvidia say, and was the kernel updated?",
        ("sudo", "modprobe", "nvidia"),
    ),
    Ambiguous(
        "No devices were found",
        (
            Suspect(
                "driver/gpu-not-supported",
                certainly(any_of(says("NVIDIA open", "open kernel module", "legacy", BLACKWELL))),
                "this GPU is driven by one kind of kernel module alone",
            ),
            Suspect(
                "gpu/hardware-fault", certainly(has_broken_gpu), "the kernel's log has an Xid of the GPU"
            ),
            Suspect("gpu/not-started", untold),
            Suspect("driver/gpu-not-supported", untold),
        ),
        "Which step of the GPU's start failed, by the kernel's log?",
        ("sudo", "dmesg"),
    ),
    Ambiguous(
        r"re:Failed to initialize NVML: (?:Unknown Error|Insufficient Permissions)",
        (Suspect("driver/device-nodes-not-usable", always),),
    ),
    Ambiguous(
        one_of(
            r"libcuda\.so(?:\.1)?: cannot open shared object file",
            r"libcuda\.so(?:\.1)? (?:not|cannot) (?:be )?found",
        ),
        (
            Suspect(
                "triton/libcuda-not-linkable",
                certainly(says("libcuda.so cannot found", "cannot find -lcuda")),
                "triton looks for it to link to",
            ),
            Suspect("driver/libcuda-not-on-path", certainly(on_wsl), "it is WSL, where libcuda lies apart"),
            Suspect(
                "gpu/none-visible-in-container",
                certainly(all_of(in_container, without(any_of(mentions("nvidia-smi"), has_driver)))),
                "it runs in a container",
            ),
            Suspect(
                "driver/libcuda-not-on-path", any_of(mentions("nvidia-smi"), has_driver), "a driver answers"
            ),
            Suspect("gpu/none-visible-in-container", in_container),
            Suspect("driver/not-installed", untold),
        ),
        "Does nvidia-smi answer in this place, and where is libcuda?",
        ("sh", "-c", "nvidia-smi -L; ldconfig -p | grep libcuda"),
    ),
    Ambiguous(
        one_of(
            r"CUDA driver initialization failed, you might not have a CUDA gpu", r"CUDA_ERROR_NOT_INITIALIZED"
        ),
        (
            Suspect("gpu/mig-visibility", certainly(is_divided), "the GPU is divided by MIG"),
            Suspect("driver/library-version-mismatch", MISMATCHED, "NVML says so too"),
            Suspect("driver/memory-sharing-fails", untold),
        ),
    ),
    # torch puts these into the one sentence "Unexpected error from cudaGetDeviceCount()".
    Ambiguous(
        one_of(
            r"system not yet initialized",
            r"CUDA_ERROR_SYSTEM_NOT_READY",
            r"cudaErrorSystemNotReady",
            r"\b[Ee]rror:? 802\b",
            r"\b802 system",
        ),
        (Suspect("driver/fabric-manager-not-running", always),),
    ),
    Ambiguous("CUDA driver is a stub library", (Suspect("driver/stub-library", always),)),
    Ambiguous(
        "API call is not supported in the installed CUDA driver",
        (Suspect("driver/too-old-for-cuda-runtime", always),),
    ),
    Ambiguous(
        r"re:OS call failed or operation not supported on this OS|CUDA_ERROR_OPERATING_SYSTEM",
        (Suspect("driver/cuda-start-failed", always),),
    ),
)
