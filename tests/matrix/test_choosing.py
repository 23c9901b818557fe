"""Which torch is put in place of one that cannot work here, and which driver has to come first."""

from __future__ import annotations

from typing import Any

import healthy
import msgspec
import pytest
from healthy import but

from doctor.facts import Driver, Facts, Gpu, TorchBuild
from doctor.matrix.choosing import TorchChoice, driver_for, torch_for
from doctor.matrix.machine import Machine
from doctor.matrix.torch_builds import architectures_of, cuda_of, runs_on_driver, variants
from doctor.wanted import Wanted

SYSTEM, INTERPRETER = healthy.FACTS.system, healthy.FACTS.interpreter
WANTED = Wanted(file="requirements.txt", form="open", requirements=())


def machine(
    driver: str,
    *capabilities: str,
    torch: str = "2.13.0",
    python: str = "3.11.9",
    bitsandbytes: str = "0.50.2",
    **system: Any,
) -> Facts:
    """A machine with torch; "" for a driver that is not known."""
    variant = torch.partition("+")[2] or "cu130"
    return healthy.facts(
        system=but(SYSTEM, **system),
        interpreter=but(INTERPRETER, version=python),
        driver=Driver(version=driver, cuda_version=None, source="nvml") if driver else "does not answer",
        gpus=tuple(
            Gpu(index=index, name="GPU", compute_capability=one, memory_total_bytes=1, memory_free_bytes=1)
            for index, one in enumerate(capabilities)
        ),
        packages=healthy.packages(torch=torch, bitsandbytes=bitsandbytes),
        torch=TorchBuild(version=torch, cuda_version=cuda_of(variant), hip_version=None, variant=variant),
        torch_runtime=None,
        cuda_driver=None,
    )


@pytest.mark.parametrize(
    ("facts", "release"),
    [
        # The same release first, by its plain build where that runs.
        (machine("580.95.05", "9.0"), "2.13.0+cu130"),
        (machine("580.95.05", "12.0"), "2.13.0+cu130"),
        (machine("580.95.05", "7.0"), "2.13.0+cu126"),  # CUDA 13 dropped Volta
        (machine("580.95.05", "6.0"), "2.13.0+cu126"),
        (machine("580.95.05", "6.1"), "2.13.0+cu126"),
        (machine("535.104.05", "7.5"), "2.13.0+cu126"),  # CUDA 12 and no newer major
        (machine("550.54.15", "8.9"), "2.13.0+cu126"),
        (machine("580.95.05", "9.0", torch="2.6.0+cpu"), "2.6.0+cu124"),
        (machine("580.95.05", "9.0", torch="2.0.1+cu117"), "2.0.1+cu118"),  # sm_90 came with it
        (machine("580.95.05", "7.0", torch="2.9.1+cu130"), "2.9.1+cu128"),
        (machine("580.95.05", "6.1", torch="2.8.0+cu128"), "2.8.0+cu126"),
        # "2.13.*" is what the other build of it satisfies already, and an installer would do nothing.
        (machine("580.95.05", "9.0", torch="2.13.0+rocm7.1"), "2.13.0+cu130"),
        (machine("580.95.05", "9.0", torch="2.13.0+local"), "2.13.0+cu130"),
        (machine("580.95.05", "9.0", torch="2.13.0a0+nv25.3"), "2.13.*"),
        # Else the nearest release that has a build.
        (machine("570.124.06", "12.0", torch="2.5.1+cu124"), "2.7.*"),
        (machine("570.124.06", "12.0", torch="2.13.0+cu126"), "2.11.*"),
        (machine("470.256.02", "7.5"), "2.7.*"),  # the last torch for CUDA 11
        (machine("470.256.02", "3.7"), "2.6.*"),  # and for a K80
        (machine("470.256.02", "7.5", python="3.8.18"), "2.4.*"),
        (machine("580.95.05", "7.0", torch="1.13.1+cu117"), "2.0.*"),
        (machine("580.95.05", "8.9", torch="2.6.0a0+ecf3bae40a.nv25.01"), "2.6.*"),
        # Every GPU of the machine counts.
        (machine("580.95.05", "9.0", "7.0"), "2.13.0+cu126"),
        (machine("580.95.05", "12.0", "7.0"), "2.10.*"),
        # ARM servers, Windows, WSL, a Python without wheels.
        (machine("580.95.05", "9.0", arch="aarch64"), "2.13.0+cu130"),
        (machine("580.95.05", "12.1", arch="aarch64", torch="2.13.0+cu126"), "2.13.0+cu130"),
        (machine("580.97", "8.6", os="win32", arch="AMD64"), "2.13.0+cu130"),
        (machine("546.80", "8.6", os="win32", arch="AMD64"), "2.13.0+cu126"),
        (machine("546.80", "8.6", wsl=True), "2.13.0+cu126"),
        (machine("526.98", "8.6", wsl=True), "2.7.*"),  # 527.41 is the first Windows driver of CUDA 12
        (machine("526.98", "8.6"), "2.13.0+cu126"),
        (machine("580.95.05", "8.6", os="win32", arch="ARM64"), None),
        (machine("580.95.05", "8.6", os="darwin", arch="arm64"), None),
        (machine("470.256.02", "8.9", python="3.14.0"), None),
        # Drivers that run nothing, or not this GPU.
        (machine("390.157", "6.1"), None),
        (machine("535.104.05", "12.0"), None),
        (machine("595.45.04", "7.0"), None),
        (machine("", "9.0"), None),
        (machine("580.95.05", "2.1"), None),
    ],
    ids=lambda value: str(value) if isinstance(value, str) else "",
)
def test_the_build_that_changes_least(facts: Facts, release: str | None) -> None:
    choice = torch_for(facts)
    assert (choice.release if choice else None) == release
    if choice and choice.release.startswith("2.13.0"):
        assert choice == TorchChoice(release or "", choice.release.partition("+")[2])


def test_the_newest_release_where_torch_is_not_installed() -> None:
    facts = msgspec.structs.replace(machine("580.95.05", "9.0"), torch=None)
    assert torch_for(facts) == TorchChoice("2.15.*", "cu132")


def test_the_build_is_one_for_which_bitsandbytes_has_a_library() -> None:
    facts = machine("580.95.05", "8.6", torch="2.8.0+cpu", bitsandbytes="0.45.2")  # ships no cu128
    assert torch_for(facts) == TorchChoice("2.8.0+cu126", "cu126")


def test_what_the_driver_says_of_itself_outweighs_its_number() -> None:
    old = machine("535.104.05", "9.0")
    compat = msgspec.structs.replace(old, driver=but(old.driver, cuda_version="13.0"))
    assert torch_for(compat) == TorchChoice("2.13.0+cu130", "cu130")


def test_a_file_is_judged_by_the_gpu_alone() -> None:
    facts = machine("", "7.0")
    assert facts.packages
    described = msgspec.structs.replace(facts, packages=but(facts.packages, wanted=WANTED))
    assert torch_for(described) == TorchChoice("2.13.0+cu126", "cu126")
    nothing = msgspec.structs.replace(described, gpus=None)
    assert torch_for(nothing) is None


@pytest.mark.parametrize(
    ("facts", "driver"),
    [
        (machine("535.104.05", "12.0", torch="2.13.0+cu130"), "580"),
        (machine("535.104.05", "12.0", torch="2.7.1+cu128"), "570"),  # of the GPU, for CUDA 12 needs less
        (machine("390.157", "6.1"), "525.60.13"),
        (machine("390.157", "8.6", os="win32", arch="AMD64"), "580"),
        (machine("390.157", "3.7"), "450.80.02"),
        (machine("390.157"), ""),  # no GPU to go by
        (machine("535.104.05", "2.1"), ""),
    ],
    ids=str,
)
def test_the_driver_that_has_to_come_first(facts: Facts, driver: str) -> None:
    assert driver_for(facts) == driver


def test_builds_by_the_table() -> None:
    assert variants("2.13", Machine()) == ("cpu",)
    assert variants("2.13", Machine(driver="580.95.05")) == ("cu126", "cu132", "cu130")
    assert variants("2.13", Machine(driver="580.95.05", torch_cuda="12.6")) == ("cu126",)
    assert "sm_120" in architectures_of("2.13", "cu130", "x86_64")
    assert architectures_of("2.13", "cu999", "x86_64") == ()
    assert (cuda_of("cu126"), cuda_of("cu118"), cuda_of("cpu")) == ("12.6", "11.8", "")


def test_whether_a_driver_runs_a_build() -> None:
    facts = machine("535.104.05", "8.6")
    assert runs_on_driver("cu126", facts) and not runs_on_driver("cu130", facts)
    assert not runs_on_driver("cpu", facts)
    assert not runs_on_driver("cu126", machine("", "8.6"))
