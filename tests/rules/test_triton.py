"""What triton lacks for compiling, and when it is nobody's concern."""

from __future__ import annotations

import msgspec
import pytest
from healthy import FACTS, LIBRARY_FOLDER, but, packages

from doctor.facts import Facts, Toolkit

from .judging import case, check, facts, findings, ids

HEADERS, LINK = "triton/python-headers-missing", "triton/libcuda-not-linkable"
TOO_NEW, CACHE = "triton/gpu-too-new", "triton/cache-not-writable"
COMPILING, SYSTEM, INTERPRETER = FACTS.compiling, FACTS.system, FACTS.interpreter
GPU = FACTS.gpus[0]  # type: ignore[index]
CONDA = but(INTERPRETER, kind="conda", prefix="/opt/conda/envs/lora", base_prefix="/opt/conda")


def compiling(**changes: object) -> Facts:
    return facts(compiling=but(COMPILING, **changes))


def lacking(name: str, **changes: object) -> Facts:
    """No Python.h on a system of this name."""
    return facts(compiling=but(COMPILING, python_header=""), system=but(SYSTEM, name=name), **changes)


def with_gpu(triton: str, capability: str, name: str = "NVIDIA GB10", **changes: object) -> Facts:
    """A GPU beside a triton; torch's own build is another matter."""
    gpu = but(GPU, name=name, compute_capability=capability)
    seen = but(COMPILING, triton=triton, **{"ptxas_version": "", **changes})
    return facts(
        gpus=(gpu,), packages=packages(triton=triton), compiling=seen, torch=None, torch_runtime=None
    )


HITS = {
    "no Python.h on Debian": case(
        HEADERS,
        "warning",
        compiling(python_header=""),
        "triton 3.7.1 finds no Python.h to compile its launcher with",
        seen=("Python.h: not there",),
        command="sudo apt-get install -y python3.11-dev",
    ),
    "no Python.h on Fedora": case(
        HEADERS,
        "warning",
        lacking("Fedora Linux 42 (Workstation Edition)"),
        "no Python.h",
        command="sudo dnf install -y python3.11-devel",
    ),
    "no Python.h on openSUSE": case(
        HEADERS,
        "warning",
        lacking("openSUSE Leap 15.6"),
        "no Python.h",
        command="zypper install -y python311-devel",
    ),
    "no compiler in a container": case(
        HEADERS,
        "warning",
        facts(
            compiling=but(COMPILING, compiler=""),
            system=but(SYSTEM, name="Ubuntu 24.04.3 LTS", container="docker"),
        ),
        "finds no C compiler to compile",
        seen=("C compiler: none -> $CC, else gcc or clang on PATH",),
        command="apt-get install -y build-essential",
    ),
    "a compiler is stated that is not there": case(
        HEADERS,
        "warning",
        facts(compiling=but(COMPILING, compiler=""), environment={"CC": "/nowhere/gcc"}),
        "finds no C compiler",
        seen=("C compiler: /nowhere/gcc",),
        command="unset CC",
    ),
    "neither, with conda": case(
        HEADERS,
        "warning",
        facts(compiling=but(COMPILING, compiler="", python_header=""), interpreter=CONDA),
        "finds no C compiler and no Python.h",
        command="conda install -p /opt/conda/envs/lora -c conda-forge c-compiler",
    ),
    "libcuda.so.1 alone": case(
        LINK,
        "warning",
        compiling(triton="3.5.1", libcuda_link=""),
        f"triton 3.5.1 links with -lcuda, and {LIBRARY_FOLDER} has no libcuda.so",
        seen=(f"libcuda: {LIBRARY_FOLDER}/libcuda.so.580.95.05",),
        command=f"sudo ln -s libcuda.so.1 {LIBRARY_FOLDER}/libcuda.so",
    ),
    "a GPU after the triton": case(
        TOO_NEW,
        "warning",
        with_gpu("3.5.1", "12.1"),
        "triton 3.5.1 assembles with ptxas 12.8, which does not know the NVIDIA GB10",
        seen=("compute capability 12.1", "ptxas: 12.8 -> one that knows 12.1"),
        command="export TRITON_PTXAS_PATH=/usr/local/cuda-13.0/bin/ptxas",
    ),
    "a ptxas of one's own that is older still": case(
        TOO_NEW,
        "warning",
        with_gpu("3.7.1", "12.0", "NVIDIA GeForce RTX 5090", ptxas_version="12.4"),
        "assembles with ptxas 12.4",
    ),
    "a home that cannot be written": case(
        CACHE,
        "warning",
        compiling(cache_fault="not writable"),
        "triton's cache folder /home/ada/.triton/cache is not writable",
        command="export TRITON_CACHE_DIR=",
    ),
    "a home that runs nothing": case(
        CACHE, "warning", compiling(cache_fault="mounted noexec"), "is mounted noexec", seen=("noexec",)
    ),
}
BROKEN = but(COMPILING, compiler="", python_header="", libcuda_link="", cache_fault="not writable")
MISSES = {
    "no triton": facts(compiling=but(BROKEN, triton="")),
    "no GPU": facts(compiling=BROKEN, gpus=()),
    "Windows, whose triton brings a compiler": facts(
        compiling=but(BROKEN), system=but(SYSTEM, os="win32", name="Windows 11")
    ),
    "no libcuda of a driver at all": facts(
        compiling=but(COMPILING, libcuda_link=""),
        driver_signs=but(FACTS.driver_signs, libraries={}),
    ),
    "a newer ptxas is named": with_gpu("3.5.1", "12.1", ptxas_version="13.1"),
    "a triton that is not in the table": with_gpu("99.0", "12.1"),
    "an old GPU, of which the table tells nothing": with_gpu("3.7.1", "7.5", "Tesla T4"),
    "a GPU whose capability is not known": facts(
        gpus=(but(GPU, compute_capability=None),), torch_runtime=None
    ),
}


@pytest.mark.parametrize("name", HITS)
def test_hit(name: str) -> None:
    check(*HITS[name])


@pytest.mark.parametrize("name", MISSES)
def test_near_miss(name: str) -> None:
    assert [id for id in ids(MISSES[name]) if id.startswith("triton/")] == []


def test_the_newer_torch_is_named_where_no_toolkit_helps() -> None:
    given = msgspec.structs.replace(with_gpu("3.2.0", "12.0"), toolkits=())
    [finding] = [finding for finding in findings(given) if finding.id == TOO_NEW]
    assert [fix.title for fix in finding.fixes] == [
        "Upgrade torch to a release that brings triton 3.3 or newer"
    ]


def test_a_toolkit_that_is_older_than_the_gpu_is_no_help() -> None:
    old = Toolkit(path="/usr/local/cuda-12.4", version="12.4", found_by="folder", has_compiler=True)
    given = msgspec.structs.replace(with_gpu("3.2.0", "12.0"), toolkits=(old,))
    [finding] = [finding for finding in findings(given) if finding.id == TOO_NEW]
    assert len(finding.fixes) == 1 and not finding.fixes[0].commands


def test_a_triton_with_two_assemblers_has_a_variable_for_the_second() -> None:
    given = with_gpu("3.3.1", "12.1", ptxas="/x/triton/backends/nvidia/bin/ptxas-blackwell")
    [finding] = [finding for finding in findings(given) if finding.id == TOO_NEW]
    assert finding.fixes[0].commands[0][1].startswith("TRITON_PTXAS_BLACKWELL_PATH=")


def test_an_unknown_system_gets_words_and_no_command() -> None:
    [finding] = findings(lacking("Void Linux"))
    assert [fix.commands for fix in finding.fixes] == [()]


def test_headers_of_a_python_that_is_not_the_systems_are_not_in_its_packages() -> None:
    own = but(INTERPRETER, base_prefix="/home/ada/.pyenv/versions/3.11.9")
    [finding] = findings(lacking("Debian GNU/Linux 12 (bookworm)", interpreter=own))
    assert [fix.commands for fix in finding.fixes] == [()]
