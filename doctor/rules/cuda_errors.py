"""CUDA or torch cannot use a GPU and no other rule knows why: CUDA's own words, and what they mean."""

from __future__ import annotations

from collections.abc import Iterator

from doctor.driver_cures import on_host
from doctor.facts import Facts
from doctor.findings import Evidence, Fix
from doctor.matrix.machine import Machine
from doctor.rules import Hit, rule
from doctor.rules.driver import SEE
from doctor.rules.gpu import hidden_by_environment, mig_visibility
from doctor.rules.libcuda import first_gpu
from doctor.rules.roots import root_of
from doctor.rules.witnesses import (
    DRIVER_TOO_OLD,
    NO_DEVICE,
    Witnesses,
    first_line,
)

# By the number of an error: what it means where nothing else was seen, and the way on.
MEANINGS = {
    DRIVER_TOO_OLD: (
        "the libcuda that it loads offers less CUDA than the driver",
        "Look for another libcuda.so.1 on LD_LIBRARY_PATH and in the image, and remove it",
    ),
    NO_DEVICE: (
        "libcuda counts no device",
        "Compare with a new shell outside of containers and jobs: nvidia-smi -L",
    ),
    805: (
        "the MPS server cannot be reached",
        "Unset CUDA_MPS_PIPE_DIRECTORY, or start the MPS control daemon",
    ),
    806: ("the MPS server gives an error", "Restart the MPS control daemon"),
    807: ("the MPS server is not ready", "Restart the MPS control daemon"),
    808: ("the MPS server takes no more clients", "End a client of the MPS server, or train outside of it"),
}


NO_LIBCUDA = "there is no libcuda.so.1"
INSTALL_LIBCUDA = (
    "Install CUDA's part of the driver (Ubuntu: libnvidia-compute of the driver's branch, Debian: libcuda1)"
)
PASS_LIBCUDA_IN = "Start the container with -e NVIDIA_DRIVER_CAPABILITIES=compute,utility"


def known_of(seen: Witnesses) -> tuple[str, str] | None:
    """What an error means, and the way on; None where that is not known."""
    if seen.facts.driver_signs and seen.libcuda is None and seen.cuda_code is None:
        return NO_LIBCUDA, PASS_LIBCUDA_IN if seen.container else INSTALL_LIBCUDA
    return MEANINGS.get(seen.cuda_code or 0)


def meaning_of(seen: Witnesses) -> str:
    """What an error means, as the end of a title; "" where that is not known."""
    known = known_of(seen)
    return f": {known[0]}" if known else ""


def cures_of(facts: Facts, seen: Witnesses) -> tuple[Fix, ...]:
    """The way on from an error."""
    known = known_of(seen)
    look = on_host(facts, "See what the kernel says of the GPU", (("sudo", "dmesg"),))
    return (Fix(known[1], scope="system"), look) if known else (look,)


@rule("driver/cuda-start-failed", "error", needs=("cuda_driver", "gpus"), breaks=SEE)
def cuda_start_failed(facts: Facts) -> Iterator[Hit]:
    """NVML shows the GPU and the driver's own libcuda does not start on it

    Why: libcuda was asked by itself, without torch, and refused, for none of the reasons that have a page of
    their own. Whatever uses CUDA meets the same. NVML asks less of a GPU than CUDA does.

    Fix: the kernel's log says what failed; a reset of the GPU or a reboot ends a bad state.
    """
    if root_of(facts) != "driver/cuda-start-failed":
        return
    seen = Witnesses(facts)
    yield Hit(
        title=f"CUDA does not start on {first_gpu(facts)}, which NVML shows{meaning_of(seen)}",
        evidence=(
            Evidence("CUDA", seen.cuda_words, "success"),
            Evidence("NVML", f"{len(facts.gpus or ())} GPUs"),
        ),
        fixes=cures_of(facts, seen),
    )


@rule(
    "torch/cuda-not-usable",
    "error",
    needs=("torch_runtime", "gpus"),
    breaks=SEE,
    symptoms=("Unexpected error from cudaGetDeviceCount",),
)
def cuda_not_usable(facts: Facts) -> Iterator[Hit]:
    """The driver shows a GPU and torch cannot use it

    Why: torch is a CUDA build and its first call to CUDA failed, for none of the reasons that have a page of
    their own (errors 34, 802, 803, 804, 999, hidden or divided GPUs, an old driver). The words of that
    failure are the evidence.

    Fix: see the evidence.
    """
    runtime, seen = facts.torch_runtime, Witnesses(facts)
    assert runtime and facts.gpus is not None
    fails = bool(runtime.cuda_version) and (runtime.cuda_available is False or bool(runtime.cuda_error))
    if not facts.gpus or not fails or is_explained(facts):
        return
    said = first_line(runtime.cuda_error) or "is_available() is False"
    libcuda = facts.cuda_driver
    own = Evidence("libcuda", f"starts by itself, with {len(libcuda.devices if libcuda else ())} devices")
    yield Hit(
        title=f"torch {runtime.version} cannot use the GPU that the driver shows{meaning_of(seen)}",
        evidence=(
            Evidence("torch", said, f"{len(facts.gpus)} usable devices"),
            *((own,) if libcuda and libcuda.devices else ()),
        ),
        fixes=cures_of(facts, seen),
    )


def is_explained(facts: Facts) -> bool:
    """Does another rule say why torch has no GPU?"""
    cuda = facts.torch_runtime.cuda_version if facts.torch_runtime else None
    too_old = facts.driver is not None and cuda is not None and not Machine.of(facts).driver_runs(cuda)
    hidden = facts.environment is not None and any(
        hit.severity != "warning" for hit in hidden_by_environment(facts)
    )
    return (
        bool(root_of(facts))
        or too_old
        or hidden
        or any(hit.severity == "error" for hit in mig_visibility(facts))
    )
