"""Faults of the torch build: no CUDA in it, a torchvision made for another."""

from __future__ import annotations

from collections.abc import Iterator

from doctor.cures import install, torch_for_machine, uninstall
from doctor.facts import Facts
from doctor.findings import Evidence
from doctor.rules import Hit, rule
from doctor.rules.builds import is_jetson_wheel
from doctor.versions import comparable

SEE = ("see-gpu", "load-4bit", "qlora-step")
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
    if not facts.gpus or facts.torch.variant != "cpu" or is_jetson_wheel(facts, None):
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
