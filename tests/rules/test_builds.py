"""GPUs against torch's build: known pairs by name, and what comes near them."""

from __future__ import annotations

import healthy
import pytest
from healthy import PYTHON, but

from doctor.facts import DriverSigns, Facts
from doctor.findings import Finding

from .gpu_machines import in_order, listed, machine
from .judging import case, check, findings

NOTES = ("gpu/bf16-unsupported", "gpu/int8-unsupported")
OLD = {"beside": NOTES}
ARM = but(healthy.FACTS.system, arch="aarch64")
CU126, CU130 = listed("2.13.0+cu126"), listed("2.13.0+cu130")
MIXED = in_order(machine("RTX 4090", "GTX 1080", torch="2.13.0+cu130", seen=CU130), "RTX 4090", "GTX 1080")

HITS = {
    "a V100 and a build for CUDA 13": case(
        "torch/gpu-arch-missing",
        "error",
        machine("V100", seen=CU130),
        "torch 2.13.0+cu130 has no kernels for V100, sm_70, older than sm_75, the oldest it was built for",
        seen=("gpu: sm_70 -> one of sm_75", "a build with code for sm_70"),
        command="torch==2.13.0+cu126 --index-url https://download.pytorch.org/whl/cu126",
        **OLD,
    ),
    "the same by the tables": case(
        "torch/gpu-arch-missing", "error", machine("V100"), "sm_70", command="torch==2.13.0+cu126", **OLD
    ),
    "a P100 and cu128": case(
        "torch/gpu-arch-missing",
        "error",
        machine("P100", torch="2.8.0+cu128"),
        "older than sm_70",
        command="torch==2.8.0+cu126",
        **OLD,
    ),
    "a fork for CUDA 13": case(
        "torch/gpu-arch-missing",
        "error",
        machine("V100", torch="2.14.0a0+git1234567", cuda="13.0"),
        "which CUDA 13 dropped",
        seen=("compute capability 7.5 or newer for CUDA 13.0",),
        **OLD,
    ),
    "an RTX 5090 and cu124": case(
        "torch/gpu-arch-missing",
        "error",
        machine("RTX 5090", torch="2.5.1+cu124", bitsandbytes="0.45.5"),
        "newer than sm_90, the newest it was built for",
        command="torch==2.7.*",
    ),
    "an RTX 5090 and cu126": case(
        "torch/gpu-arch-missing",
        "error",
        machine("RTX 5090", torch="2.13.0+cu126", seen=CU126),
        "torch 2.13.0+cu126 has no kernels for RTX 5090, sm_120",
        command="torch==2.13.0+cu130",
    ),
    "an H100 and the first torch 2": case(
        "torch/gpu-arch-missing",
        "error",
        machine("H100", torch="2.0.1+cu117", bitsandbytes="0.42.0"),
        "newer than sm_86",
        command="torch==2.0.1+cu118",
        beside=("python/requirement-unsatisfied",),  # bitsandbytes wants torch 2.3
    ),
    "a second GPU that is too old": case(
        "torch/gpu-arch-missing",
        "warning",
        MIXED,
        "torch 2.13.0+cu130 has no kernels for GTX 1080",
        command="export CUDA_VISIBLE_DEVICES=0",
    ),
    "a first GPU that is too old": case(
        "torch/gpu-arch-missing",
        "error",
        in_order(machine("RTX 4090", "GTX 1080", seen=CU130), "GTX 1080", "RTX 4090"),
        "GTX 1080",
        command="export CUDA_VISIBLE_DEVICES=1",
    ),
    "one of two, of which the order is not known": case(
        "torch/gpu-arch-missing", "warning", machine("RTX 4090", "GTX 1080"), "GTX 1080", command="cu126"
    ),
    "a Jetson with a wheel for servers": case(
        "torch/jetson-wheel-not-l4t",
        "error",
        machine(
            "Jetson Orin",
            seen=listed("2.13.0+cu130", "aarch64"),
            system=ARM,
            driver_signs=DriverSigns(kernel_version="580.95.05", bus_gpus=1, jetson="36.4.3"),
        ),
        "torch 2.13.0+cu130 is a wheel for ARM servers, and Jetson Orin is a Jetson",
        seen=("a wheel for L4T 36.4.3", "sm_87"),
    ),
    "a Jetson with a wheel for the CPU": case(
        "torch/jetson-wheel-not-l4t",
        "error",
        machine("Jetson Orin", torch="2.9.0+cpu", system=ARM),
        "is a wheel for ARM servers",
    ),
}

MISSES = {
    "a T4 and CUDA 13": machine("T4", seen=CU130),
    "a T4 and CUDA 11": machine("T4", torch="2.0.1+cu118", driver="470.82.01"),
    "a V100 and cu126": machine("V100", torch="2.13.0+cu126", seen=CU126),
    "a GTX 1080 by sm_60": machine("GTX 1080", torch="2.13.0+cu126", seen=CU126),
    "an M40 by sm_50": machine("M40", torch="2.13.0+cu126", seen=CU126),
    "an RTX 4090 by sm_86": machine("RTX 4090", torch="2.13.0+cu126", seen=CU126),
    "an RTX 4090 by sm_89": machine("RTX 4090", torch="2.13.0+cu126", seen=("sm_89",)),
    "an RTX 5090 and CUDA 12.8": machine("RTX 5090", torch="2.7.1+cu128"),
    "a B300 by sm_100": machine("B300", seen=CU130),
    "a DGX Spark by sm_120": machine("DGX Spark", seen=listed("2.13.0+cu130", "aarch64"), system=ARM),
    "a Jetson with NVIDIA's own wheel": machine(
        "Jetson Orin", torch="2.8.0+cu126", seen=("sm_87",), system=ARM
    ),
    "a Jetson Thor": machine(
        "Jetson AGX Thor",
        seen=listed("2.13.0+cu130", "aarch64"),
        system=ARM,
    ),
    "a build that no table has": machine("RTX 5090", torch="2.6.0a0+ecf3bae40a.nv25.01"),
    "ROCm": machine("V100", torch="2.9.0+rocm6.4"),
    "no GPU": machine(),
    "a GPU that hides": machine("V100", environment={"CUDA_VISIBLE_DEVICES": "-1"}),
    "a K80 that is left out": machine(
        "RTX 4090", "K80", environment={"CUDA_VISIBLE_DEVICES": "0", "CUDA_DEVICE_ORDER": "PCI_BUS_ID"}
    ),
    "a GPU that trained all the same": but(
        in_order(machine("V100", seen=("sm_80",)), "V100"), trial=healthy.FACTS.trial
    ),
}
IDS = ("torch/gpu-arch-missing", "torch/jetson-wheel-not-l4t")


@pytest.mark.parametrize("name", HITS)
def test_hit(name: str) -> None:
    check(*HITS[name])


def told(given: Facts) -> list[Finding]:
    return [finding for finding in findings(given) if finding.id in IDS]


@pytest.mark.parametrize("name", MISSES)
def test_near_miss(name: str) -> None:
    assert told(MISSES[name]) == []


def test_what_was_seen_is_sure_and_what_the_table_says_is_likely() -> None:
    assert [one.confidence for one in told(machine("V100", seen=CU130))] == ["confirmed"]
    assert [one.confidence for one in told(machine("V100"))] == ["likely"]


def test_gpus_that_are_alike_are_told_once() -> None:
    assert len(told(machine("V100", "V100", "P100"))) == 2
    eight = in_order(machine(seen=CU130), *["GTX 1080"] * 8)
    assert [finding.severity for finding in told(eight)] == ["error"]


def test_of_a_build_of_conda_the_table_says_nothing() -> None:
    torch = but(healthy.packages().installed["torch"], version="2.8.0+cu128", installer="conda")
    assert told(machine("P100", torch="2.8.0+cu128", packages=healthy.packages(torch=torch))) == []


def test_the_good_gpus_are_shown_by_what_already_chose_them() -> None:
    given = but(MIXED, environment={"CUDA_VISIBLE_DEVICES": "GPU-aa,GPU-bb"})
    [finding] = told(given)
    assert finding.fixes[0].commands == (("export", "CUDA_VISIBLE_DEVICES=GPU-aa"),)


def test_no_command_is_made_up_where_no_build_serves() -> None:
    given = machine("RTX 5090", torch="2.5.1+cu124", driver="535.104.05")
    [finding] = told(given)
    assert [fix.commands for fix in finding.fixes] == [()]
    assert "Install NVIDIA driver 570 or newer" in finding.fixes[0].title
    assert told(but(given, driver=None))[0].fixes == ()


def test_the_interpreter_is_the_targets_own() -> None:
    [finding] = told(machine("V100"))
    assert finding.fixes[0].commands[0][:4] == (PYTHON, "-m", "pip", "install")
