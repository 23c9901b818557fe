"""Extensions for another torch or another CUDA, and what must be compiled here."""

from __future__ import annotations

from typing import Any

import healthy
import pytest
from healthy import SITE, facts, packages, raised, stage_run, trial

from doctor.facts import Facts, Package, TorchBuild
from doctor.native import NativeLibrary

from .judging import case, check, ids
from .linkages import linkage, needed

TOOLKIT = healthy.FACTS.toolkits[0] if healthy.FACTS.toolkits else None
FLASH_SO = f"{SITE}/flash_attn_2_cuda.cpython-311-x86_64-linux-gnu.so"
NO_SYMBOL = "undefined symbol: _ZN3c105ErrorC2ENS_14SourceLocationESs"
OTHER_CUDA = "Installed CUDA version 12.4 does not match the version torch was compiled with 13.0"
NO_KERNELS = """\
WARNING[XFORMERS]: xFormers can't load C++/CUDA extensions. xFormers was built for:
    PyTorch 2.10.0+cu128 with CUDA 1208 (you have 2.13.0+cu130)
"""
CPU_BUILD = TorchBuild(version="2.13.0+cpu", cuda_version=None, hip_version=None, variant="cpu")
DEEPSPEED = packages(deepspeed="0.18.2")


def extension(package: str, path: str, cudart: str) -> NativeLibrary:
    return NativeLibrary(package=package, path=path, dependencies=(needed(cudart, "", asked_by=package),))


def with_xformers(*requires: str, **changes: Any) -> Facts:
    """xformers 0.0.35, and what its metadata asks for."""
    package = Package(name="xformers", version="0.0.35", location=SITE, installer="pip", requires=requires)
    return facts(**{"packages": packages(xformers=package), **changes})


HITS = {
    "flash-attn for another ABI": case(
        "flash-attn/torch-abi-mismatch",
        "error",
        facts(trial=trial(raised("import-transformers", f"{FLASH_SO}: {NO_SYMBOL}"))),
        "flash_attn_2_cuda.cpython-311-x86_64-linux-gnu.so was built for another torch than 2.13.0+cu130",
        seen=("undefined symbol _ZN3c105ErrorC2",),
        command="flash-attn --no-build-isolation",
        beside=("transformers/import-failed",),
    ),
    "flash-attn for another ABI, told before": case(
        "flash-attn/torch-abi-mismatch",
        "warning",
        facts(
            linkage=linkage(
                NativeLibrary(package="flash-attn", path=FLASH_SO, undefined=("_ZN3c105ErrorC2Ev",))
            )
        ),
        "was built for another torch than 2.13.0+cu130",
        seen=("undefined symbol _ZN3c105ErrorC2Ev",),
    ),
    "another extension for another torch": case(
        "extension/torch-abi-mismatch",
        "error",
        facts(
            trial=trial(raised("import-trl", f"{SITE}/causal_conv1d.so: undefined symbol: _ZNK2at10Tensor"))
        ),
        "causal_conv1d.so was built for another torch",
        beside=("trl/import-failed",),
    ),
    "xformers for another torch": case(
        "xformers/torch-mismatch",
        "error",
        facts(trial=trial(raised("import-trl", f"{SITE}/xformers/_C.so: undefined symbol: _ZNK2at10Tensor"))),
        "_C.so was built for another torch",
        command="install xformers torch==2.13.0 --upgrade",
        beside=("trl/import-failed",),
    ),
    "xformers for another torch, told before": case(
        "xformers/torch-mismatch",
        "warning",
        facts(
            linkage=linkage(
                NativeLibrary(
                    package="xformers", path=f"{SITE}/xformers/_C.so", undefined=("_ZN3c105ErrorC2Ev",)
                )
            )
        ),
        "_C.so was built for another torch than 2.13.0+cu130",
    ),
    "xformers for another torch, as it says itself": case(
        "xformers/torch-mismatch",
        "warning",
        with_xformers(trial=trial(stage_run("import-trl", noise=NO_KERNELS))),
        "xformers 0.0.35 was built for torch 2.10.0+cu128, not 2.13.0+cu130",
        seen=("built for torch 2.10.0+cu128 -> 2.13.0+cu130",),
    ),
    "xformers for another torch, by its metadata": case(
        "xformers/torch-mismatch",
        "warning",
        with_xformers("numpy", "torch==2.12.1"),
        "xformers 0.0.35 was built for torch 2.12.1, not 2.13.0+cu130",
    ),
    "flash-attn for another CUDA": case(
        "flash-attn/cuda-major-mismatch",
        "warning",
        facts(linkage=linkage(extension("flash-attn", FLASH_SO, "libcudart.so.12"))),
        "flash-attn is linked to CUDA 12, and torch 2.13.0+cu130 brings CUDA 13",
        seen=("libcudart.so.12 is not found",),
    ),
    "another extension for another CUDA": case(
        "extension/cuda-major-mismatch",
        "warning",
        facts(linkage=linkage(extension("xformers", f"{SITE}/xformers/_C.so", "libcudart.so.11.0"))),
        "xformers is linked to CUDA 11",
    ),
    "a toolkit of another major": case(
        "cuda/toolkit-mismatch",
        "note",
        facts(packages=DEEPSPEED, toolkits=(healthy.but(TOOLKIT, version="12.4"),)),
        "is CUDA 12.4, and torch is built for 13.0",
    ),
    "a toolkit of another major, and a build that failed of it": case(
        "cuda/toolkit-mismatch",
        "error",
        facts(
            packages=DEEPSPEED,
            toolkits=(healthy.but(TOOLKIT, version="12.4"),),
            trial=trial(raised("trainer-step", OTHER_CUDA, "CUDAMismatchException")),
        ),
        "is CUDA 12.4, and torch is built for 13.0",
        beside=("smoke/stage-failed",),
    ),
    "no nvcc": case(
        "cuda/nvcc-missing",
        "note",
        facts(packages=DEEPSPEED, toolkits=(healthy.but(TOOLKIT, has_compiler=False),)),
        "deepspeed 0.18.2 compiles operators, and no nvcc is found",
    ),
}

MISSES = {
    "xformers for this torch": with_xformers("torch==2.13.0"),
    "xformers for this torch or a newer one": with_xformers("torch>=2.10.0"),
    "kernels of xformers beside a torch without CUDA": with_xformers(
        torch=CPU_BUILD, trial=trial(stage_run("import-trl", noise=NO_KERNELS))
    ),
    "nothing to compile": facts(toolkits=()),
    "a toolkit of another major that nobody asks": facts(toolkits=(healthy.but(TOOLKIT, version="12.4"),)),
    "a toolkit of the same major": facts(
        packages=DEEPSPEED, toolkits=(healthy.but(TOOLKIT, version="13.2"),)
    ),
    "torch's own symbols": facts(
        trial=trial(raised("import-torch", f"{SITE}/torch/lib/libtorch_python.so: {NO_SYMBOL}"))
    ),
    "an extension of the same CUDA whose runtime is gone": facts(
        linkage=linkage(extension("xformers", f"{SITE}/xformers/_C.so", "libcudart.so.13"))
    ),
}


@pytest.mark.parametrize("name", HITS)
def test_hit(name: str) -> None:
    check(*HITS[name])


@pytest.mark.parametrize("name", MISSES)
def test_near_miss(name: str) -> None:
    ours = {hit[0] for hit in HITS.values()}
    assert ours & {*ids(MISSES[name])} == set()
