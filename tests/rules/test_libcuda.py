"""Which libcuda is loaded, why CUDA does not start, and what is left unexplained."""

from __future__ import annotations

from typing import Any

import healthy
import pytest
from healthy import DRIVER, GPU_NAME, but

from doctor.facts import CudaDriver, DriverSigns
from doctor.hardware import MigInstance
from doctor.rules.witnesses import code_in

from .judging import case, check, facts, ids, of
from .machines import (
    COMPAT,
    LIBCUDA,
    RUNTIME,
    SIGNS,
    UNUSABLE,
    device,
    failing,
    gpus,
    in_words,
    nodes,
    silent,
    system,
)

IMAGE = "/usr/lib/x86_64-linux-gnu/libcuda.so.535.54.03"
STUB = "/usr/local/cuda-12.4/targets/x86_64-linux/lib/stubs/libcuda.so"
WSL = "/usr/lib/wsl/lib/libcuda.so.1"
IN_WSL: dict[str, Any] = {"bus_gpus": 0, "nvml_code": 12, "nvml_error": "NVML Shared Library Not Found"}
UNKNOWN_ERROR = "CUDA unknown error - this may be due to an incorrectly set up environment, e.g. changing"
SWITCHES = (device(), *(device("", "0x22a3", kind="nvswitch", address=f"0000:c{n}:00.0") for n in range(4)))
CU126: dict[str, Any] = {
    "torch": but(healthy.FACTS.torch, version="2.8.0+cu126", cuda_version="12.6", variant="cu126"),
    "bitsandbytes": "not installed",
    "bitsandbytes_runtime": "not installed",
}
NOT_ASKED: dict[str, Any] = {"cuda_driver": "not asked", "torch_runtime": "not asked"}
TOO_OLD = "The NVIDIA driver on your system is too old (found version 12020). Please update"

HITS = {
    "803, by a compat folder on LD_LIBRARY_PATH": case(
        "driver/libcuda-mismatch",
        "error",
        failing(803, library=COMPAT, environment={"LD_LIBRARY_PATH": "/usr/local/cuda-12.8/compat:/opt/lib"}),
        f"libcuda is of driver 570.86.15, and the kernel module of {DRIVER} (error 803)",
        seen=("cuInit gives 803 CUDA_ERROR_SYSTEM_DRIVER_MISMATCH", COMPAT),
        command="export LD_LIBRARY_PATH=/opt/lib",
    ),
    "803, by the loader's cache": case(
        "driver/libcuda-mismatch",
        "error",
        failing(803, library=COMPAT),
        "(error 803)",
        command="sudo ldconfig",
    ),
    "803, by a package in the image": case(
        "driver/libcuda-mismatch",
        "error",
        failing(803, library=IMAGE, system=system(container="docker")),
        "libcuda is of driver 535.54.03",
    ),
    "803, by a package in the image, on the path as well": case(
        "driver/libcuda-mismatch",
        "error",
        failing(803, library=IMAGE, environment={"LD_LIBRARY_PATH": "/usr/lib/x86_64-linux-gnu"}),
        "libcuda is of driver 535.54.03",
        command="sudo ldconfig",
    ),
    "803, and libcuda is the driver's own": case(
        "driver/libcuda-mismatch",
        "error",
        failing(803),
        "CUDA finds parts of two drivers (error 803)",
        command="sudo reboot",
    ),
    "803, in torch's words alone": case(
        "driver/libcuda-mismatch",
        "error",
        in_words("Error 803: system has unsupported display driver / cuda driver combination (Triggered"),
        "(error 803)",
        seen=("torch says Error 803",),
    ),
    "804": case(
        "driver/libcuda-mismatch",
        "error",
        failing(804, library=COMPAT, environment={"LD_LIBRARY_PATH": "/usr/local/cuda-12.8/compat"}),
        f"A compatibility libcuda is loaded, which {GPU_NAME} does not take (error 804)",
        seen=(COMPAT,),
        command="unset LD_LIBRARY_PATH",
    ),
    "804, in torch's words without the number": case(
        "driver/libcuda-mismatch",
        "error",
        in_words("forward compatibility was attempted on non supported HW"),
        "(error 804)",
    ),
    "804, and the driver is too old for torch, which the library was to mend": case(
        "driver/too-old-for-cuda-runtime",
        "error",
        failing(
            804,
            library=COMPAT,
            system=system(container="docker"),
            driver=but(healthy.FACTS.driver, version="550.54.14", cuda_version="12.4"),
        ),
        "The NVIDIA driver 550.54.14 is too old for torch's CUDA 13.0",
        seen=("COMPAT_NOT_SUPPORTED_ON_DEVICE -> success: cuda-compat does not help on this GPU",),
    ),
    "the toolkit's stub": case(
        "driver/stub-library",
        "error",
        failing(34, library=STUB, environment={"LD_LIBRARY_PATH": "/usr/local/cuda/lib64/stubs:/opt/lib"}),
        "the CUDA toolkit's empty stub (error 34)",
        seen=(STUB,),
        command="export LD_LIBRARY_PATH=/opt/lib",
    ),
    "the toolkit's stub, by torch's words": case(
        "driver/stub-library", "error", in_words("CUDA driver is a stub library"), "error 34"
    ),
    "WSL's folder is not on the path": case(
        "driver/libcuda-not-on-path",
        "error",
        silent(signs={**IN_WSL, "off_path": (WSL,)}, system=system(wsl=True)),
        "libcuda lies in /usr/lib/wsl/lib, where the loader does not look",
        seen=(WSL,),
        command="export LD_LIBRARY_PATH=/usr/lib/wsl/lib",
    ),
    "a folder that the cache does not know": case(
        "driver/libcuda-not-on-path",
        "error",
        silent(
            signs={"off_path": ("/opt/nvidia/lib/libcuda.so.1",), "nvml_code": 12},
            environment={"LD_LIBRARY_PATH": "/opt/a"},
        ),
        "/opt/nvidia/lib",
        command="export LD_LIBRARY_PATH=/opt/nvidia/lib:/opt/a",
    ),
    "libcuda is cut short": case(
        "driver/library-not-loadable",
        "error",
        facts(
            cuda_driver=CudaDriver(library=LIBCUDA, failure="cannot be loaded: file too short"),
            torch_runtime=UNUSABLE,
        ),
        "libcuda cannot be loaded",
        seen=("file too short",),
    ),
    "a Linux driver in WSL": case(
        "driver/linux-driver-in-wsl",
        "error",
        silent(signs={**IN_WSL, "libraries": {"libcuda.so.1": LIBCUDA}}, system=system(wsl=True)),
        "A Linux NVIDIA driver is installed inside WSL",
        seen=(LIBCUDA,),
        command="sudo apt remove --purge",
    ),
    "a Linux libcuda in WSL, and CUDA was not asked": case(
        "driver/linux-driver-in-wsl",
        "error",
        facts(
            system=system(wsl=True),
            driver_signs=but(SIGNS, off_path=(WSL,)),
            cuda_driver="not asked",
            torch_runtime="not asked",
        ),
        "inside WSL",
    ),
    "a Linux libcuda in WSL, NVML of Windows": case(
        "driver/linux-driver-in-wsl", "error", failing(100, system=system(wsl=True)), "inside WSL"
    ),
    "fabric manager is stopped": case(
        "driver/fabric-manager-not-running",
        "error",
        failing(802, signs={"bus": SWITCHES, "fabric_manager": "stopped"}),
        "fabric manager is stopped (error 802)",
        seen=("stopped, with 4 NVSwitches on the bus",),
        command="sudo systemctl enable --now nvidia-fabricmanager",
    ),
    "fabric manager is absent": case(
        "driver/fabric-manager-not-running",
        "error",
        failing(802, signs={"bus": SWITCHES, "fabric_manager": "absent"}),
        "fabric manager is absent",
        command="sudo apt install nvidia-fabricmanager-580",
    ),
    "802 in torch's words": case(
        "driver/fabric-manager-not-running",
        "error",
        in_words("Error 802: system not yet initialized\nmore"),
        "(error 802)",
        seen=("torch says Error 802: system not yet initialized -> ",),
    ),
    "fabric manager is stopped, and CUDA was not asked": case(
        "driver/fabric-manager-not-running",
        "error",
        facts(
            driver_signs=but(SIGNS, bus=SWITCHES, fabric_manager="stopped"),
            cuda_driver="not asked",
            torch_runtime="not asked",
        ),
        "fabric manager is stopped",
    ),
    "uvm is not loaded": case(
        "driver/uvm-broken",
        "error",
        failing(999, signs={"modules": {"nvidia": DRIVER}, "nodes": ()}),
        "nvidia_uvm is not loaded",
        command="sudo modprobe nvidia_uvm",
    ),
    "uvm has no file": case(
        "driver/uvm-broken",
        "error",
        failing(999, signs={"nodes": nodes(True, "nvidia0", "nvidiactl")}),
        "/dev/nvidia-uvm is not there",
        command="sudo nvidia-modprobe -c 0 -u",
    ),
    "after suspend": case(
        "driver/uvm-broken",
        "error",
        in_words(UNKNOWN_ERROR),
        f"CUDA cannot start on {GPU_NAME}, which NVML shows: nvidia_uvm fails",
        command="sudo modprobe -r nvidia_uvm",
    ),
    "after suspend, with another libcuda off the path": case(
        "driver/uvm-broken",
        "error",
        failing(999, signs={"off_path": ("/opt/libcuda.so.1",)}),
        "nvidia_uvm fails",
    ),
    "after suspend, beside another user's GPU": case(
        "driver/uvm-broken",
        "error",
        failing(
            999,
            signs={
                "nodes": nodes(True, "nvidia0", "nvidiactl", "nvidia-uvm")
                + nodes(False, "nvidia1", "nvidia-caps/nvidia-cap2")
            },
        ),
        "nvidia_uvm fails",
    ),
    "error 3 in WSL, which has no module": case(
        "driver/cuda-start-failed",
        "error",
        failing(3, library=WSL, system=system(wsl=True), signs={"libraries": {"libcuda.so.1": WSL}}),
        "CUDA does not start",
    ),
    "HMM": case(
        "driver/memory-sharing-fails",
        "error",
        failing(3),
        "CUDA cannot be initialised",
        command="uvm_disable_hmm=1",
    ),
    "a driver below torch's minor": case(
        "driver/cuda-number-misread",
        "note",
        facts(
            driver=but(healthy.FACTS.driver, version="535.104.05", cuda_version="12.2"),
            **CU126,
        ),
        "The driver's CUDA 12.2 is below torch's 12.6 and runs it",
    ),
    "an error that nobody knows": case(
        "torch/cuda-not-usable",
        "error",
        facts(torch_runtime=but(UNUSABLE, cuda_error="Error 719: unspecified launch failure")),
        "cannot use the GPU that the driver shows",
        seen=("Error 719: unspecified launch failure -> 1 usable devices",),
    ),
    "CUDA that says nothing": case(
        "torch/cuda-not-usable",
        "error",
        facts(torch_runtime=UNUSABLE),
        "cannot use the GPU",
        seen=("is_available() is False", "starts by itself"),
    ),
    "libcuda counts no device": case(
        "driver/cuda-start-failed",
        "error",
        facts(cuda_driver=CudaDriver(library=LIBCUDA, init_code=0), torch_runtime=UNUSABLE),
        f"CUDA does not start on {GPU_NAME}, which NVML shows: libcuda counts no device",
        seen=("CUDA: libcuda counts no device", "NVML: 1 GPUs"),
    ),
    "libcuda finds no device": case("driver/cuda-start-failed", "error", failing(100), "counts no device"),
    "libcuda gives an error that nobody knows": case(
        "driver/cuda-start-failed", "error", failing(719), "CUDA does not start", command="sudo dmesg"
    ),
    "busy, and it is not seen with whom": case(
        "gpu/held-by-other-process",
        "error",
        in_words("CUDA-capable device(s) is/are busy or unavailable"),
        "CUDA finds the GPU busy",
        command="nvidia-smi",
    ),
    "no memory to start in": case(
        "gpu/held-by-other-process",
        "error",
        failing(2, gpus=gpus({"memory_free_bytes": 1 << 27})),
        "Other programs hold 23.4 of the 24.0 GiB",
    ),
    "an older libcuda than the driver's": case(
        "torch/cuda-not-usable", "error", in_words(TOO_OLD), "offers less CUDA than the driver"
    ),
    "a driver without CUDA's part": case(
        "torch/cuda-not-usable",
        "error",
        in_words(
            "Found no NVIDIA driver on your system.",
            signs=but(SIGNS, libraries={"libnvidia-ml.so.1": "/usr/lib/libnvidia-ml.so.580.95.05"}),
        ),
        "there is no libcuda.so.1",
    ),
    "a container without CUDA's part": case(
        "torch/cuda-not-usable",
        "error",
        in_words(
            "Found no NVIDIA driver on your system.",
            signs=but(SIGNS, libraries={}),
            system=system(container="docker"),
        ),
        "there is no libcuda.so.1",
    ),
    "a stub in a folder of another name": case(
        "driver/stub-library",
        "error",
        failing(34, library="/opt/x/libcuda.so.1", environment={"LD_LIBRARY_PATH": "/opt/x:/opt/y"}),
        "empty stub",
        command="LD_LIBRARY_PATH=/opt/y",
    ),
    "MPS": case(
        "torch/cuda-not-usable", "error", in_words("Error 805: MPS client failed to connect"), "MPS server"
    ),
}

MISSES = {
    "a compat libcuda on a data-centre GPU that works": facts(
        gpus=gpus({"name": "NVIDIA A100-SXM4-80GB", "compute_capability": "8.0"}),
        driver_signs=but(SIGNS, libraries={"libcuda.so.1": COMPAT}),
        cuda_driver=but(healthy.FACTS.cuda_driver, library=COMPAT),
    ),
    "stubs on the path behind the driver": facts(environment={"LD_LIBRARY_PATH": "/opt/cuda/lib64/stubs"}),
    "WSL": facts(
        system=system(wsl=True),
        driver_signs=DriverSigns(libraries={"libcuda.so.1": "/usr/lib/wsl/drivers/nv.inf/libcuda.so.1.1"}),
        cuda_driver=but(healthy.FACTS.cuda_driver, library="/usr/lib/wsl/drivers/nv.inf/libcuda.so.1.1"),
    ),
    "WSL without an NVIDIA GPU": silent(signs=IN_WSL, system=system(wsl=True)),
    "a Linux libcuda in WSL that works all the same": facts(
        system=system(wsl=True), driver_signs=but(SIGNS, off_path=(WSL,))
    ),
    "libcuda off the path, and CUDA works": facts(
        driver_signs=but(SIGNS, libraries={}, off_path=("/opt/libcuda.so.1",))
    ),
    "a libcuda in a folder called stubs that works": facts(
        cuda_driver=but(healthy.FACTS.cuda_driver, library="/home/ada/stubs/libcuda.so.1")
    ),
    "fabric manager of a container's host": facts(
        driver_signs=but(SIGNS, bus=SWITCHES, fabric_manager="absent"),
        system=system(container="docker"),
        **NOT_ASKED,
    ),
    "fabric manager is stopped where no NVSwitch is": facts(
        driver_signs=but(SIGNS, fabric_manager="stopped"), **NOT_ASKED
    ),
    "NVSwitches, and every GPU in MIG mode": facts(
        driver_signs=but(SIGNS, bus=SWITCHES, fabric_manager="stopped"),
        gpus=gpus({"mig_mode": True, "mig_instances": (MigInstance(name="1g.5gb"),)}),
        **NOT_ASKED,
    ),
    "NVSwitches, and libcuda works where torch was not asked": facts(
        driver_signs=but(SIGNS, bus=SWITCHES, fabric_manager="stopped"), torch_runtime="not asked"
    ),
    "a second libcuda off the path": facts(driver_signs=but(SIGNS, off_path=("/opt/libcuda.so.1",))),
    "NVSwitches, and GPUs that work": facts(driver_signs=but(SIGNS, bus=SWITCHES, fabric_manager="stopped")),
    "NVSwitches and fabric manager": facts(
        driver_signs=but(SIGNS, bus=SWITCHES, fabric_manager="running"), **NOT_ASKED
    ),
    "uvm is loaded by the first program": facts(
        driver_signs=but(SIGNS, modules={"nvidia": DRIVER}, nodes=nodes(True, "nvidia0", "nvidiactl")),
        cuda_driver="not asked",
        torch_runtime="not asked",
    ),
    "a driver above torch's minor": facts(**CU126),
    "a CPU build": facts(
        torch_runtime=but(UNUSABLE, cuda_version=None, cuda_available=False),
        gpus="none",
        driver="none",
        driver_signs=DriverSigns(nvml_code=12),
        cuda_driver="none",
        torch=but(healthy.FACTS.torch, version="2.13.0+cpu", cuda_version=None, variant="cpu"),
    ),
    "torch was not asked": facts(torch_runtime=but(RUNTIME, cuda_available=None, cuda_error="")),
}


@pytest.mark.parametrize("name", HITS)
def test_hit(name: str) -> None:
    check(*HITS[name])


@pytest.mark.parametrize("name", MISSES)
def test_near_miss(name: str) -> None:
    assert ids(MISSES[name]) == []


def test_803_and_804_have_their_own_reasons_and_cures() -> None:
    mismatch, compat = (of("driver/libcuda-mismatch", failing(code, library=COMPAT)) for code in (803, 804))
    assert "another driver than the loaded kernel module" in mismatch.why and "803" in mismatch.why
    assert "forward-compatibility package" in compat.why and "consumer GPUs refuse it" in compat.why
    assert "reboot" in mismatch.fixes[1].title and "Upgrade the driver" in compat.fixes[1].title


def test_in_a_container_fabric_manager_is_the_hosts() -> None:
    [start, _] = of(
        "driver/fabric-manager-not-running", failing(802, system=system(container="docker"))
    ).fixes
    assert start.title.startswith("On the host") and start.commands == ()


def test_a_driver_that_is_too_old_for_torch_is_told_once() -> None:
    given = in_words(
        TOO_OLD,
        driver=but(healthy.FACTS.driver, version="535.104.05", cuda_version="12.2"),
    )
    assert ids(given) == ["driver/too-old-for-cuda-runtime"]


@pytest.mark.parametrize(
    ("said", "code"),
    [
        ("Unexpected error from cudaGetDeviceCount(). Error 802: system not yet initialized", 802),
        ("system has unsupported display driver / cuda driver combination", 803),
        ("forward compatibility was attempted on non supported HW", 804),
        (UNKNOWN_ERROR, 999),
        ("no CUDA-capable device is detected", 100),
        ("No CUDA GPUs are available", 100),
        ("all CUDA-capable devices are busy or unavailable", 46),
        ("CUDA driver initialization failed, you might not have a CUDA gpu.", 3),
        (TOO_OLD, 35),
        ("CUDA error: out of memory", 2),
        ("", None),
        ("Errors 802 and more", None),
    ],
)
def test_the_number_of_an_error_in_torchs_words(said: str, code: int | None) -> None:
    assert code_in(said) == code
