"""What triton would compile with, by its own rules, and the limits of the machine."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import healthy
import pytest
from fakes import HUNG, NOT_STARTED, FakeHost, emits
from healthy import LIBRARY_FOLDER, SITE, TRITON_TOOLS, installed, survey

from doctor.child import Patience
from doctor.collectors import SURVEY, collect, program
from doctor.facts import Compiling, Gap
from doctor.host import Disk, LocalHost
from doctor.probes import Looks
from doctor.probes.compiling import Triton as Installed
from doctor.probes.compiling import compiler, hub_cache, libcuda, probe, ptxas_version, triton_cache

SEEN = healthy.FACTS.compiling
NEW = Installed("3.7.1", f"{SITE}/triton")
OLD = Installed("3.5.1", f"{SITE}/triton")
LINK, FULL = "libcuda.so", "libcuda.so.1"


def looked(quick: bool = False, **scripted: Any) -> Compiling:
    looks = Looks(healthy.host(**scripted), healthy.TARGET)
    looks.quick = quick
    found = probe(looks)
    assert isinstance(found, Compiling)
    return found


def with_triton(version: str, name: str = "triton") -> Any:
    return emits(*survey(packages={"found": [installed(name, version)]}))


def machine(*files: str, **scripted: Any) -> FakeHost:
    return FakeHost(files=dict.fromkeys(files, ""), **scripted)


@pytest.mark.parametrize("reply", [NOT_STARTED, HUNG, emits(survey()[0], code=1)])
def test_without_the_interpreter_nothing_is_told(reply: Any) -> None:
    found = probe(Looks(healthy.host(survey=reply), healthy.TARGET))
    assert isinstance(found, Gap)
    assert (found.about, found.kind) == ("compiling", "failed")


def test_a_quick_look_starts_no_ptxas() -> None:
    assert looked(quick=True) == healthy.but(SEEN, ptxas_version="")


def test_without_triton_no_ptxas_is_named() -> None:
    found = looked(survey=emits(*survey(packages={"found": [installed("torch", "2.13.0")]})))
    assert (found.triton, found.ptxas, found.ptxas_version) == ("", "", "")


def test_a_nightly_of_torch_brings_its_triton_under_another_name() -> None:
    assert looked(survey=with_triton("3.5.0+git7416ffcb", "pytorch-triton")).triton == "3.5.0+git7416ffcb"


# -- the compiler


@pytest.mark.parametrize(
    ("programs", "env", "taken"),
    [
        (("gcc", "clang", "cc"), {}, "/usr/bin/gcc"),
        (("clang", "cc"), {}, "/usr/bin/clang"),
        (("cc",), {}, ""),  # triton does not know it
        (("gcc", "icx"), {"CC": "icx"}, "/usr/bin/icx"),
        (("gcc",), {"CC": "icx"}, ""),  # it does not look further
        ((), {}, ""),
    ],
)
def test_the_compiler_by_the_rule_of_triton(
    programs: tuple[str, ...], env: dict[str, str], taken: str
) -> None:
    host = FakeHost(programs={name: f"/usr/bin/{name}" for name in programs}, env=env)
    assert compiler(host) == taken


def test_the_headers_are_those_of_the_target() -> None:
    assert (
        looked(survey=emits(*survey(headers={"include_folder": "/opt/python/include"}))).python_header == ""
    )


# -- libcuda

DRIVER = {FULL: f"{LIBRARY_FOLDER}/{FULL}"}


@pytest.mark.parametrize(
    ("triton", "files", "env", "taken"),
    [
        (NEW, (f"{LIBRARY_FOLDER}/{FULL}",), {}, f"{LIBRARY_FOLDER}/{FULL}"),
        (OLD, (f"{LIBRARY_FOLDER}/{FULL}",), {}, ""),
        (OLD, (f"{LIBRARY_FOLDER}/{LINK}",), {}, f"{LIBRARY_FOLDER}/{LINK}"),
        (OLD, (f"/stubs/{LINK}",), {"LIBRARY_PATH": "/none:/stubs"}, f"/stubs/{LINK}"),
        (OLD, (f"/stubs/{LINK}",), {"LD_LIBRARY_PATH": "/stubs"}, ""),  # of the loader, not of the linker
        (OLD, (f"/mine/{LINK}",), {"TRITON_LIBCUDA_PATH": "/mine"}, f"/mine/{LINK}"),
        (OLD, (f"/usr/lib/{LINK}",), {}, f"/usr/lib/{LINK}"),  # the linker looks there of itself
        (None, (f"{LIBRARY_FOLDER}/{FULL}",), {}, f"{LIBRARY_FOLDER}/{FULL}"),
        (Installed("unknown", ""), (f"{LIBRARY_FOLDER}/{FULL}",), {}, f"{LIBRARY_FOLDER}/{FULL}"),
    ],
)
def test_libcuda_by_the_rule_of_each_release(
    triton: Installed | None, files: tuple[str, ...], env: dict[str, str], taken: str
) -> None:
    assert libcuda(machine(*files, env=env, libraries=DRIVER), triton) == taken


def test_without_a_driver_there_is_none_to_link() -> None:
    assert libcuda(machine(), NEW) == ""


# -- ptxas


def gpu(capability: str) -> Any:
    return emits({**healthy.NVML, "gpus": [{**healthy.NVML["gpus"][0], "compute_capability": capability}]})


@pytest.mark.parametrize(
    ("capability", "tools", "env", "taken"),
    [
        ("9.0", ("ptxas", "ptxas-blackwell"), {}, f"{TRITON_TOOLS}/ptxas"),
        ("12.0", ("ptxas", "ptxas-blackwell"), {}, f"{TRITON_TOOLS}/ptxas-blackwell"),
        ("12.0", ("ptxas",), {}, f"{TRITON_TOOLS}/ptxas"),
        ("12.1", ("ptxas",), {"TRITON_PTXAS_PATH": "/usr/local/cuda/bin/ptxas"}, "/usr/local/cuda/bin/ptxas"),
        ("12.1", ("ptxas",), {"TRITON_PTXAS_PATH": "/gone/ptxas"}, f"{TRITON_TOOLS}/ptxas"),
        (
            "12.1",
            ("ptxas", "ptxas-blackwell"),
            {"TRITON_PTXAS_PATH": "/usr/local/cuda/bin/ptxas"},
            f"{TRITON_TOOLS}/ptxas-blackwell",
        ),
        ("8.9", (), {}, ""),
    ],
)
def test_the_ptxas_for_a_gpu(
    capability: str, tools: tuple[str, ...], env: dict[str, str], taken: str
) -> None:
    files = [*(f"{TRITON_TOOLS}/{tool}" for tool in tools), "/usr/local/cuda/bin/ptxas"]
    found = looked(quick=True, nvml=gpu(capability), env=env, files=dict.fromkeys(files, ""))
    assert found.ptxas == taken


def test_an_old_triton_keeps_its_ptxas_elsewhere() -> None:
    path = f"{SITE}/triton/third_party/cuda/bin/ptxas"
    assert looked(quick=True, survey=with_triton("2.1.0"), files={path: ""}).ptxas == path


def test_a_real_program_is_asked_for_its_version(tmp_path: Path) -> None:
    tool = tmp_path / "ptxas"
    tool.write_text("#!/bin/sh\necho 'Cuda compilation tools, release 13.1, V13.1.80'\n")
    tool.chmod(0o755)
    host = LocalHost()
    assert ptxas_version(host, str(tool)) == "13.1"
    tool.write_text("#!/bin/sh\nexit 1\n")
    assert ptxas_version(host, str(tool)) == ""


# -- folders

HOME = {"HOME": "/home/ada"}


@pytest.mark.parametrize(
    ("env", "folder"),
    [
        (HOME, "/home/ada/.triton/cache"),
        ({**HOME, "TRITON_HOME": "/scratch"}, "/scratch/.triton/cache"),
        ({**HOME, "TRITON_CACHE_DIR": "/fast"}, "/fast"),
        ({**HOME, "TRITON_CACHE_DIR": " "}, "/home/ada/.triton/cache"),
        ({}, ""),
    ],
)
def test_the_cache_of_triton(env: dict[str, str], folder: str) -> None:
    assert triton_cache(FakeHost(env=env)) == folder


@pytest.mark.parametrize(
    ("env", "folder"),
    [
        (HOME, "/home/ada/.cache/huggingface/hub"),
        ({**HOME, "XDG_CACHE_HOME": "/xdg"}, "/xdg/huggingface/hub"),
        ({**HOME, "HF_HOME": "/data/hf"}, "/data/hf/hub"),
        ({**HOME, "HF_HOME": "~/hf"}, "/home/ada/hf/hub"),
        ({**HOME, "HF_HOME": "/data/hf", "HF_HUB_CACHE": "/models"}, "/models"),
        ({"USERPROFILE": "C:/ada"}, os.path.join("C:/ada", ".cache", "huggingface", "hub")),
        ({}, ""),
    ],
)
def test_the_cache_of_models(env: dict[str, str], folder: str) -> None:
    assert hub_cache(FakeHost(env=env)) == folder


@pytest.mark.parametrize(
    ("disk", "fault"),
    [
        (Disk(1 << 30, True, True), ""),
        (Disk(1 << 30, False, True), "not writable"),
        (Disk(1 << 30, True, False), "mounted noexec"),
    ],
)
def test_what_is_the_matter_with_the_cache(disk: Disk, fault: str) -> None:
    found = looked(quick=True, disks={"/home/ada": disk})
    assert (found.cache_fault, found.cache_free_bytes) == (fault, 1 << 30)


def test_shared_memory_is_told_where_there_is_such_a_folder() -> None:
    host = {"files": {"/dev/shm/one": "", "/sys/class/infiniband/mlx5_0/node_type": ""}}
    found = looked(quick=True, **host, disks={"/dev/shm": Disk(3 << 20, True, False)})
    assert found.shared_memory_free_bytes == 3 << 20
    assert found.rdma_devices == ("mlx5_0",)


# -- the real interpreter


def test_the_survey_names_the_folder_that_a_compiler_is_sent_to() -> None:
    found = collect(
        LocalHost(),
        sys.executable,
        program(SURVEY),
        {"stack": [], "hash": False},
        patience=Patience(limit_s=60.0),
    )
    section = found.section("headers")
    assert section is not None
    folder = Path(section["include_folder"])
    assert folder.name == f"python{sys.version_info[0]}.{sys.version_info[1]}"


@pytest.mark.skipif(sys.platform != "linux" or not compiler(LocalHost()), reason="no C compiler is here")
def test_what_is_found_here_really_compiles(tmp_path: Path) -> None:
    """The header and the compiler that are told are those with which an extension can be built."""
    looks = Looks(LocalHost(), healthy.Target(sys.executable, "--python"))
    found = probe(looks)
    assert isinstance(found, Compiling)
    if not found.python_header:
        pytest.skip("Python.h is not here")
    source = tmp_path / "launcher.c"
    source.write_text("#include <Python.h>\nint answer(void) { return PY_MAJOR_VERSION; }\n")
    command = [found.compiler, "-c", str(source), f"-I{Path(found.python_header).parent}", "-o", "launcher.o"]
    assert subprocess.run(command, cwd=tmp_path, check=False).returncode == 0
