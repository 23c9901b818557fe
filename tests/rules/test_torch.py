"""Faults of the torch build, and what comes near them."""

from __future__ import annotations

from typing import Any

import healthy
import pytest
from healthy import GPU_NAME, PYTHON, but

from doctor.facts import Facts, Gpu, TorchBuild, Trial

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


NO_ITT = "/env/lib/torch/lib/libtorch_cpu.so: undefined symbol: iJIT_NotifyEvent"


def dll(name: str) -> str:
    """What Windows says of one that cannot be loaded."""
    return (
        "[WinError 126] The specified module could not be found. Error loading "
        f'"C:\\env\\Lib\\site-packages\\torch\\lib\\{name}.dll" or one of its dependencies.'
    )


def failed_import(kind: str, message: str) -> Trial:
    return healthy.trial(healthy.raised("import-torch", message, kind))


def on_windows(**changes: Any) -> Facts:
    """The healthy machine, were it one of Windows."""
    return facts(system=but(healthy.FACTS.system, os="win32", name="Windows 11", libc=None), **changes)


HITS = {
    "a CPU build beside a GPU": case(
        "torch/cpu-only-build",
        "error",
        facts(torch=CPU_BUILD),
        f"torch 2.13.0+cpu is a CPU-only build, and this machine has {GPU_NAME}",
        seen=("a CUDA build", GPU_NAME),
        command=f"{PYTHON} -m pip install",
    ),
    "an MKL that dropped a symbol": case(
        "torch/mkl-mismatch",
        "error",
        facts(packages=healthy.packages(mkl="2024.1.0"), trial=failed_import("ImportError", NO_ITT)),
        "torch 2.13.0+cu130 asks MKL for iJIT_NotifyEvent, which MKL dropped in 2024.1",
        seen=("mkl: 2024.1.0 -> below 2024.1",),
        command="mkl<2024.1",
        beside=("torch/import-failed",),
    ),
    "a torch that needs OpenMP of Windows": case(
        "torch/windows-runtime-missing",
        "error",
        on_windows(
            packages=healthy.packages(torch="2.4.0+cu121"),
            torch=but(TORCH, version="2.4.0+cu121", cuda_version="12.1", variant="cu121"),
            torch_runtime="not imported",
            trial=failed_import("OSError", dll("fbgemm")),
        ),
        "fbgemm.dll of torch 2.4.0+cu121 needs a library of Windows that is not there",
        command="torch==2.4.1 --index-url https://download.pytorch.org/whl/cu121",
        beside=("torch/import-failed",),
    ),
    "a torch that needs the runtime of Visual C++": case(
        "torch/windows-runtime-missing",
        "error",
        on_windows(trial=failed_import("OSError", dll("c10"))),
        "c10.dll of torch 2.13.0+cu130 needs a library of Windows",
        beside=("torch/import-failed",),
    ),
    "a torchvision of another torch": case(
        "torch/torchvision-mismatch",
        "error",
        with_torchvision("0.17.2"),
        "torchvision 0.17.2 was built for torch 2.2, not 2.13.0",
        seen=("0.17.2 -> 0.28.*",),
        command=f"{PYTHON} -m pip install torchvision==0.28.* --index-url https://download.pytorch.org/whl/cu130",
    ),
}

MISSES = {
    "a library of Windows that is missing, on Linux": facts(trial=failed_import("OSError", dll("c10"))),
    "another symbol that is missing": facts(
        trial=failed_import("ImportError", NO_ITT.replace("Notify", "X"))
    ),
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
