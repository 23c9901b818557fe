"""Faults of the torch build, and what comes near them."""

from __future__ import annotations

import healthy
import pytest
from healthy import GPU_NAME, PYTHON, but

from doctor.facts import Facts, Gpu, TorchBuild

from .judging import case, check, facts, ids, of

TORCH = healthy.FACTS.torch
[GPU] = healthy.FACTS.gpus or ()
CPU_BUILD = TorchBuild(version="2.13.0+cpu", cuda_version=None, hip_version=None, variant="cpu")


def with_torchvision(version: str) -> Facts:
    """The healthy machine, torch 2.13, with torchvision beside it."""
    assert healthy.FACTS.packages
    installed = healthy.FACTS.packages.installed
    vision = but(installed["torch"], name="torchvision", version=version)
    return facts(packages=but(healthy.FACTS.packages, installed={**installed, "torchvision": vision}))


HITS = {
    "a CPU build beside a GPU": case(
        "torch/cpu-only-build",
        "error",
        facts(torch=CPU_BUILD),
        f"torch 2.13.0+cpu is a CPU-only build, and this machine has {GPU_NAME}",
        seen=("a CUDA build", GPU_NAME),
        command=f"{PYTHON} -m pip install",
    ),
    "a torchvision of another torch": case(
        "torch/torchvision-mismatch",
        "error",
        with_torchvision("0.17.2"),
        "torchvision 0.17.2 was built for torch 2.2, not 2.13.0",
        seen=("0.17.2 -> 0.28.*",),
        command=f"{PYTHON} -m pip install torchvision==0.28.*",
    ),
}

MISSES = {
    "the torchvision of this torch": with_torchvision("0.28.0"),
    "a CPU build and no GPU": facts(torch=CPU_BUILD, gpus=()),
    "a build of which the variant is not known": facts(
        torch=but(TORCH, variant="unknown", cuda_version=None)
    ),
    "ROCm": facts(torch=but(TORCH, variant="rocm6.2", cuda_version=None, hip_version="6.2")),
    "a CPU build on a Jetson, which has a fault of its own": facts(
        torch=CPU_BUILD, torch_runtime=None, cuda_driver=None, gpus=(but(GPU, compute_capability="8.7"),)
    ),
}


@pytest.mark.parametrize("name", HITS)
def test_hit(name: str) -> None:
    check(*HITS[name])


@pytest.mark.parametrize("name", MISSES)
def test_near_miss(name: str) -> None:
    assert not {"torch/cpu-only-build", "torch/torchvision-mismatch"} & {*ids(MISSES[name])}


def test_without_a_driver_no_build_is_proposed() -> None:
    finding = of("torch/cpu-only-build", facts(torch=CPU_BUILD, driver="does not answer"))
    assert finding.fixes == ()


def test_the_first_gpu_names_the_machine() -> None:
    second = Gpu(index=1, name="Other", compute_capability="8.9", memory_total_bytes=1, memory_free_bytes=1)
    assert GPU_NAME in of("torch/cpu-only-build", facts(torch=CPU_BUILD, gpus=(GPU, second))).title


def test_a_cuda_build_is_installed_with_all_that_it_needs() -> None:
    """A CPU build has none of the nvidia-* packages; a CUDA build cannot be imported without them."""
    [fix] = of("torch/cpu-only-build", facts(torch=CPU_BUILD)).fixes
    assert not any("--no-deps" in command for command in fix.commands)
