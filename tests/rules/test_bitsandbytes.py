"""Faults of the bitsandbytes native library, and what comes near them."""

from __future__ import annotations

from typing import Any

import healthy
import pytest
from healthy import LIBRARIES, PYTHON, but, stage_run, trial

from doctor.facts import Facts, FileCheck, FileFault, Proof, TorchBuild
from doctor.findings import Severity
from doctor.native import NativeLibrary

from .gpu_machines import machine
from .judging import case, check, facts, findings, ids
from .linkages import bnb_library, linkage, needed

BUILD, RUNTIME = healthy.FACTS.bitsandbytes, healthy.FACTS.bitsandbytes_runtime
TORCH_RUNTIME, TORCH = healthy.FACTS.torch_runtime, healthy.FACTS.torch
MISSING, CORRUPT = "bitsandbytes/native-library-missing", "bitsandbytes/native-library-corrupt"
REINSTALL = f"{PYTHON} -m pip install --force-reinstall --no-deps bitsandbytes==0.50.2"
CPU, CUDA = "bitsandbytes/libbitsandbytes_cpu.so", "bitsandbytes/libbitsandbytes_cuda130.so"


def fault(**fields: Any) -> FileFault:
    """Ill files of bitsandbytes, counted."""
    counts = {f"{kind}_count": len(fields.get(kind, ())) for kind in ("missing", "altered")}
    return FileFault(**{"package": "bitsandbytes", "version": "0.50.2", **counts, **fields})


def checked(*faults: FileFault) -> FileCheck:
    return FileCheck(checked=1234, hashed=21, faults=faults)


CUT = fault(altered=(CPU,), truncated=(CPU,))
GONE = fault(missing=(CUDA,))
MOCK = but(RUNTIME, library=None, handle="ErrorHandlerMockBNBNativeLibrary")

LINUX_ALONE = ("libbitsandbytes_cpu.so", "libbitsandbytes_cuda118.so")


def elsewhere(os: str, version: str, libraries: tuple[str, ...] | None) -> Facts:
    """bitsandbytes on macOS or Windows, NVIDIA's driver not asked. None: its files were not seen."""
    build = (
        "not seen" if libraries is None else but(BUILD, version=version, libraries=libraries, expected=None)
    )
    nothing = dict.fromkeys(("driver_signs", "driver", "gpus", "cuda_driver", "compiling", "linkage"), "none")
    runtimes = dict.fromkeys(("torch_runtime", "bitsandbytes_runtime", "trial"), "not asked")
    cpu = TorchBuild(version="2.13.0", cuda_version=None, hip_version=None, variant="cpu")
    return facts(
        **nothing,
        **runtimes,
        system=but(healthy.FACTS.system, os=os, name="of another maker", arch="arm64", libc=None),
        packages=healthy.packages(torch="2.13.0", bitsandbytes=version),
        torch=cpu,
        bitsandbytes=build,
        accelerators=(),
    )


HITS = {
    "a wheel for Linux on macOS": case(
        "bitsandbytes/macos-unsupported",
        "error",
        elsewhere("darwin", "0.42.0", LINUX_ALONE),
        "bitsandbytes 0.42.0 has libraries for Linux alone, and this is macOS",
        seen=("bitsandbytes: 0.42.0 -> 0.49.0 or newer, which has a .dylib for macOS",),
        command=f"{PYTHON} -m pip install bitsandbytes>=0.49.0",
    ),
    "a wheel for Linux on macOS, in a file": case(
        "bitsandbytes/macos-unsupported",
        "error",
        elsewhere("darwin", "0.42.0", None),
        "and this is macOS",
    ),
    "a wheel for Linux on Windows": case(
        "bitsandbytes/no-windows-binary",
        "error",
        elsewhere("win32", "0.41.3", ()),
        "bitsandbytes 0.41.3 has libraries for Linux alone, and this is Windows",
        command="bitsandbytes>=0.43.0",
    ),
    "a link that leads nowhere": case(
        MISSING,
        "error",
        facts(
            linkage=linkage(bnb_library(path="/cache/gone", fault="is not there")),
            files=checked(GONE),
            bitsandbytes_runtime=MOCK,
        ),
        "bitsandbytes 0.50.2 has no native library to load: libbitsandbytes_cuda130 is not there",
        command=REINSTALL,
    ),
    "a release from before torch's CUDA, on a GPU that takes a twin": case(
        MISSING,
        "error",
        but(
            machine("Tesla V100-SXM2-16GB", torch="2.4.0+cu124", bitsandbytes="0.43.0"),
            bitsandbytes=but(
                BUILD, version="0.43.0", libraries=LINUX_ALONE, expected="libbitsandbytes_cuda124_nocublaslt"
            ),
        ),
        "libbitsandbytes_cuda124_nocublaslt is not there",
        command="bitsandbytes>=0.43.1",
        beside=("gpu/bf16-unsupported", "gpu/int8-unsupported"),
    ),
    "no library at all": case(
        MISSING,
        "error",
        facts(bitsandbytes=but(BUILD, libraries=()), bitsandbytes_runtime=MOCK),
        "bitsandbytes 0.50.2 has no native library to load",
        seen=("libraries in its folder: none", "ErrorHandlerMockBNBNativeLibrary stands in"),
        command=REINSTALL,
    ),
    "none for the CUDA of torch": case(
        MISSING,
        "error",
        facts(bitsandbytes=but(BUILD, libraries=(LIBRARIES[0], "libbitsandbytes_cuda126.so"))),
        "libbitsandbytes_cuda130 is not there",
        seen=("none of 2 fits",),
    ),
    "the one for torch was deleted": case(
        MISSING,
        "error",
        facts(
            bitsandbytes=but(BUILD, libraries=(LIBRARIES[0],)),
            files=checked(GONE),
        ),
        "libbitsandbytes_cuda130 is not there",
        seen=("none of 1 fits",),
        command=REINSTALL,
    ),
    "cut short": case(
        CORRUPT,
        "error",
        facts(files=checked(CUT)),
        "libbitsandbytes_cpu.so of bitsandbytes 0.50.2 is cut short",
        seen=("libbitsandbytes_cpu.so: shorter than recorded",),
        command=REINSTALL,
    ),
    "a library for another machine": case(
        CORRUPT,
        "error",
        facts(
            bitsandbytes_runtime=MOCK,
            linkage=linkage(NativeLibrary(package="bitsandbytes", path=CUDA, fault="is for aarch64")),
        ),
        "libbitsandbytes_cuda130.so of bitsandbytes 0.50.2 is for aarch64",
        seen=("a library for this machine",),
        command=REINSTALL,
    ),
    "a library whose names are rubbish": case(
        CORRUPT,
        "error",
        facts(
            bitsandbytes_runtime=MOCK,
            linkage=linkage(
                bnb_library(needed("\udcff\udcfe\x01", "", asked_by="libbitsandbytes_cuda130.so"))
            ),
        ),
        "libbitsandbytes_cuda130.so of bitsandbytes 0.50.2 names libraries that cannot be, and is damaged",
        command=REINSTALL,
    ),
    "the CPU's stands in": case(
        MISSING,
        "error",
        facts(
            packages=healthy.packages(bitsandbytes="0.45.5"),
            bitsandbytes=but(BUILD, version="0.45.5", libraries=(LIBRARIES[0],)),
            bitsandbytes_runtime=but(RUNTIME, version="0.45.5", library=LIBRARIES[0]),
        ),
        "bitsandbytes 0.45.5 has no native library to load: libbitsandbytes_cuda130 is not there",
    ),
    "another size": case(
        CORRUPT,
        "error",
        facts(files=checked(fault(altered=(CPU,)))),
        "is not the file that was installed",
        seen=("not as recorded",),
    ),
    "another hash": case(
        CORRUPT, "error", facts(hashes=checked(fault(altered=(CUDA,)))), "is not the file that was installed"
    ),
    "the CPU library on a GPU": case(
        "bitsandbytes/cpu-library-loaded",
        "error",
        facts(bitsandbytes_runtime=but(RUNTIME, library="libbitsandbytes_cpu.so")),
        "loaded libbitsandbytes_cpu.so although torch sees a GPU",
        seen=("a library for CUDA 13.0",),
    ),
    "a library that is there and is refused": case(
        "bitsandbytes/native-library-not-loaded",
        "error",
        facts(
            bitsandbytes_runtime=MOCK,
            trial=trial(stage_run("import-bitsandbytes", noise="libcudart.so.13: no\n")),
        ),
        "native libraries and loads none",
        seen=("libcudart.so.13: no",),
    ),
}

MISSES = {
    "a wheel for macOS": elsewhere("darwin", "0.50.2", ("libbitsandbytes_cpu.dylib",)),
    "one that was built on macOS": elsewhere("darwin", "0.45.0", ("libbitsandbytes_cpu.dylib",)),
    "a wheel for Windows": elsewhere("win32", "0.43.0", ("libbitsandbytes_cpu.dll",)),
    "another minor release of the same CUDA": facts(
        torch=but(TORCH, cuda_version="13.2"), bitsandbytes=but(BUILD, expected="libbitsandbytes_cuda132")
    ),
    "a CPU build of torch": facts(
        torch=TorchBuild(version="2.13.0+cpu", cuda_version=None, hip_version=None, variant="cpu"),
        bitsandbytes=but(BUILD, libraries=(LIBRARIES[0],), expected="libbitsandbytes_cpu"),
        gpus=(),
    ),
    "a torch of which nothing is known": facts(
        torch="cannot be read",
        bitsandbytes=but(BUILD, expected=None, libraries=("libbitsandbytes_rocm62.so",)),
    ),
    "the CPU library where torch sees no GPU": facts(
        gpus=(),
        torch_runtime=but(TORCH_RUNTIME, cuda_available=False),
        bitsandbytes_runtime=but(RUNTIME, library="libbitsandbytes_cpu.so"),
    ),
}


@pytest.mark.parametrize("name", HITS)
def test_hit(name: str) -> None:
    check(*HITS[name])


@pytest.mark.parametrize("name", MISSES)
def test_near_miss(name: str) -> None:
    assert [id for id in ids(MISSES[name]) if id.startswith("bitsandbytes/")] == []


def spoken_of(given: Facts, word: str, severity: Severity = "error") -> bool:
    return any(finding.severity == severity and word in finding.title for finding in findings(given))


def test_the_loss_of_another_cudas_library_is_not_the_loss_of_this_one() -> None:
    """Slim images delete the libraries of the CUDA releases that they do not use."""
    given = facts(files=checked(fault(missing=("bitsandbytes/libbitsandbytes_cuda118.so",))))
    assert not spoken_of(given, "is not there")


def test_an_altered_library_is_told_beside_a_missing_module() -> None:
    module = "bitsandbytes/nn/modules.py"
    given = facts(
        files=checked(fault(missing=(module,))), hashes=checked(fault(missing=(module,), altered=(CUDA,)))
    )
    assert CORRUPT in ids(given)


def test_a_library_that_is_there_and_does_not_load() -> None:
    """glibc too old, libcudart not found: its Python code imports, and a mock stands for the library."""
    ran = Proof(name="native-library-ran", holds=False, seen="none", wanted="a native library")
    given = facts(bitsandbytes_runtime=MOCK, trial=trial(stage_run("load-4bit", proofs=(ran,))))
    assert spoken_of(given, "bitsandbytes")


def test_files_of_which_nothing_is_known_leave_the_library_unjudged() -> None:
    assert CORRUPT not in ids(facts(files="the survey broke off", hashes="the survey broke off"))
