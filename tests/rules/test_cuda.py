"""CUDA libraries that are absent, shadowed, or of two majors."""

from __future__ import annotations

from typing import Any

import healthy
import pytest
from healthy import PYTHON, SITE, facts, packages, raised, trial

from doctor.diagnosis import diagnose
from doctor.facts import Facts, FileCheck, FileFault, Package
from doctor.findings import Subject
from doctor.rules.linked import is_cuda, stem_of, wheel_of

from .judging import case, check, findings, ids
from .linkages import NVIDIA, OWN, UNSEEN, bnb_library, linkage, needed, torch_library

MISSING, SHADOWED, MIXED = "cuda/libraries-missing", "cuda/libraries-shadowed", "cuda/mixed-majors"
NVJITLINK, CUDNN, NCCL = "cuda/nvjitlink-shadowed", "cuda/cudnn-shadowed", "cuda/nccl-conflict"
SYSTEM = "/usr/local/cuda-12.4/lib64"
RUNTIME_GONE = FileFault(
    package="nvidia-cuda-runtime",
    version="13.0.96",
    missing=("nvidia/cu13/lib/libcudart.so.13",),
    missing_count=1,
)


def wheel(name: str, version: str) -> Package:
    return Package(name=name, version=version, location=SITE, installer="pip", modules=("nvidia",))


def with_wheels(**wheels: str) -> dict[str, Any]:
    """Packages with wheels of NVIDIA: cudnn_cu12="9.1"."""
    names = {f"nvidia_{name}": wheel(f"nvidia-{name.replace('_', '-')}", at) for name, at in wheels.items()}
    return {"packages": packages(**names)}


def ill(**fault: Any) -> dict[str, Any]:
    return {"files": FileCheck(checked=9, hashed=0, faults=(FileFault(**fault),))}


def by_path(name: str, **fields: Any) -> dict[str, Any]:
    """torch gets a library from a folder in LD_LIBRARY_PATH, in place of its own."""
    one = needed(name, f"{SYSTEM}/{name}", by="LD_LIBRARY_PATH", shadowed=OWN[name], **fields)
    return {
        **UNSEEN,
        "linkage": linkage(torch_library(one)),
        "environment": {"LD_LIBRARY_PATH": f"/opt/lib:{SYSTEM}/"},
    }


FAILED = {"trial": trial(raised("import-torch", "something"))}
FAULT = {"fault": "lacks version libnvJitLink.so.13"}

HITS = {
    "a wheel that is not there": case(
        MISSING,
        "error",
        facts(
            linkage=linkage(torch_library(needed("libcublas.so.13", ""))),
            torch_runtime="failed",
            trial="--quick",
        ),
        "libcublas.so.13, which torch needs, is not where the loader looks",
        seen=("nvidia-cublas: not installed -> libcublas.so.13, which libtorch_cuda.so is linked to",),
        command=f"{PYTHON} -m pip install nvidia-cublas",
    ),
    "a file of a wheel that is gone": case(
        MISSING,
        "error",
        facts(
            linkage=linkage(torch_library(needed("libnccl.so.2", ""))),
            trial="--quick",
            **with_wheels(nccl_cu13="2.29.7"),
        ),
        "libnccl.so.2, which torch needs",
        seen=("nvidia-nccl-cu13: 2.29.7 without libnccl.so.2",),
        command="--force-reinstall --no-deps nvidia-nccl-cu13==2.29.7",
    ),
    "an nvJitLink without the symbols": case(
        NVJITLINK,
        "error",
        facts(**by_path("libnvJitLink.so.13", **FAULT), trial="--quick"),
        f"LD_LIBRARY_PATH gives torch {SYSTEM}/libnvJitLink.so.13 in place of {NVIDIA}/libnvJitLink.so.13, "
        "which lacks version libnvJitLink.so.13",
        command="export LD_LIBRARY_PATH=/opt/lib",
    ),
    "an nvJitLink that serves": case(
        NVJITLINK, "note", facts(**by_path("libnvJitLink.so.13")), "gives torch", seen=("by LD_LIBRARY_PATH",)
    ),
    "another cuDNN": case(CUDNN, "warning", facts(**by_path("libcudnn.so.9")), "gives torch"),
    "another NCCL": case(NCCL, "warning", facts(**by_path("libnccl.so.2")), "gives torch"),
    "an NCCL of another release, and what torch asks of it": case(
        NCCL,
        "error",
        facts(
            **with_wheels(nccl_cu13="2.27.7"),
            torch_runtime="failed",
            trial=trial(raised("import-torch", "libtorch_cuda.so: undefined symbol: ncclCommResume")),
        ),
        "libnccl.so.2 of nvidia-nccl-cu13 2.27.7 lacks ncclCommResume, which torch asks for",
        seen=("nvidia-nccl-cu13: 2.27.7 -> the release that torch asks for",),
        command="-m pip install nvidia-nccl-cu13",
        beside=("torch/import-failed",),  # which is told beneath it
    ),
    "NCCL's file is that of another CUDA": case(
        NCCL,
        "error",
        facts(
            **with_wheels(nccl_cu12="2.27.3", nccl_cu13="2.29.7"),
            **ill(
                package="nvidia-nccl-cu13",
                version="2.29.7",
                altered=("nvidia/nccl/lib/libnccl.so.2",),
                altered_count=1,
            ),
        ),
        "nvidia-nccl-cu13 2.29.7 has its files replaced by nvidia-nccl-cu12 2.27.3",
        command="-m pip uninstall -y nvidia-nccl-cu12",
        beside=("python/files-missing-or-altered", MIXED),
    ),
    "a wheel of another release": case(
        "cuda/libraries-mismatched",
        "error",
        facts(
            linkage=linkage(
                torch_library(
                    needed(
                        "libnvJitLink.so.13",
                        fault="lacks symbol __nvJitLinkCreate_13_0",
                        asked_by="libcusparse.so.12",
                    )
                )
            ),
            trial="--quick",
            **with_wheels(nvjitlink="13.5.37"),
        ),
        "libnvJitLink.so.13 of nvidia-nvjitlink 13.5.37 lacks symbol __nvJitLinkCreate_13_0, which "
        "libcusparse.so.12 asks for",
        command="-m pip install nvidia-nvjitlink",
    ),
    "a runtime from elsewhere": case(
        SHADOWED,
        "error",
        facts(**by_path("libcudart.so.13", fault="lacks version libcudart.so.13"), trial="--quick"),
        "which lacks version libcudart.so.13",
    ),
    "a runtime from elsewhere that serves": case(
        SHADOWED, "note", facts(**by_path("libcudart.so.13")), "gives torch"
    ),
    "a runtime that torch takes and bitsandbytes cannot": case(
        SHADOWED,
        "error",
        facts(
            **{
                **by_path("libcudart.so.13"),
                "linkage": linkage(
                    torch_library(
                        needed("libcudart.so.13", f"{SYSTEM}/libcudart.so.13", by="LD_LIBRARY_PATH")
                    ),
                    bnb_library(
                        needed(
                            "libcudart.so.13",
                            f"{SYSTEM}/libcudart.so.13",
                            by="already loaded",
                            fault="lacks version libcudart.so.13",
                        )
                    ),
                ),
                "bitsandbytes_runtime": "it died",
            }
        ),
        f"LD_LIBRARY_PATH gives bitsandbytes {SYSTEM}/libcudart.so.13, which lacks version libcudart.so.13",
        seen=("nvidia-cuda-runtime: not installed",),
    ),
    "what an older torch left": case(
        MIXED,
        "note",
        facts(**with_wheels(cublas="13.1.0.3", cublas_cu12="12.8.4.1", cufft_cu11="10.9.0.58")),
        "2 packages of CUDA 11 and 12 lie beside a torch for CUDA 13",
        seen=("nvidia-cublas-cu12 12.8.4.1",),
    ),
    "cuDNN's files went with another CUDA": case(
        MIXED,
        "error",
        facts(
            **with_wheels(cudnn_cu12="9.10", cudnn_cu13="9.20"),
            **ill(
                package="nvidia-cudnn-cu13",
                version="9.20",
                missing=("nvidia/cudnn/lib/libcudnn.so.9",),
                missing_count=1,
            ),
        ),
        "nvidia-cudnn-cu13 9.20 lacks files that nvidia-cudnn-cu12 9.10 brings as well",
        command="--force-reinstall --no-deps nvidia-cudnn-cu13==9.20",
        beside=("python/files-missing-or-altered",),
    ),
}

MISSES = {
    "told as missing and seen to load": facts(linkage=linkage(torch_library(needed("libcublas.so.13", "")))),
    "a library that is no CUDA library": facts(
        linkage=linkage(torch_library(needed("libz.so.1", "/opt/lib/libz.so.1", by="LD_LIBRARY_PATH")))
    ),
    "a folder that gives what would be taken anyway": facts(
        linkage=linkage(
            torch_library(needed("libcudnn.so.9", f"{SYSTEM}/libcudnn.so.9", by="LD_LIBRARY_PATH"))
        )
    ),
    "what bitsandbytes alone lacks": facts(linkage=linkage(bnb_library(needed("libcublas.so.13", "")))),
    "one CUDA": facts(**with_wheels(cublas="13.1.0.3", cudnn_cu13="9.20", nccl_cu13="2.29.7")),
    "wheels beside a CPU build": facts(
        torch=healthy.but(healthy.FACTS.torch, cuda_version=None, variant="cpu"),
        gpus=(),
        **with_wheels(cublas_cu12="12.8.4.1"),
    ),
}


@pytest.mark.parametrize("name", HITS)
def test_hit(name: str) -> None:
    check(*HITS[name])


@pytest.mark.parametrize("name", MISSES)
def test_near_miss(name: str) -> None:
    assert [id for id in ids(MISSES[name]) if id.startswith("cuda/")] == []


def test_a_wheel_that_another_package_asks_for_is_no_leftover() -> None:
    given = with_wheels(cublas="13.1.0.3", cublas_cu12="12.8.4.1")["packages"]
    asking = healthy.but(given.installed["peft"], requires=("nvidia-cublas-cu12==12.8.4.1",))
    both = healthy.but(given, installed={**given.installed, "peft": asking})
    assert MIXED in ids(facts(packages=given)) and MIXED not in ids(facts(packages=both))


def diagnosed(given: Facts) -> list[tuple[str, tuple[str, ...]]]:
    """The errors, and what stands beneath each."""
    report = diagnose(given, Subject("live", "here"))
    return [
        (one.id, tuple(beneath.id for beneath in one.symptoms))
        for one in report.findings
        if one.severity == "error"
    ]


def test_the_lost_file_and_the_failed_import_are_one_fault() -> None:
    given = facts(
        linkage=linkage(torch_library(needed("libcudart.so.13", ""))),
        files=FileCheck(checked=9, hashed=0, faults=(RUNTIME_GONE,)),
        hashes="not asked",
        torch_runtime="import-torch failed",
        trial=trial(
            raised(
                "import-torch", "libcudart.so.13: cannot open shared object file: No such file or directory"
            )
        ),
        **with_wheels(cuda_runtime="13.0.96"),
    )
    [(id, beneath)] = diagnosed(given)
    assert id == MISSING
    assert set(beneath) == {"python/files-missing-or-altered", "torch/import-failed"}


def test_a_lost_file_that_the_system_replaces_is_told_as_lost() -> None:
    given = facts(
        files=FileCheck(checked=9, hashed=0, faults=(RUNTIME_GONE,)), **with_wheels(cuda_runtime="13.0.96")
    )
    assert [one.id for one in findings(given) if one.severity == "error"] == [
        "python/files-missing-or-altered"
    ]


@pytest.mark.parametrize(
    ("name", "stem"),
    [
        ("libcudart.so.13", "libcudart"),
        ("libcublasLt.so.12", "libcublasLt"),
        ("libcudnn_ops_infer.so.8", "libcudnn"),
        ("libcudart-d0da41ae.so.11.0", "libcudart"),
        ("libnvshmem_host.so.3", "libnvshmem_host"),
        ("libcuda.so.1", "libcuda"),
        ("libstdc++.so.6", "libstdc++"),
    ],
)
def test_the_stem_of_a_name(name: str, stem: str) -> None:
    assert stem_of(name) == stem
    assert is_cuda(name) is (stem not in ("libcuda", "libstdc++"))


@pytest.mark.parametrize(
    ("cuda", "name", "package"),
    [
        ("13.0", "libcudart.so.13", "nvidia-cuda-runtime"),
        ("12.8", "libcudart.so.12", "nvidia-cuda-runtime-cu12"),
        ("13.0", "libcudnn.so.9", "nvidia-cudnn-cu13"),
        ("12.8", "libcublasLt.so.12", "nvidia-cublas-cu12"),
        ("13.0", "libcusparseLt.so.0", "nvidia-cusparselt-cu13"),
    ],
)
def test_the_wheel_that_brings_a_library(cuda: str, name: str, package: str) -> None:
    torch = healthy.but(healthy.FACTS.torch, cuda_version=cuda)
    assert wheel_of(facts(torch=torch), name) == package


def test_torch_s_own_pin_is_asked_for() -> None:
    given = packages()
    torch = healthy.but(
        given.installed["torch"], requires=("nvidia-nccl-cu13==2.29.7; platform_system == 'Linux'",)
    )
    lacking = facts(
        packages=healthy.but(given, installed={**given.installed, "torch": torch}),
        linkage=linkage(torch_library(needed("libnccl.so.2", ""))),
        trial="--quick",
    )
    commands = [fix.commands for one in findings(lacking) if one.id == MISSING for fix in one.fixes]
    assert commands == [((PYTHON, "-m", "pip", "install", "nvidia-nccl-cu13==2.29.7"),)]
