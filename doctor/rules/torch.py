"""Faults of the torch build: no CUDA in it, none for this GPU, a torchvision made for another."""

from __future__ import annotations

from collections.abc import Iterator

from doctor.cures import install, torch_for_machine, uninstall
from doctor.facts import Facts
from doctor.findings import Evidence
from doctor.matrix.platform import has_code_for
from doctor.rules import Hit, rule
from doctor.rules.driver import SEE, hides_all
from doctor.versions import comparable

VISION_AHEAD = 15  # torchvision 0.15 goes with torch 2.0


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
    yield Hit(
        title=f"torch {facts.torch.version} is a CPU-only build, and this machine has {facts.gpus[0].name}",
        evidence=(
            Evidence("torch", facts.torch.version, "a CUDA build"),
            Evidence("gpu", facts.gpus[0].name),
        ),
        fixes=torch_for_machine(facts),
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
        if runtime.arch_list and capability and not has_code_for(runtime.arch_list, capability, ptx=True):
            seen, wanted = f"sm_{capability.replace('.', '')}", f"one of {' '.join(runtime.arch_list)}"
            yield Hit(
                title=f"torch {runtime.version} has no kernels for {gpu.name}, {seen}",
                evidence=(Evidence("gpu", seen, wanted),),
                fixes=torch_for_machine(facts),
            )


@rule("torch/cuda-not-usable", "error", needs=("torch_runtime", "gpus"), breaks=SEE)
def cuda_not_usable(facts: Facts) -> Iterator[Hit]:
    """The driver shows a GPU and torch cannot use it

    Why: torch is a CUDA build and its first call to CUDA failed. The words of that failure are the evidence.

    Fix: see the evidence; error 802 is a fabric manager that does not run, 803 two driver versions, 804 a
    compatibility library on a GPU that does not take it.
    """
    runtime = facts.torch_runtime
    assert runtime and facts.gpus is not None
    hidden = hides_all((facts.environment or {}).get("CUDA_VISIBLE_DEVICES"))
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


@rule(
    "torch/torchvision-mismatch",
    "error",
    needs=("packages",),
    breaks=("import-transformers", "import-trl", "trainer-step", "sft-step"),
    symptoms=("operator torchvision::nms does not exist",),
)
def torchvision_mismatch(facts: Facts) -> Iterator[Hit]:
    """torchvision was built for another release of torch

    Why: each minor release of torchvision is compiled for one minor release of torch, which it pins: 0.15
    for 2.0, and so on. With another its operators are not registered, and whatever imports it fails;
    transformers does where torchvision is installed.

    Fix: install the torchvision of this torch, or uninstall torchvision if nothing needs images.

    References: https://github.com/pytorch/vision#installation
    """
    torch, vision = (comparable(facts.version_of(name) or "") for name in ("torch", "torchvision"))
    if not torch or not vision or torch.major != 2 or vision.major != 0:
        return
    partner = f"0.{torch.minor + VISION_AHEAD}"
    if vision.minor != torch.minor + VISION_AHEAD:
        yield Hit(
            title=f"torchvision {vision} was built for torch 2.{vision.minor - VISION_AHEAD}, not {torch}",
            evidence=(Evidence("torchvision", str(vision), f"{partner}.*"), Evidence("torch", str(torch))),
            fixes=(
                install(facts, f"Install torchvision {partner}", f"torchvision=={partner}.*"),
                uninstall(facts, "Uninstall torchvision", "torchvision"),
            ),
            confidence="likely",
        )
