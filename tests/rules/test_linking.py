"""Libraries that no loader takes, and predictions that did not come true."""

from __future__ import annotations

from typing import Any

import healthy
import pytest
from healthy import SITE, but, died, facts, trial

from doctor.diagnosis import diagnose
from doctor.facts import Facts, FileCheck, FileFault, Package
from doctor.findings import Subject
from doctor.native import NativeLibrary
from doctor.rules.linking import key_of

from .judging import case, check, findings, ids
from .linkages import BNB, NVIDIA, OWN, bnb_library, linkage, needed, torch_library

GLIBC, LIBSTDCXX, LOST = "system/glibc-too-old", "system/libstdcxx-too-old", "system/library-missing"
CORRUPT, DIFFERS = "torch/native-library-corrupt", "doctor/prediction-differs"
TORCH, RUNTIME = healthy.FACTS.torch_runtime, healthy.FACTS.bitsandbytes_runtime
NOT_TRIED = {"trial": "--quick", "torch_runtime": "--quick", "bitsandbytes_runtime": "--quick"}
CUT = needed("libcudart.so.13", fault="is cut short")
TORCH_CUDA = f"{SITE}/torch/lib/libtorch_cuda.so"
MAPPED = (*OWN.values(), f"{SITE}/torch/lib/libtorch_cpu.so")


def flash(**fields: Any) -> NativeLibrary:
    return NativeLibrary(package="flash-attn", path=f"{SITE}/flash_attn_2_cuda.cpython-311.so", **fields)


def mapped(*objects: str, of_bnb: tuple[str, ...] | None = None) -> dict[str, Any]:
    """What the trial saw mapped after ``import torch``, and after ``import bitsandbytes``."""
    both = objects if of_bnb is None else of_bnb
    return {
        "torch_runtime": but(TORCH, objects=objects),
        "bitsandbytes_runtime": but(RUNTIME, objects=(*both, BNB)),
    }


def checked(package: str, version: str, name: str) -> FileCheck:
    """A file that is shorter than recorded."""
    fault = FileFault(package=package, version=version, altered=(name,), altered_count=1, truncated=(name,))
    return FileCheck(checked=9, hashed=0, faults=(fault,))


HITS = {
    "a wheel for a newer glibc": case(
        GLIBC,
        "error",
        facts(linkage=linkage(bnb_library(glibc="2.38")), **NOT_TRIED),
        "libbitsandbytes_cuda130.so of bitsandbytes needs glibc 2.38, and this system has 2.36",
        seen=("glibc: 2.36 -> 2.38 or newer",),
    ),
    "a bitsandbytes that a later release repairs": case(
        GLIBC,
        "error",
        facts(
            packages=healthy.packages(bitsandbytes="0.45.5"),
            linkage=linkage(bnb_library(glibc="2.38")),
            **NOT_TRIED,
        ),
        "needs glibc 2.38",
        command="-m pip install bitsandbytes>=0.46.0",
    ),
    "an extension for a newer glibc": case(
        GLIBC, "warning", facts(linkage=linkage(flash(glibc="2.38"))), "of flash-attn needs glibc 2.38"
    ),
    "an old libstdc++ by a variable": case(
        LIBSTDCXX,
        "error",
        facts(
            linkage=linkage(
                torch_library(
                    needed(
                        "libstdc++.so.6",
                        "/opt/conda/lib/libstdc++.so.6",
                        by="LD_LIBRARY_PATH",
                        fault="lacks version GLIBCXX_3.4.32",
                        asked_by="libtorch_cpu.so",
                    )
                )
            ),
            environment={"LD_LIBRARY_PATH": "/opt/conda/lib"},
            **NOT_TRIED,
        ),
        "/opt/conda/lib/libstdc++.so.6 lacks GLIBCXX_3.4.32, which libtorch_cpu.so of torch needs",
        command="unset LD_LIBRARY_PATH",
    ),
    "cut short": case(
        CORRUPT,
        "error",
        facts(linkage=linkage(torch_library(CUT)), **NOT_TRIED),
        f"{NVIDIA}/libcudart.so.13, which torch loads, is cut short",
        command="-m pip install nvidia-cuda-runtime",
    ),
    "zeros in place of what the loader reads": case(
        CORRUPT,
        "error",
        facts(
            linkage=linkage(torch_library(needed("libnccl.so.2", fault="has a damaged dynamic section"))),
            **NOT_TRIED,
        ),
        "libnccl.so.2, which torch loads, has a damaged dynamic section",
        command="-m pip install nvidia-nccl-cu13",
    ),
    "a folder of its name": case(
        CORRUPT,
        "error",
        facts(
            linkage=linkage(torch_library(needed("libcublas.so.13", fault="is no regular file"))), **NOT_TRIED
        ),
        f"{NVIDIA}/libcublas.so.13, which torch loads, is no regular file",
    ),
    "torch's own for another machine": case(
        CORRUPT,
        "error",
        facts(linkage=linkage(torch_library(fault="is for aarch64")), **NOT_TRIED),
        "_C.cpython-311-x86_64-linux-gnu.so, which torch loads, is for aarch64",
        command="torch==2.13.0+cu130",
    ),
    "a system library that is not there": case(
        LOST,
        "error",
        facts(linkage=linkage(torch_library(needed("libmpi.so.40", ""))), **NOT_TRIED),
        "libtorch_cuda.so of torch needs libmpi.so.40, and the loader finds none",
    ),
    "another file was mapped": case(
        DIFFERS,
        "note",
        facts(linkage=linkage(), **mapped(*MAPPED[1:], "/opt/lib/libcudart.so.13.0.88")),
        f"For torch this doctor told {OWN['libcudart.so.13']}, and saw /opt/lib/libcudart.so.13.0.88",
        seen=(f"torch: /opt/lib/libcudart.so.13.0.88 -> {OWN['libcudart.so.13']}",),
    ),
    "nothing was mapped": case(
        DIFFERS,
        "note",
        facts(linkage=linkage(), **mapped(*MAPPED, of_bnb=MAPPED[1:])),
        "For bitsandbytes",
        seen=("nothing of that name ->",),
    ),
    "another library of bitsandbytes": case(
        DIFFERS,
        "note",
        facts(
            linkage=linkage(),
            bitsandbytes_runtime=but(RUNTIME, library="libbitsandbytes_cuda132.so"),
        ),
        "told libbitsandbytes_cuda130.so, and saw libbitsandbytes_cuda132.so",
    ),
    "told as broken and seen to load": case(
        DIFFERS,
        "note",
        facts(linkage=linkage(torch_library(CUT)), **mapped(*MAPPED)),
        "told that _C.cpython-311-x86_64-linux-gnu.so cannot be loaded, and saw torch loaded",
    ),
}

MISSES = {
    "what was told was mapped": facts(linkage=linkage(), **mapped(*MAPPED)),
    "the glibc that there is": facts(linkage=linkage(bnb_library(glibc="2.36")), **NOT_TRIED),
    "a system without a versioned C library": facts(
        system=but(healthy.FACTS.system, libc="musl"), linkage=linkage(bnb_library(glibc="2.38")), **NOT_TRIED
    ),
    "a file of torch's of which RECORD tells": facts(
        linkage=linkage(torch_library(needed("libtorch_cuda.so", TORCH_CUDA, fault="is cut short"))),
        files=checked("torch", "2.13.0+cu130", "torch/lib/libtorch_cuda.so"),
        **NOT_TRIED,
    ),
    "a GPU that torch does not see after all": facts(
        linkage=linkage(),
        torch_runtime=but(TORCH, objects=MAPPED, cuda_available=False),
        bitsandbytes_runtime=but(RUNTIME, library="libbitsandbytes_cpu.so", objects=MAPPED[1:]),
    ),
    "a system that does not tell what is mapped": facts(linkage=linkage()),
}


@pytest.mark.parametrize("name", HITS)
def test_hit(name: str) -> None:
    check(*HITS[name])


@pytest.mark.parametrize("name", MISSES)
def test_near_miss(name: str) -> None:
    ours = {GLIBC, LIBSTDCXX, LOST, CORRUPT, DIFFERS}
    assert ours & {*ids(MISSES[name])} == set()


def test_a_death_without_a_word_is_of_the_library_that_is_cut_short() -> None:
    given = facts(
        linkage=linkage(torch_library(CUT)),
        trial=trial(died("import-torch", "SIGBUS")),
        torch_runtime="it died",
    )
    report = diagnose(given, Subject("live", "here"))
    [error] = [one for one in report.findings if one.severity == "error"]
    assert error.id == CORRUPT and [one.id for one in error.symptoms] == ["torch/import-crashed"]


def test_a_wheel_of_nvidia_that_is_cut_short_is_told_once() -> None:
    wheel = "nvidia-cuda-runtime"
    installed = Package(name=wheel, version="13.0.96", location=SITE, installer="pip", modules=("nvidia",))
    given = facts(
        packages=healthy.packages(nvidia_cuda_runtime=installed),
        files=checked(wheel, "13.0.96", "nvidia/cu13/lib/libcudart.so.13"),
        hashes="not asked",
        linkage=linkage(torch_library(CUT)),
        trial=trial(died("import-torch", "SIGBUS", modules=("torch",))),
        torch_runtime="it died",
    )
    report = diagnose(given, Subject("live", "here"))
    [error] = [one for one in report.findings if one.severity == "error"]
    beneath = {one.id for one in error.symptoms}
    assert error.id == CORRUPT
    assert beneath == {"python/files-missing-or-altered", "torch/import-crashed"}


def test_one_package_is_told_once_of_one_glibc() -> None:
    both = (flash(glibc="2.38"), but(flash(glibc="2.38"), path=f"{SITE}/other.so"))
    told = [one for one in findings(facts(linkage=linkage(*both))) if one.id == GLIBC]
    assert len(told) == 1


@pytest.mark.parametrize(
    ("path", "key"),
    [
        ("/a/libcudart.so.13", "libcudart.so.13"),
        ("/b/libcudart.so.13.0.88", "libcudart.so.13"),
        ("/b/libcudart-d0da41ae.so.11.0", "libcudart-d0da41ae.so.11"),
        ("/a/libtorch_cpu.so", "libtorch_cpu.so"),
    ],
)
def test_files_of_one_library_have_one_key(path: str, key: str) -> None:
    assert key_of(path) == key


def test_the_healthy_machine_came_as_told() -> None:
    given: Facts = healthy.FACTS
    assert DIFFERS not in ids(given)
