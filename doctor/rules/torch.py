"""Faults of the torch build: no CUDA in it, or none for this GPU."""

from __future__ import annotations

from collections.abc import Iterator

from doctor.cures import install
from doctor.facts import Facts
from doctor.findings import Evidence, Fix
from doctor.matrix.platform import newest_torch_with, newest_variant_for
from doctor.rules import Hit, rule

INDEX = "https://download.pytorch.org/whl/"
SEE = ("see-gpu", "load-4bit", "qlora-step")


def install_variant(facts: Facts, variant: str) -> Fix:
    """Install the newest torch that is built for a CUDA variant."""
    release = newest_torch_with(variant)
    requirement = f"torch=={release}" if release else "torch"
    return install(
        facts,
        f"Install the torch that is built for {variant}",
        requirement,
        again=True,
        options=("--index-url", INDEX + variant),
    )


@rule(
    "torch/cpu-only-build",
    "error",
    needs=("torch", "gpus"),
    breaks=SEE,
    symptoms=("Torch not compiled with CUDA enabled",),
)
def cpu_only_build(facts: Facts) -> Iterator[Hit]:
    """torch is a CPU-only build on a machine with an NVIDIA GPU

    Why: a CPU-only wheel carries no CUDA kernels, and nothing at run time can add them. The plain index of
    pip holds CPU builds for Windows and macOS, and a later install from a CPU index replaces a CUDA build.

    Fix: reinstall torch from the index of a CUDA build that the driver can run.
    """
    assert facts.torch and facts.gpus is not None
    if not facts.gpus or facts.torch.variant != "cpu":
        return
    system = facts.system.os if facts.system else "linux"
    variant = newest_variant_for(facts.driver.version, system) if facts.driver else None
    yield Hit(
        title=f"torch {facts.torch.version} is a CPU-only build, and this machine has {facts.gpus[0].name}",
        evidence=(
            Evidence("torch", facts.torch.version, "a CUDA build"),
            Evidence("gpu", facts.gpus[0].name),
        ),
        fixes=(install_variant(facts, variant),) if variant else (),
    )


@rule(
    "torch/gpu-arch-missing",
    "error",
    needs=("torch_runtime", "gpus"),
    breaks=("load-4bit", "lora-step", "qlora-step"),
    symptoms=(
        "no kernel image is available for execution",
        "is not compatible with the current PyTorch installation",
    ),
)
def gpu_arch_missing(facts: Facts) -> Iterator[Hit]:
    """This torch build has no kernels for this GPU

    Why: a wheel carries machine code for a list of architectures. A GPU older than the list has none, and
    one newer than the list has none unless the wheel holds PTX to translate.

    Fix: install a torch whose list holds the GPU.
    """
    runtime = facts.torch_runtime
    assert runtime and facts.gpus is not None
    for gpu in facts.gpus:
        capability = gpu.compute_capability
        if runtime.arch_list and capability and not runs_on(runtime.arch_list, capability):
            digits = capability.replace(".", "")
            yield Hit(
                title=f"torch {runtime.version} has no kernels for {gpu.name}, sm_{digits}",
                evidence=(
                    Evidence(
                        "gpu", f"compute capability {capability}", f"one of {' '.join(runtime.arch_list)}"
                    ),
                ),
            )


def runs_on(arch_list: tuple[str, ...], capability: str) -> bool:
    """Does a build run on a GPU: same major and no newer minor in machine code, or older PTX?"""
    major, minor = (int(part) for part in capability.split("."))
    for arch in arch_list:
        kind, _, digits = arch.partition("_")
        digits = digits.rstrip("af")
        if not digits.isdigit():
            continue
        built = (int(digits[:-1]), int(digits[-1]))
        if kind == "sm" and built[0] == major and built[1] <= minor:
            return True
        if kind == "compute" and built <= (major, minor):
            return True
    return False


@rule("torch/cuda-not-usable", "error", needs=("torch_runtime", "gpus"), breaks=SEE)
def cuda_not_usable(facts: Facts) -> Iterator[Hit]:
    """The driver shows a GPU and torch cannot use it

    Why: torch is a CUDA build and its first call to CUDA failed. The words of that failure are the evidence.

    Fix: see the evidence; error 802 is a fabric manager that does not run, 803 two driver versions, 804 a
    compatibility library on a GPU that does not take it.
    """
    runtime = facts.torch_runtime
    assert runtime and facts.gpus is not None
    hidden = (facts.environment or {}).get("CUDA_VISIBLE_DEVICES") is not None
    if facts.gpus and runtime.cuda_version and runtime.cuda_available is False and not hidden:
        said = (
            runtime.cuda_error.splitlines()[0][:300]
            if runtime.cuda_error
            else "torch.cuda.is_available() is False"
        )
        yield Hit(
            title=f"torch {runtime.version} cannot use the GPU that the driver shows",
            evidence=(Evidence("torch", said, f"{len(facts.gpus)} usable devices"),),
        )
