"""Faults of the torch build, and what comes near them."""

from __future__ import annotations

import healthy
import pytest
from healthy import GPU_NAME, PYTHON, but

from doctor.facts import Facts, Gpu, TorchBuild

from .judging import case, check, facts, ids, of

RUNTIME, TORCH = healthy.FACTS.torch_runtime, healthy.FACTS.torch
[GPU] = healthy.FACTS.gpus or ()
CPU_BUILD = TorchBuild(version="2.13.0+cpu", cuda_version=None, hip_version=None, variant="cpu")
UNUSABLE = but(RUNTIME, cuda_available=False, device_count=0, devices=(), capabilities=(), bf16=None)


def with_gpu(*capabilities: str | None) -> Facts:
    """The healthy machine with other GPUs."""
    return facts(
        gpus=tuple(but(GPU, index=index, compute_capability=one) for index, one in enumerate(capabilities))
    )


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
    "a GPU that is too old": case(
        "torch/gpu-arch-missing",
        "error",
        with_gpu("6.1"),
        f"has no kernels for {GPU_NAME}, sm_61",
        seen=("sm_75 sm_80",),
    ),
    "one of two GPUs": case("torch/gpu-arch-missing", "error", with_gpu("8.9", "5.2"), "sm_52"),
    "CUDA that fails": case(
        "torch/cuda-not-usable",
        "error",
        facts(torch_runtime=but(UNUSABLE, cuda_error="Error 802: system not yet initialized\nmore")),
        "cannot use the GPU that the driver shows",
        seen=("Error 802: system not yet initialized -> 1 usable devices",),
    ),
    "CUDA that says nothing": case(
        "torch/cuda-not-usable",
        "error",
        facts(torch_runtime=UNUSABLE),
        "cannot use the GPU",
        seen=("torch.cuda.is_available() is False",),
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
    "a GPU newer than the list, by PTX": with_gpu("12.1"),
    "a GPU of the same major": with_gpu("8.7"),
    "a GPU that does not tell its capability": with_gpu(None),
    "a build without a list": facts(torch_runtime=but(RUNTIME, arch_list=())),
    "no GPU": facts(gpus=(), torch_runtime=UNUSABLE),
    "a look for GPUs that did not end": facts(torch_runtime=but(RUNTIME, cuda_available=None)),
}


@pytest.mark.parametrize("name", HITS)
def test_hit(name: str) -> None:
    check(*HITS[name])


@pytest.mark.parametrize("name", MISSES)
def test_near_miss(name: str) -> None:
    assert ids(MISSES[name]) == []


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


@pytest.mark.parametrize("value", ["0", "0,1", "GPU-8932f937"])
def test_cuda_that_fails_is_told_though_a_gpu_was_chosen(value: str) -> None:
    given = facts(torch_runtime=UNUSABLE, environment={"CUDA_VISIBLE_DEVICES": value})
    assert "torch/cuda-not-usable" in ids(given)


@pytest.mark.parametrize("value", ["", "-1"])
def test_a_gpu_that_is_hidden_is_one_fault(value: str) -> None:
    given = facts(torch_runtime=UNUSABLE, environment={"CUDA_VISIBLE_DEVICES": value})
    assert ids(given) == ["gpu/hidden-by-environment"]
