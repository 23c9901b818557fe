"""Rules on builds that are asked for and were not seen: what the platform tables say of their code.

They share ids with the rules on what is installed, which look at the files themselves.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from doctor.cures import install, torch_for_machine
from doctor.facts import Facts
from doctor.findings import Evidence
from doctor.matrix.releases import releases_of
from doctor.matrix.resolver.builds import builds_of, cuda_of, goes_with, minor_of, runs_on
from doctor.matrix.resolver.machine import Machine
from doctor.rules import Hit, Rule
from doctor.versions import comparable

BREAKS = ("load-4bit", "lora-step", "qlora-step")
TORCH_PAGE = """The torch build that a file asks for has no kernels for this GPU

Why: a wheel carries machine code for a list of architectures. A GPU older than the list has none, and one
newer than the list has none unless the wheel holds PTX to translate.

Fix: ask for a build whose list holds the GPU."""
BITSANDBYTES_PAGE = """The bitsandbytes release that a file asks for has no library for torch's CUDA

Why: a release ships libraries for the CUDA versions of its day, each with code for some GPUs.

Fix: ask for the first release that has one."""


@cache
def build_rules() -> tuple[Rule, ...]:
    """One rule for torch, one for bitsandbytes."""
    needs = ("packages", "torch", "gpus", "system", "interpreter")
    return (
        Rule("torch/gpu-arch-missing", "error", needs, BREAKS, (), lambda: TORCH_PAGE, gpu_arch_missing),
        Rule(
            "bitsandbytes/native-library-missing",
            "error",
            needs,
            ("load-4bit", "qlora-step"),
            (),
            lambda: BITSANDBYTES_PAGE,
            library_missing,
        ),
    )


def is_asked_for(facts: Facts) -> bool:
    """Do the facts come from a file, where nothing can be looked at, and is torch's build one for CUDA?"""
    from_file = facts.packages is not None and facts.packages.wanted is not None
    return from_file and facts.torch is not None and bool(cuda_of(facts.torch.variant))


def gpu_arch_missing(facts: Facts) -> Iterator[Hit]:
    """One hit for each GPU that the stated build of torch has no code for."""
    if not is_asked_for(facts):
        return
    assert facts.torch and facts.gpus is not None
    variant, release = facts.torch.variant, comparable(facts.torch.version)
    arch = Machine.of(facts).arch
    for build in builds_of(minor_of(str(release))):
        if (build["variant"], build["arch"]) != (variant, arch):
            continue
        for gpu in facts.gpus:
            capability = gpu.compute_capability
            if (
                capability
                and not is_told(variant, capability)
                and not runs_on(build["sm"], capability, cuda_of(variant))
            ):
                seen = f"sm_{capability.replace('.', '')}"
                yield Hit(
                    title=f"torch {release} built for {variant} has no kernels for {gpu.name}, {seen}",
                    confidence="likely",
                    evidence=(
                        Evidence("torch", facts.torch.version, f"a build with code for {seen}"),
                        Evidence("gpu", seen, f"one of {' '.join(build['sm'])}"),
                    ),
                    fixes=torch_for_machine(facts),
                )


def is_told(variant: str, capability: str) -> bool:
    """Does a row of the matrix say it already: what CUDA 13 dropped?"""
    return int(variant.removeprefix("cu")) >= 130 and float(capability) < 7.5


def library_missing(facts: Facts) -> Iterator[Hit]:
    """A hit where the stated bitsandbytes ships no library that goes with the stated torch and GPU."""
    version = facts.version_of("bitsandbytes")
    if not version or not is_asked_for(facts):
        return
    assert facts.torch
    machine, variant = Machine.of(facts), facts.torch.variant
    known = [one.version for one in releases_of("bitsandbytes")]
    if version not in known or goes_with(version, variant, machine):
        return
    later = known[known.index(version) + 1 :]
    first = next((one for one in later if goes_with(one, variant, machine)), None)
    yield Hit(
        title=f"bitsandbytes {version} ships no library for torch's CUDA {cuda_of(variant)} and this GPU",
        confidence="likely",
        evidence=(
            Evidence("bitsandbytes", version, f"a release with a library for CUDA {cuda_of(variant)}"),
            Evidence("torch", facts.torch.version),
        ),
        fixes=(install(facts, f"Upgrade bitsandbytes to {first} or newer", f"bitsandbytes>={first}"),)
        if first
        else (),
    )
