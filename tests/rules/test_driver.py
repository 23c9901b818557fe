"""Faults of the driver as it is installed and as it answers, and what comes near them."""

from __future__ import annotations

from typing import Any

import healthy
import pytest
from fakes import HUNG
from healthy import DRIVER, but

from doctor.facts import CudaDriver, DriverSigns

from .judging import case, check, facts, ids, of
from .machines import LIBCUDA, RUNTIME, SIGNS, device, failing, gpus, nodes, signs, silent, system

MISMATCH = "Failed to initialize NVML: Driver/library version mismatch"
UNREACHED = "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\nMake sure"
NOT_FOUND: dict[str, Any] = {"nvml_error": "NVML Shared Library Not Found", "nvml_code": 12}
NOT_LOADED: dict[str, Any] = {"nvml_error": "Driver Not Loaded", "nvml_code": 9}
NO_ANSWER = f"it gave no answer within {HUNG.seconds:.0f} s and was killed"
DIED = "the interpreter was killed by SIGSEGV and said nothing"
UNKNOWN = {"nvml_error": "Unknown Error", "nvml_code": 999}
OLDER = {"libcuda.so.1": "/usr/lib/libcuda.so.535.54.03", "libnvidia-ml.so.1": "/usr/lib/libnvidia-ml.so.1"}
NO_GPUS = {"gpus": (), "cuda_driver": "nothing to ask", "torch_runtime": but(RUNTIME, cuda_available=False)}

HITS = {
    "two versions, by NVML": case(
        "driver/library-version-mismatch",
        "error",
        silent(
            signs={
                "nvml_error": "Driver/library version mismatch",
                "nvml_code": 18,
                "kernel_version": "535.54.03",
                "libraries": {"libcuda.so.1": LIBCUDA},
                "modules": {"nvidia": "535.54.03", "nvidia_uvm": ""},
            }
        ),
        "two versions",
        seen=(f"kernel module 535.54.03; libraries {DRIVER}; Driver/library version mismatch",),
        command="sudo reboot",
    ),
    "two versions, by nvidia-smi": case(
        "driver/library-version-mismatch", "error", silent(signs={"smi_error": MISMATCH}), "two versions"
    ),
    "two versions, by the number alone": case(
        "driver/library-version-mismatch",
        "error",
        silent(signs={"nvml_error": "Fehler", "nvml_code": 18}),
        "two versions",
        seen=("Fehler",),
    ),
    "two versions, in words without a number": case(
        "driver/library-version-mismatch", "error", silent(signs={"nvml_error": MISMATCH}), "two versions"
    ),
    "two versions, by CUDA where nothing else answers": case(
        "driver/library-version-mismatch",
        "error",
        silent(cuda_driver=CudaDriver(library=LIBCUDA, init_code=803)),
        "two versions",
        seen=("cuInit gives 803",),
    ),
    "two versions, with nothing of the bus to be seen": case(
        "driver/library-version-mismatch",
        "error",
        silent(signs={"bus_gpus": 0, "nvml_error": MISMATCH, "nvml_code": 18}),
        "two versions",
    ),
    "two versions of which CUDA speaks too": case(
        "driver/library-version-mismatch",
        "error",
        silent(
            signs={"smi_error": MISMATCH, "nvml_code": 18, "nvml_error": MISMATCH},
            cuda_driver=CudaDriver(library=LIBCUDA, init_code=803),
        ),
        "two versions",
    ),
    "NVML is of another driver, and CUDA works": case(
        "driver/library-version-mismatch",
        "warning",
        facts(driver="it does not answer", driver_signs=but(SIGNS, nvml_error=MISMATCH, nvml_code=18)),
        "two versions",
    ),
    "NVML kills": case("driver/crashes", "error", silent(signs={"nvml_error": DIED}), "NVML kills (SIGSEGV)"),
    "NVML kills, and nothing else shows a GPU": case(
        "driver/crashes", "error", silent(signs={"nvml_error": DIED, "bus_gpus": 0}), "NVML kills"
    ),
    "libcuda kills": case(
        "driver/crashes",
        "error",
        facts(
            cuda_driver=CudaDriver(library=LIBCUDA, failure="killed by SIGBUS"),
            torch_runtime="its process died",
        ),
        "libcuda.so.1 kills (SIGBUS)",
        seen=(LIBCUDA,),
    ),
    "libcuda kills from LD_LIBRARY_PATH": case(
        "driver/crashes",
        "error",
        facts(
            cuda_driver=CudaDriver(library="/opt/old/libcuda.so.1", failure="killed by SIGSEGV"),
            torch_runtime="its process died",
            environment={"LD_LIBRARY_PATH": "/opt/old:/opt/new"},
        ),
        "kills",
        command="export LD_LIBRARY_PATH=/opt/new",
    ),
    "NVML hangs": case(
        "driver/hangs", "error", silent(signs={"nvml_error": NO_ANSWER}), "NVML does not come"
    ),
    "nvidia-smi hangs": case(
        "driver/hangs", "error", silent(signs={"smi_error": NO_ANSWER, **NOT_FOUND}), "nvidia-smi does not"
    ),
    "libcuda hangs": case(
        "driver/hangs",
        "error",
        facts(cuda_driver=CudaDriver(library=LIBCUDA, failure=NO_ANSWER), torch_runtime="it hangs"),
        "libcuda does not come back",
    ),
    "NVML hangs, and CUDA works": case(
        "driver/hangs",
        "warning",
        facts(driver="it hangs", gpus="it hangs", driver_signs=but(SIGNS, nvml_error=NO_ANSWER)),
        "NVML does not come back",
    ),
    "a loaded driver that refuses": case(
        "driver/not-answering",
        "error",
        silent(signs={**UNKNOWN, "kernel_version": DRIVER}),
        "gets no answer",
        seen=("Unknown Error -> ",),
        command="dmesg",
    ),
    "nvidia-smi refuses on a machine that shows no GPU": case(
        "driver/not-answering",
        "warning",
        silent(signs={"smi_error": "NVIDIA-SMI has failed\nmore", "bus_gpus": 0}),
        "gets no answer",
        seen=("NVIDIA-SMI has failed -> ",),
    ),
    "nvidia-smi hangs on a machine that shows no GPU": case(
        "driver/not-answering",
        "warning",
        silent(signs={"smi_error": NO_ANSWER, "bus_gpus": 0}),
        "gets no answer",
    ),
    "NVML refuses on a machine that shows no GPU": case(
        "driver/not-answering", "warning", silent(signs={**UNKNOWN, "bus_gpus": 0}), "NVML gets no answer"
    ),
    "NVML's file is empty": case(
        "driver/not-answering",
        "warning",
        silent(
            signs={
                "bus_gpus": 0,
                "nvml_code": 12,
                "nvml_error": "NVML Shared Library Not Found (file too short)",
                "libraries": {"libnvidia-ml.so.1": "/usr/lib/libnvidia-ml.so.1"},
            }
        ),
        "NVML gets no answer",
        seen=("file too short",),
    ),
    "a module and no library": case(
        "driver/not-answering",
        "error",
        silent(signs={**NOT_FOUND, "kernel_version": DRIVER}),
        "gets no answer",
    ),
    "a Slurm job on a node whose driver is mute": case(
        "driver/not-answering",
        "error",
        silent(signs={**UNKNOWN, "kernel_version": DRIVER, "slurm": True}),
        "NVML gets no answer",
    ),
    "CUDA fails as well as NVML": case(
        "driver/not-answering",
        "error",
        silent(
            signs={**UNKNOWN, "kernel_version": DRIVER},
            cuda_driver=CudaDriver(library=LIBCUDA, init_code=999),
        ),
        "NVML gets no answer",
    ),
    "Windows lends no driver to WSL": case(
        "driver/not-answering",
        "warning",
        silent(signs={**NOT_LOADED, "bus_gpus": 0}, system=system(wsl=True)),
        "NVML gets no answer",
    ),
    "a container of a machine without a driver, which has its libraries": case(
        "driver/not-answering",
        "warning",
        silent(signs={**NOT_LOADED, "bus_gpus": 0}, system=system(container="docker")),
        "NVML gets no answer",
    ),
    "a container whose driver counts no GPU": case(
        "gpu/none-visible-in-container",
        "error",
        facts(**NO_GPUS, driver_signs=DriverSigns(), system=system(container="docker")),
        "This docker container was started without the machine's GPU",
        seen=("NVIDIA's module is loaded on the host", "it runs and shows no GPU"),
    ),
    "a container whose nvidia-smi counts no GPU": case(
        "gpu/none-visible-in-container",
        "error",
        silent(
            signs={**NOT_FOUND, "bus_gpus": 0, "smi_error": "No devices were found"},
            system=system(container="docker"),
        ),
        "was started without the machine's GPU",
    ),
    "nvidia-smi is kept from the device files": case(
        "driver/device-nodes-not-usable",
        "error",
        silent(
            signs={
                **NOT_FOUND,
                "bus_gpus": 0,
                "smi_error": "Failed to initialize NVML: Insufficient Permissions",
            }
        ),
        "not usable for this user",
    ),
    "NVML counts no GPU, as it fails": case(
        "driver/not-answering",
        "error",
        facts(driver_signs=but(SIGNS, **UNKNOWN), gpus="NVML failed", torch_runtime="not asked"),
        "NVML gets no answer",
    ),
    "a GPU and no driver": case(
        "driver/not-installed",
        "error",
        silent(signs=NOT_FOUND),
        "1 NVIDIA GPU on the bus, and no NVIDIA driver is installed",
        seen=("NVML Shared Library Not Found",),
        command="sudo apt install linux-headers-amd64 nvidia-driver",
    ),
    "nouveau": case(
        "driver/not-installed",
        "error",
        silent(signs={**NOT_FOUND, "bus": (device("nouveau"),), "modules": {"nouveau": ""}}),
        "nouveau, which has no CUDA, drives it",
        seen=("driven by nouveau",),
    ),
    "two GPUs for virtual machines": case(
        "driver/bound-to-vfio",
        "error",
        silent(signs={**NOT_FOUND, "bus_gpus": 2, "bus": (device("vfio-pci"), device("vfio-pci"))}),
        "2 NVIDIA GPUs on the bus, held by vfio-pci",
    ),
    "libraries without a module": case(
        "driver/module-not-loaded",
        "error",
        silent(signs={**NOT_LOADED, "libraries": {"libcuda.so.1": LIBCUDA}}),
        "its kernel module is not loaded",
        seen=("nvidia is not among the loaded modules", "Driver Not Loaded"),
        command="sudo modprobe nvidia",
    ),
    "libraries without a module, by their files": case(
        "driver/module-not-loaded",
        "error",
        silent(signs={**NOT_FOUND, "libraries": {"libcuda.so.1": LIBCUDA}}),
        "not loaded",
    ),
    "nvidia-smi out of reach": case(
        "driver/module-not-loaded", "error", silent(signs={"smi_error": UNREACHED, **NOT_FOUND}), "not loaded"
    ),
    "nouveau in the module's place": case(
        "driver/module-not-loaded",
        "error",
        silent(signs={**NOT_LOADED, "modules": {"nouveau": ""}}),
        "not loaded",
        seen=("nouveau is loaded in its place",),
    ),
    "a login node with the driver's libraries": case(
        "driver/module-not-loaded", "warning", silent(signs={**NOT_LOADED, "bus_gpus": 0}), "not loaded"
    ),
    "Blackwell and the proprietary module": case(
        "driver/gpu-not-supported",
        "error",
        facts(**NO_GPUS, driver_signs=but(SIGNS, bus=(device(id="0x2b85"),))),
        "proprietary kernel module 580.95.05 is loaded, which drives no Blackwell GPU",
        seen=("device 0x2b85",),
    ),
    "Pascal and the open module": case(
        "driver/gpu-not-supported",
        "error",
        facts(**NO_GPUS, driver_signs=but(SIGNS, bus=(device(id="0x1bb3"),), kernel_flavor="open")),
        "open kernel module 580.95.05 is loaded, which drives no GPU before Turing",
    ),
    "Pascal and a driver that dropped it": case(
        "driver/gpu-not-supported",
        "error",
        silent(
            signs={
                **NOT_LOADED,
                "smi_error": UNREACHED,
                "bus": (device("", "0x1c8d"),),
                "kernel_version": "595.71",
            }
        ),
        "NVIDIA's driver 595.71 no longer drives this GPU",
    ),
    "no right to the files": case(
        "driver/device-nodes-not-usable",
        "error",
        silent(
            signs={
                "nvml_error": "Insufficient Permissions",
                "nvml_code": 4,
                "kernel_version": DRIVER,
                "nodes": nodes(False, "nvidia0", "nvidiactl"),
            }
        ),
        "/dev/nvidia0 is not usable for this user",
        command="ls -l /dev/nvidia0",
    ),
    "files that nobody made": case(
        "driver/device-nodes-not-usable",
        "error",
        silent(signs={**NOT_LOADED, "kernel_version": DRIVER}),
        "/dev/nvidia* is not there",
        command="sudo nvidia-modprobe -c 0 -u",
    ),
    "a container that lost its right": case(
        "driver/device-nodes-not-usable",
        "error",
        silent(
            signs={
                **UNKNOWN,
                "kernel_version": DRIVER,
                "nodes": nodes(False, "nvidia0", "nvidiactl"),
                "libraries": {"libcuda.so.1": LIBCUDA},
            },
            system=system(container="docker"),
        ),
        "is not usable for this container",
    ),
    "uvm's file is closed": case(
        "driver/device-nodes-not-usable",
        "error",
        failing(999, signs={"nodes": nodes(True, "nvidia0", "nvidiactl") + nodes(False, "nvidia-uvm")}),
        "/dev/nvidia-uvm is not usable",
    ),
    "a file that may be opened by its mode, and not by its group": case(
        "driver/device-nodes-not-usable",
        "error",
        facts(
            cuda_driver=CudaDriver(
                library=LIBCUDA, init_code=100, refused={"/dev/nvidia0": "Operation not permitted"}
            ),
            torch_runtime=but(RUNTIME, cuda_available=False, cuda_error="No CUDA GPUs are available"),
        ),
        "/dev/nvidia0 is not usable",
        seen=("Operation not permitted",),
    ),
    "two drivers": case(
        "driver/witnesses-disagree",
        "note",
        facts(driver=but(healthy.FACTS.driver, disagreement={"nvml": "580.95.05", "nvidia-smi": "535.54"})),
        "Two witnesses",
        seen=("nvml says 580.95.05, nvidia-smi says 535.54",),
    ),
    "two counts": case(
        "driver/witnesses-disagree", "note", facts(gpus=gpus({}, {})), "NVML counts 2 GPUs and libcuda 1"
    ),
    "nvidia-smi alone hangs": case(
        "driver/witnesses-disagree",
        "note",
        facts(driver_signs=but(SIGNS, smi_error=NO_ANSWER)),
        "nvidia-smi does not",
    ),
    "NVML alone is mute": case(
        "driver/witnesses-disagree",
        "note",
        facts(
            driver=but(healthy.FACTS.driver, source="nvidia-smi"),
            driver_signs=but(SIGNS, nvml_code=9, nvml_error="Driver Not Loaded"),
        ),
        "nvidia-smi answers and NVML does not",
        seen=("Driver Not Loaded",),
    ),
    "nvidia-smi alone is mute": case(
        "driver/witnesses-disagree",
        "note",
        facts(driver_signs=but(SIGNS, smi_error="it crashed")),
        "NVML answers and nvidia-smi does not",
    ),
}

MISSES = {
    "no GPU anywhere": silent(signs={**NOT_FOUND, "bus_gpus": 0}),
    "a container of a machine without a GPU": silent(
        signs={**NOT_FOUND, "bus_gpus": 0}, system=system(container="docker")
    ),
    "a container that was given the GPU": facts(system=system(container="docker")),
    "stub libraries alone: no bus, no module, no device files": facts(driver_signs=DriverSigns()),
    "stub libraries in a container": facts(driver_signs=DriverSigns(), system=system(container="docker")),
    "libraries without a version in their names": facts(
        driver_signs=signs(libraries={"libcuda.so.1": "/stubs/of/ours/libcuda.so.1"})
    ),
    "a library that only the doctor cannot load": facts(
        cuda_driver=CudaDriver(library=LIBCUDA, failure="cannot be loaded: file too short")
    ),
    "GPUs for virtual machines, and a container that has one": facts(
        driver_signs=but(SIGNS, bus=(device("vfio-pci"),)), system=system(container="docker")
    ),
    "closed files, and CUDA was not asked": facts(
        driver_signs=but(SIGNS, nodes=nodes(False, "nvidia0", "nvidiactl")),
        cuda_driver="not asked",
        torch_runtime="not asked",
    ),
    "Blackwell, the proprietary module, and a GPU": facts(
        driver_signs=but(SIGNS, bus=(device(id="0x2b85"),))
    ),
    "a driver that counts none where the bus has none": facts(
        **NO_GPUS, driver_signs=but(SIGNS, bus=(), bus_gpus=0)
    ),
    "nothing answers, and torch works": facts(
        driver="it does not answer",
        gpus="no answer",
        driver_signs=but(SIGNS, **NOT_FOUND, libraries={}),
        system=system(container="docker"),
        cuda_driver="not asked",
    ),
    "one of two GPUs for a virtual machine": facts(
        driver_signs=but(SIGNS, bus_gpus=2, bus=(device(), device("vfio-pci")))
    ),
    "another user's GPUs are closed": facts(
        driver_signs=but(
            SIGNS, nodes=nodes(True, "nvidia0", "nvidiactl", "nvidia-uvm") + nodes(False, "nvidia1")
        )
    ),
    "Blackwell and the open module": facts(
        driver_signs=but(SIGNS, bus=(device(id="0x2b85"),), kernel_flavor="open")
    ),
    "Pascal and the proprietary module": facts(driver_signs=but(SIGNS, bus=(device(id="0x1bb3"),))),
    "compute alone was given to the container": facts(
        driver=but(healthy.FACTS.driver, source="kernel"),
        gpus="NVML is absent",
        driver_signs=but(SIGNS, **NOT_FOUND, libraries={"libcuda.so.1": LIBCUDA}),
        system=system(container="docker"),
    ),
}


@pytest.mark.parametrize("name", HITS)
def test_hit(name: str) -> None:
    check(*HITS[name])


@pytest.mark.parametrize("name", MISSES)
def test_near_miss(name: str) -> None:
    assert ids(MISSES[name]) == []


@pytest.mark.parametrize(
    "signs",
    [
        NOT_LOADED,
        {"nvml_error": NO_ANSWER},
        {**NOT_FOUND, "kernel_version": "535.54"},
        UNKNOWN,
        {"nvml_error": "Insufficient Permissions", "nvml_code": 4},
    ],
    ids=["not loaded", "hangs", "module without library", "unknown", "permissions"],
)
def test_a_gpu_on_the_bus_without_an_answer_is_always_spoken_of(signs: dict[str, Any]) -> None:
    [found] = ids(silent(signs=signs))
    assert found.startswith("driver/")


@pytest.mark.parametrize(
    ("name", "command"),
    [
        ("Ubuntu 24.04.2 LTS", "sudo ubuntu-drivers install"),
        ("Debian GNU/Linux 13 (trixie)", "sudo apt install linux-headers-amd64 nvidia-driver"),
        ("Fedora Linux 43", "sudo dnf install akmod-nvidia xorg-x11-drv-nvidia-cuda"),
        ("Rocky Linux 9.6", "sudo dnf install nvidia-open"),
        ("Arch Linux", "sudo pacman -S nvidia-open nvidia-utils"),
    ],
)
def test_each_distribution_installs_the_driver_its_own_way(name: str, command: str) -> None:
    finding = of("driver/not-installed", silent(signs=NOT_FOUND, system=system(name=name)))
    assert [" ".join(one) for one in finding.fixes[0].commands] == [command, "sudo reboot"]


@pytest.mark.parametrize("name", ["Arch Linux", "Rocky Linux 9.6", "Gentoo"])
def test_a_gpu_before_turing_is_not_given_the_open_modules(name: str) -> None:
    given = silent(signs={**NOT_FOUND, "bus": (device("", "0x1b80"),)}, system=system(name=name))
    [fix] = of("driver/not-installed", given).fixes
    assert "580" in fix.title and fix.commands == ()


def test_in_a_container_the_host_is_what_reboots_and_the_container_starts_anew() -> None:
    given = silent(signs={"nvml_error": MISMATCH, "nvml_code": 18}, system=system(container="kubernetes"))
    first, second = of("driver/library-version-mismatch", given).fixes
    assert first.title == "On the host, outside of this container: reboot, then start this container anew"
    assert first.commands == second.commands == ()


def test_only_what_is_loaded_is_unloaded() -> None:
    given = silent(signs={"nvml_code": 18, "modules": {"nvidia": "1", "nvidia_uvm": ""}})
    assert of("driver/library-version-mismatch", given).fixes[1].commands == (
        ("sudo", "modprobe", "-r", "nvidia_uvm", "nvidia"),
        ("sudo", "modprobe", "nvidia"),
    )
