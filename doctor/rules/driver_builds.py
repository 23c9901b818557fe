"""The driver against what was built: does it run torch's CUDA, and translate its PTX?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from doctor.cures import newer_driver, torch_for_machine
from doctor.facts import Facts
from doctor.failures import all_failure_text
from doctor.findings import Evidence, Fix
from doctor.matrix.choosing import driver_of
from doctor.matrix.devices import Device, kinds, visible_devices
from doctor.matrix.drivers import (
    major_of,
    ptx_floor,
)
from doctor.matrix.gpu_code import numbers, sm
from doctor.matrix.gpus import is_data_center
from doctor.matrix.machine import Machine
from doctor.matrix.torch_builds import cuda_of
from doctor.rules import Hit, rule
from doctor.rules.bitsandbytes_code import library_verdict, loaded_library
from doctor.rules.builds import COMPUTE, NO_CODE, torch_build, version_of
from doctor.rules.cures_by_words import driver_or_torch, newer_driver_alone
from doctor.rules.witnesses import COMPAT_NOT_SUPPORTED, Witnesses

EVERYTHING = ("see-gpu", *COMPUTE, "multi-gpu")
UNTRANSLATED = "PTX was compiled with an unsupported toolchain"


@rule(
    "driver/too-old-for-cuda-runtime",
    "error",
    needs=("driver", "torch"),
    breaks=EVERYTHING,
    symptoms=(
        "The NVIDIA driver on your system is too old",
        r"re:driver on your system is too old \(found version (?P<driver_cuda_number>\d{4,6})\)",
        "CUDA driver version is insufficient for CUDA runtime version",
        "cudaErrorInsufficientDriver",
        "requirement error: unsatisfied condition: cuda",
        r"re:version (?P<driver>\d{3}[.\d]{3,12}) was detected and compatibility mode is UNAVAILABLE",
    ),
    cure=driver_or_torch,
    question="Which driver is it? nvidia-smi prints it in its first line.",
)
def too_old_for_cuda_runtime(facts: Facts) -> Iterator[Hit]:
    """The driver offers less CUDA than torch was built with

    Why: a driver runs builds of its own CUDA major and of older ones. CUDA 11 needs driver 450.80.02 or newer
    on Linux, CUDA 12 needs 525.60.13, CUDA 13 needs 580; within a major an older minor of the driver does.
    With less, torch.cuda.is_available() is False and a warning names the CUDA that the driver offers. The
    number that nvidia-smi shows is this ceiling, not what is installed; a CUDA toolkit on the machine changes
    nothing.

    See: nvidia-smi names a CUDA Version below the major of torch.version.cuda: 12.8 beside 13.0.

    Fix: install the build of this torch for a CUDA that the driver runs, or a newer driver. NVIDIA's
    cuda-compat package lifts the bound on data-centre GPUs alone.

    Verify: torch.cuda.is_available() is True.

    Tried in vain: installing another CUDA toolkit; on GeForce, cuda-compat, which ends in error 804.

    References: https://docs.nvidia.com/deploy/cuda-compatibility/
    https://github.com/pytorch/pytorch/pull/162531
    """
    cuda = facts.torch.cuda_version if facts.torch else None
    machine, runtime = Machine.of(facts), facts.torch_runtime
    works = runtime is not None and runtime.cuda_available is True
    if cuda is None or works or not numbers(cuda) or machine.driver_runs(cuda):
        return
    assert facts.driver and facts.torch
    offers, floor = machine.offered_cuda, driver_of(cuda, machine)
    yield Hit(
        title=f"The NVIDIA {machine.driver_words.removeprefix('a ')} is too old for torch's CUDA {cuda}",
        evidence=(
            Evidence("driver", offering(machine), f"{floor} or newer" if floor else ""),
            Evidence("torch", facts.torch.version, f"a build for CUDA {major_of(offers)}" if offers else ""),
            *compat_refused(facts),
        ),
        fixes=cures_of_driver(facts, cuda, floor),
    )


def compat_refused(facts: Facts) -> Iterator[Evidence]:
    """The library of an image that should lift an old driver, where the GPU refuses it."""
    seen = Witnesses(facts)
    if seen.cuda_code == COMPAT_NOT_SUPPORTED:
        yield Evidence("CUDA", seen.cuda_words, "success: cuda-compat does not help on this GPU")


def offering(machine: Machine) -> str:
    """The driver with what it offers, for evidence."""
    offers = machine.offered_cuda
    return f"{machine.driver or 'one'}, which offers CUDA {offers}" if offers else machine.driver


def cures_of_driver(facts: Facts, cuda: str, floor: str) -> tuple[Fix, ...]:
    """A torch that this driver runs, then a driver that runs this torch, if the GPU does."""
    build, devices = torch_build(facts), visible_devices(facts)
    is_served = not devices or any(build and build.fit(device) not in NO_CODE for device in devices)
    driver = newer_driver(facts, floor, compat_hint(facts, cuda)) if is_served else ()
    torch = torch_for_machine(facts)
    is_build = any(fix.scope == "environment" for fix in torch)
    return ((*torch, *driver) if is_build else driver or torch)[:2]


def compat_hint(facts: Facts, cuda: str) -> str:
    """The way round a driver that may not be changed, where NVIDIA allows it."""
    devices, system = visible_devices(facts), facts.system
    on_linux = system is None or (system.os == "linux" and not system.wsl)
    if on_linux and devices and all(is_data_center(device.name) for device in devices):
        package = f"cuda-compat-{cuda.replace('.', '-')}"
        return f"; where it must stay, NVIDIA's package {package} may do on this data-centre GPU"
    return ""


@rule(
    "driver/too-old-for-ptx",
    "error",
    needs=("driver", "torch", "gpus"),
    breaks=COMPUTE,
    symptoms=(
        UNTRANSLATED,
        "CUDA_ERROR_UNSUPPORTED_PTX_VERSION",
        "device kernel image is invalid",
        "a PTX JIT compilation failed",
    ),
    cure=newer_driver_alone,
    question="Which driver is it? nvidia-smi prints it; the extension or the image is newer.",
)
def too_old_for_ptx(facts: Facts) -> Iterator[Hit]:
    """A build has only PTX for this GPU, and the driver is older than what made it

    Why: PTX is translated by the driver, and a driver translates only PTX of its own CUDA or an older one.
    Minor version compatibility does not cover it: a driver for CUDA 12.4 runs machine code of CUDA 12.8, and
    refuses its PTX.

    Fix: a driver for the CUDA of the build, or a build that has machine code for the GPU.

    References: https://docs.nvidia.com/deploy/cuda-compatibility/minor-version-compatibility.html
    https://github.com/pytorch/pytorch/pull/48298 https://github.com/huggingface/candle/issues/1846
    """
    machine = Machine.of(facts)
    offers = machine.offered_cuda
    refused = [one for one in ptx_needs(facts) if offers and numbers(one.cuda) > numbers(offers)]
    for need in refused[:1]:
        yield ptx_hit(need, machine, facts)
    if not refused and UNTRANSLATED in all_failure_text(facts):
        yield Hit(
            title=f"{machine.driver_words} refuses PTX of a newer CUDA than its own",
            evidence=(Evidence("driver", offering(machine), "as new as the CUDA of the build"),),
            fixes=torch_for_machine(facts),
        )


class PtxNeed(NamedTuple):
    """What the driver must translate: whose PTX, of which CUDA, for which GPU."""

    package: str
    version: str
    cuda: str
    device: Device


def ptx_hit(need: PtxNeed, machine: Machine, facts: Facts) -> Hit:
    """The hit for PTX that is newer than the driver."""
    floor = ptx_floor(need.cuda, machine.side)
    return Hit(
        title=f"{need.package} {need.version} has only PTX of CUDA {need.cuda} for {need.device.name}, "
        f"too new for {machine.driver_words}",
        evidence=(
            Evidence("driver", offering(machine), f"{floor} or newer" if floor else f"CUDA {need.cuda}"),
            Evidence("gpu", sm(need.device.capability), "machine code in the build"),
        ),
        fixes=cures_of_driver(facts, need.cuda, floor)
        if need.package == "torch"
        else newer_driver(facts, floor),
    )


def ptx_needs(facts: Facts) -> Iterator[PtxNeed]:
    """What must be translated here before it runs."""
    torch, version = torch_build(facts), facts.version_of("bitsandbytes") or ""
    library = loaded_library(facts, version) if version else ""
    for device in kinds(visible_devices(facts)):
        how = torch.fit(device) if torch else "unknown"
        if torch and how == "ptx":
            yield PtxNeed("torch", version_of(facts), torch.cuda, device)
        # Where torch has no code another one comes first, and another library with it.
        if library and how not in NO_CODE and is_ptx_alone(facts, version, library, device):
            yield PtxNeed("bitsandbytes", version, cuda_of(f"cu{library}"), device)


def is_ptx_alone(facts: Facts, version: str, library: str, device: Device) -> bool:
    """Must the library of bitsandbytes be translated for a GPU?"""
    return library_verdict(facts, version, library, device)[0] == "ptx"
