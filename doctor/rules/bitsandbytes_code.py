"""GPUs against the bitsandbytes library that is taken beside this torch: has it code for them?"""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.cures import install, torch_for_machine
from doctor.facts import Facts
from doctor.findings import Confidence, Evidence, Fix
from doctor.matrix.bitsandbytes_builds import (
    goes_with,
    is_below_all,
    library_fit,
    library_for,
    release_that_goes,
)
from doctor.matrix.choosing import torch_for
from doctor.matrix.devices import Device, kinds, visible_devices
from doctor.matrix.gpu_code import JETSON, Fit, fit, numbers, sm
from doctor.matrix.machine import Machine
from doctor.matrix.torch_builds import cuda_of
from doctor.rules import Hit, rule
from doctor.rules.builds import NO_CODE, has_trained, torch_build
from doctor.rules.cures_by_words import newer_bitsandbytes
from doctor.versions import comparable

L4T_UNITED = (38,)  # JetPack 7: from here on a Jetson runs wheels for servers
CUDA_LIBRARY = re.compile(r"libbitsandbytes_cuda(\d{3})")


@rule(
    "bitsandbytes/gpu-arch-missing",
    "error",
    needs=("bitsandbytes", "torch", "gpus"),
    breaks=("load-4bit", "qlora-step"),
    symptoms=("no kernel image is available for execution", "Error named symbol not found at line"),
    cure=newer_bitsandbytes,
)
def library_arch_missing(facts: Facts) -> Iterator[Hit]:
    """The bitsandbytes library that goes with this torch has no kernels for this GPU

    Why: each library is built for one CUDA and a list of GPUs. Releases before 0.45.3 have nothing for
    Blackwell (RTX 50, B200); libraries for CUDA 13 have nothing below compute capability 7.5; Maxwell left
    the wheels in 0.48, and Kepler was never in them. Quantised layers fail at their first kernel, or with a
    "named symbol" that is not found, while torch itself runs.

    Fix: the nearest release whose library has the code, else a torch for a CUDA whose library has it.

    References: https://github.com/bitsandbytes-foundation/bitsandbytes/pull/1755
    https://huggingface.co/docs/bitsandbytes/main/en/installation
    """
    version = facts.bitsandbytes.version if facts.bitsandbytes else ""
    yield from library_hits(facts, version)


def library_hits(facts: Facts, version: str) -> Iterator[Hit]:
    """One hit for each visible GPU that torch serves and the library of this release does not."""
    library, torch = loaded_library(facts, version), torch_build(facts)
    if not library or torch is None:
        return
    for device in kinds(visible_devices(facts)):
        how, confidence, built_for = library_verdict(facts, version, library, device)
        is_told = torch.fit(device) in NO_CODE or device.capability in JETSON
        if how in NO_CODE and not is_told and not has_trained(device, facts, "qlora-step"):
            yield Hit(
                title=f"libbitsandbytes_cuda{library} of bitsandbytes {version} has no kernels"
                f" for {device.name}, {sm(device.capability)}"
                + (", and no release has" if is_below_all(device.capability) else ""),
                confidence=confidence,
                evidence=(
                    Evidence("bitsandbytes", version, f"a library with code for {sm(device.capability)}"),
                    Evidence("gpu", sm(device.capability), built_for),
                ),
                fixes=library_cures(facts, version),
            )


def loaded_library(facts: Facts, version: str) -> str:
    """The CUDA of the library that is taken here ("126"): as it was loaded, as predicted, or by the table."""
    runtime, linkage, build = facts.bitsandbytes_runtime, facts.linkage, facts.bitsandbytes
    names = [
        runtime.library if runtime else "",
        linkage.choice.library if linkage and linkage.choice and linkage.choice.is_there else "",
        build.expected if build else "",
    ]
    found = next((match for name in names if name and (match := CUDA_LIBRARY.match(name))), None)
    if found or build is not None or facts.torch is None:
        return found[1] if found else ""
    variant = facts.torch.variant
    return library_for(version, variant, Machine.of(facts)) if cuda_of(variant) else ""


def library_verdict(facts: Facts, version: str, library: str, device: Device) -> tuple[Fit, Confidence, str]:
    """How the library suits a GPU, how sure that is, and what it was built for where that was read."""
    read = facts.linkage.library_of("bitsandbytes") if facts.linkage else None
    if read and read.architectures and f"cuda{library}" in read.path:
        how = fit(read.architectures, device.capability, cuda_of(f"cu{library}"))
        return how, "confirmed", f"one of {' '.join(read.architectures)}"
    return library_fit(version, library, device.capability, Machine.of(facts)), "likely", ""


def library_cures(facts: Facts, version: str) -> tuple[Fix, ...]:
    """Another bitsandbytes beside this torch, else another torch beside this bitsandbytes."""
    assert facts.torch
    machine, variant = Machine.of(facts), facts.torch.variant
    release = release_that_goes(version, variant, machine) if cuda_of(variant) else ""
    if not release:
        choice = torch_for(facts)
        helps = choice is not None and goes_with(version, choice.variant, machine)
        return torch_for_machine(facts) if helps else ()
    have, found = comparable(version), comparable(release)
    newer = bool(have and found and found > have)
    what = f"bitsandbytes>={release}" if newer else f"bitsandbytes=={release}"
    title = f"Upgrade bitsandbytes to {release} or newer" if newer else f"Go back to bitsandbytes {release}"
    return (install(facts, title, what),)


@rule(
    "bitsandbytes/jetson-wheel-not-l4t",
    "error",
    needs=("bitsandbytes", "driver_signs"),
    breaks=("load-4bit", "qlora-step"),
)
def jetson_wheel_not_l4t(facts: Facts) -> Iterator[Hit]:
    """A bitsandbytes for ARM servers is installed on a Jetson

    Why: the aarch64 wheels of PyPI are made for servers (SBSA), with a library for each CUDA. Jetson up to
    JetPack 6 runs the CUDA of L4T: the library loads, and the first kernel ends in "named symbol not found".
    One that was built for the board holds a library for its CUDA alone.

    Fix: install NVIDIA's wheel for this JetPack, or build it on the board.

    References: https://github.com/bitsandbytes-foundation/bitsandbytes/issues/1930
    https://github.com/bitsandbytes-foundation/bitsandbytes/pull/1941
    """
    assert facts.bitsandbytes and facts.driver_signs
    l4t, build = facts.driver_signs.jetson, facts.bitsandbytes
    shipped = {match[1] for name in build.libraries if (match := CUDA_LIBRARY.match(name))}
    run = facts.trial.run_of("qlora-step") if facts.trial and facts.trial.device == "cuda:0" else None
    has_passed = run is not None and run.outcome == "ok"
    if l4t and numbers(l4t) < L4T_UNITED and len(shipped) > 1 and not has_passed:
        yield Hit(
            title=f"bitsandbytes {build.version} is a wheel for ARM servers, and this is a Jetson, L4T {l4t}",
            confidence="likely",
            evidence=(
                Evidence(
                    "bitsandbytes", f"libraries for CUDA {', '.join(sorted(shipped))}", "one, for that of L4T"
                ),
                Evidence("system", f"L4T {l4t}"),
            ),
            fixes=(Fix("Install it from NVIDIA's wheels for this JetPack: https://pypi.jetson-ai-lab.io"),),
        )
