"""The driver against torch's CUDA and the PTX in its builds."""

from __future__ import annotations

import healthy
import pytest
from healthy import but

from doctor.facts import CudaDriver, Facts
from doctor.findings import Finding

from .gpu_machines import in_order, machine
from .judging import case, check, findings

ID, PTX = "driver/too-old-for-cuda-runtime", "driver/too-old-for-ptx"
WINDOWS = but(healthy.FACTS.system, os="win32", arch="AMD64")
FORK = "2.5.0a0+git1"
WSL = but(healthy.FACTS.system, wsl=True)

HITS = {
    "550 and CUDA 13": case(
        ID,
        "error",
        machine("RTX 4090", driver="550.54.15"),
        "The NVIDIA driver 550.54.15 is too old for torch's CUDA 13.0",
        seen=(
            "550.54.15, which offers CUDA 12.4 -> 580 or newer",
            "torch: 2.13.0+cu130 -> a build for CUDA 12",
        ),
        command="torch==2.13.0+cu126",
    ),
    "470 and CUDA 12": case(
        ID,
        "error",
        machine("RTX 3060", torch="2.5.1+cu121", driver="470.82.01"),
        "The NVIDIA driver 470.82.01 is too old for torch's CUDA 12.1",
        command="torch==2.5.1+cu118",
    ),
    "a driver before CUDA 11": case(
        ID,
        "error",
        machine("RTX 3060", torch="2.5.1+cu118", driver="440.33.01"),
        "is too old for torch's CUDA 11.8",
        seen=("driver: 440.33.01 -> 450.80.02 or newer",),
    ),
    "a Windows driver before CUDA 12": case(
        ID,
        "error",
        machine(
            "RTX 3060",
            torch="2.5.1+cu121",
            driver="516.31",
            system=WINDOWS,
        ),
        "The NVIDIA driver 516.31 is too old",
        seen=("-> 527.41 or newer",),
        command="torch==2.5.1+cu118",
    ),
    "PTX that is newer than the driver": case(
        PTX,
        "error",
        machine("RTX 5090", torch=FORK, cuda="12.8", seen=("sm_90", "compute_90"), driver="560.35.03"),
        "torch 2.5.0a0+git1 has only PTX of CUDA 12.8 for RTX 5090, too new for driver 560.35.03",
        seen=("which offers CUDA 12.6 -> 570.26 or newer", "gpu: sm_120 -> machine code in the build"),
    ),
}
MISSES = {
    "580 and CUDA 13": machine("RTX 4090"),
    "a newer driver and CUDA 11": machine("T4", torch="2.0.1+cu118", driver="610.43.02"),
    "470 and CUDA 11.8": machine("T4", torch="2.5.1+cu118", driver="470.82.01"),
    "525 and CUDA 12.6": machine("T4", torch="2.7.1+cu126", driver="525.60.13"),
    "no CUDA in torch": machine("T4", torch="2.7.1+cpu", driver="470.82.01"),
    "ROCm": machine("T4", torch="2.9.0+rocm6.4", driver="470.82.01"),
    "compat libraries that libcuda answers for": machine(
        "A100", driver="535.104.05", cuda_driver=CudaDriver(library="libcuda.so.580.95.05", version="13.0")
    ),
    "torch that found the GPU all the same": in_order(
        machine("A100", driver="535.104.05", seen=("sm_80",)), "A100"
    ),
    "a driver of Windows under WSL": machine("RTX 3060", torch="2.5.1+cu121", driver="546.80", system=WSL),
    "PTX that the driver translates": machine(
        "RTX 5090", torch=FORK, cuda="12.6", seen=("sm_90", "compute_90"), driver="570.124.06"
    ),
    "machine code beside newer PTX": machine(
        "RTX 5090", torch="2.9.0+cu130", seen=("sm_120", "compute_120"), driver="580.65.06"
    ),
}


@pytest.mark.parametrize("name", HITS)
def test_hit(name: str) -> None:
    check(*HITS[name])


def told(given: Facts, id: str = ID) -> list[Finding]:
    return [finding for finding in findings(given) if finding.id == id]


@pytest.mark.parametrize("name", MISSES)
def test_near_miss(name: str) -> None:
    assert told(MISSES[name]) + told(MISSES[name], PTX) == []


def titles(given: Facts, id: str = ID) -> list[str]:
    [finding] = told(given, id)
    return [fix.title for fix in finding.fixes]


def test_the_build_comes_before_the_driver() -> None:
    build, driver = titles(machine("RTX 4090", driver="550.54.15"))
    assert build.startswith("Install torch 2.13.0+cu126, which this driver and GPU run")
    assert driver == "Install NVIDIA driver 580 or newer, then restart"


def test_compat_packages_are_for_data_centres() -> None:
    assert "package cuda-compat-13-0 may do" in titles(machine("A100", driver="550.54.15"))[1]
    assert not any("compat" in one for one in titles(machine("RTX 4090", driver="550.54.15")))
    assert not any("compat" in one for one in titles(machine("A100", "RTX 4090", driver="550.54.15")))
    assert not any("compat" in one for one in titles(machine("A100", driver="550.54.15", system=WSL)))


def test_no_driver_is_wished_for_that_would_not_help_the_gpu() -> None:
    """CUDA 13 has nothing for a V100, whatever the driver."""
    assert titles(machine("V100", driver="535.104.05")) == [
        "Install torch 2.13.0+cu126, which this driver and GPU run"
    ]


def test_an_old_gpu_is_not_led_beyond_its_last_branch() -> None:
    [driver] = titles(machine("GTX 1080", torch="2.13.0+cu126", driver="470.256.02"))[1:]
    assert driver == (
        "Install NVIDIA driver 525.60.13 or newer, not beyond branch 580, the last for this GPU, then restart"
    )


def test_a_gpu_that_no_driver_can_bring_to_cuda_12() -> None:
    """Branch 470 is the last for Kepler, and offers CUDA 11."""
    assert titles(machine("K80", torch="2.1.2+cu121", driver="470.256.02")) == [
        "Install torch 2.1.2+cu118, which this driver and GPU run"
    ]


def test_whoever_cannot_install_a_driver_here_is_told_where() -> None:
    inside = machine("RTX 4090", driver="550.54.15", system=but(healthy.FACTS.system, container="docker"))
    assert titles(inside)[1] == "Install NVIDIA driver 580 or newer on the host, then restart"
    assert titles(machine("RTX 4090", driver="551.78", system=WSL))[1] == (
        "Install NVIDIA driver 580 or newer in Windows, then restart"
    )


def test_a_machine_without_a_fitting_build_needs_the_driver_first() -> None:
    assert titles(machine("RTX 3060", driver="390.157")) == [
        "Install NVIDIA driver 580 or newer, then restart"
    ]


def test_a_driver_that_tells_no_number_goes_by_its_version() -> None:
    given = machine("RTX 4090", driver="550.54.15")
    mute = but(given, driver=but(given.driver, cuda_version="ERR!"))
    assert titles(mute) == titles(given)


def test_ptx_that_was_refused_here_is_named() -> None:
    words = "RuntimeError: CUDA error: the provided PTX was compiled with an unsupported toolchain."
    given = but(machine("RTX 4090"), trial=healthy.trial(healthy.raised("qlora-step", words)))
    [finding] = told(given, PTX)
    assert finding.title == "driver 580.95.05 refuses PTX of a newer CUDA than its own"
    assert told(machine("RTX 4090"), PTX) == []


def test_ptx_of_bitsandbytes_counts_too() -> None:
    given = machine(
        "RTX 5090",
        torch=FORK,
        cuda="12.6",
        seen=("sm_120",),
        bitsandbytes="0.45.2",
        driver="555.42.02",
    )
    [finding] = told(given, PTX)
    assert "bitsandbytes 0.45.2 has only PTX of CUDA 12.6 for RTX 5090" in finding.title
    assert [fix.title for fix in finding.fixes] == ["Install NVIDIA driver 560.28.03 or newer, then restart"]
