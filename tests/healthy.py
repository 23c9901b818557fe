"""One healthy machine with a GPU twice over: as the children and files that tell of it, and as its Facts.

``gather`` on the first yields the second; ``test_checkup`` holds the two together, so that a rule that is
tested on ``facts()`` is tested on what the probes really make.
"""

from __future__ import annotations

import copy
import sys
from collections.abc import Mapping
from typing import Any

import msgspec
import native_files
from fakes import Call, FakeHost, emits, ended

from doctor.facts import (
    Accelerator,
    BitsandbytesBuild,
    BitsandbytesRuntime,
    Compiling,
    CudaDevice,
    CudaDriver,
    Driver,
    DriverSigns,
    Facts,
    Failure,
    FileCheck,
    Gap,
    Gpu,
    Interpreter,
    Package,
    Packages,
    StageRun,
    System,
    Toolkit,
    TorchBuild,
    TorchRuntime,
    Trial,
)
from doctor.hardware import DeviceNode, GpuProcess, PciDevice
from doctor.host import Completed
from doctor.target import Target

PYTHON = "/env/bin/python"
SITE = "/env/lib/python3.11/site-packages"
SMI = "/usr/bin/nvidia-smi"
TARGET = Target(PYTHON, "--python")
GPU_NAME = "NVIDIA GeForce RTX 4090"
DRIVER = "580.95.05"
MIB = 1 << 20

VERSIONS = {
    "torch": "2.13.0+cu130",
    "bitsandbytes": "0.50.2",
    "transformers": "5.24.0",
    "accelerate": "1.15.0",
    "peft": "0.21.2",
    "trl": "1.16.0",
    "datasets": "5.2.0",
    "numpy": "2.4.1",
    "triton": "3.7.1",
}
REQUIRES = {
    "peft": ["torch>=1.13.0", "transformers", "numpy>=1.17"],
    "trl": ["accelerate>=1.4.0", "datasets>=3.0.0", "transformers>=4.56.2"],
    "bitsandbytes": ["torch<3,>=2.3", "numpy>=1.17"],
}
STAGES = (
    *("import-torch", "see-gpu", "import-bitsandbytes", "import-transformers", "import-accelerate"),
    *("import-peft", "import-trl", "load-4bit", "lora-step", "qlora-step", "save-load", "sft-step"),
)
ARCHITECTURES = ["sm_75", "sm_80", "sm_86", "sm_90", "sm_100", "sm_120", "compute_120"]
# What torch has mapped once it is imported, and what bitsandbytes adds.
TORCH_OBJECTS = [
    "/usr/lib/x86_64-linux-gnu/libstdc++.so.6",
    f"{SITE}/nvidia/cu13/lib/libcublas.so.13",
    f"{SITE}/nvidia/cu13/lib/libcublasLt.so.13",
    f"{SITE}/nvidia/cu13/lib/libcudart.so.13",
    f"{SITE}/nvidia/cu13/lib/libnvJitLink.so.13",
    f"{SITE}/nvidia/cudnn/lib/libcudnn.so.9",
    f"{SITE}/nvidia/nccl/lib/libnccl.so.2",
    f"{SITE}/torch/lib/libtorch_cuda.so",
    f"{SITE}/torch/lib/libtorch_global_deps.so",
    f"{SITE}/torch/lib/libtorch_python.so",
]
BNB_OBJECTS = [f"{SITE}/bitsandbytes/libbitsandbytes_cuda130.so", *TORCH_OBJECTS]
LIBRARIES = ["libbitsandbytes_cpu.so", "libbitsandbytes_cuda126.so", "libbitsandbytes_cuda130.so"]

Event = dict[str, Any]


def installed(name: str, version: str) -> Event:
    """One distribution as the survey tells it."""
    return {
        "name": name,
        "version": version,
        "location": SITE,
        "dist_info": f"{SITE}/{name}-{version}.dist-info",
        "installer": "pip",
        "requires": REQUIRES.get(name, []),
        "requires_python": ">=3.9",
        "editable": False,
        "origin": "",
        "source_gone": False,
        "fault": "",
    }


INTERPRETER: Event = {
    "executable": PYTHON,
    "version": "3.11.9",
    "implementation": "CPython",
    "prefix": "/env",
    "base_prefix": "/usr",
    "kind": "venv",
    "site_folders": [SITE],
    "user_site": None,
    "externally_managed": False,
    "has_pip": True,
    "writable": True,
}
SURVEY: dict[str, Event] = {
    "interpreter": INTERPRETER,
    "headers": {"include_folder": "/usr/include/python3.11"},
    "packages": {
        "folders": [SITE],
        "found": [installed(name, version) for name, version in sorted(VERSIONS.items())],
        "leftovers": [],
        "closure": sorted(VERSIONS),
    },
    "files": {
        "modules": {name: [name] for name in VERSIONS},
        "checked": 1234,
        "hashed": 0,
        "without_record": [],
        "faults": [],
    },
    "shadows": {"shadows": [], "overlaps": [], "unregistered": []},
    "builds": {
        "torch": {
            "version": VERSIONS["torch"],
            "build": {"__version__": VERSIONS["torch"], "cuda": "13.0", "hip": None},
            "fault": "",
        },
        "bitsandbytes": {"version": VERSIONS["bitsandbytes"], "build": LIBRARIES, "fault": ""},
    },
}
GPU: Event = {
    "index": 0,
    "name": GPU_NAME,
    "compute_capability": "8.9",
    "memory_total_bytes": 24564 * MIB,
    "memory_free_bytes": 24000 * MIB,
    "memory_reserved_bytes": 437 * MIB,
    "shares_memory": False,
    "uuid_hash": "0d5a1f3c7e92",
    "pci_address": "0000:01:00.0",
    "processes": [{"name": "Xorg", "memory_bytes": 120 * MIB, "kind": "graphics"}],
    "mig_mode": None,
    "mig_instances": [],
    "ecc_enabled": False,
    "ecc_uncorrected": None,
    "remapped_rows": None,
    "remapping_pending": False,
    "remapping_failed": False,
    "retired_pages": None,
    "retirement_pending": False,
    "throttle": [],
    "persistence": False,
    "compute_mode": "default",
    "pcie_width": 16,
    "pcie_width_max": 16,
    "pcie_generation": 4,
    "pcie_generation_max": 4,
    "nvlinks": None,
    "display": True,
}
# As NVML's child tells it piece by piece, and as the pieces are put together.
NVML_PIECES: tuple[Event, ...] = (
    {"section": "nvml", "driver": DRIVER, "cuda": "13.0", "count": 1},
    {"section": "nvml-gpu", **GPU},
)
NVML: Event = {"section": "nvml", "driver": DRIVER, "cuda": "13.0", "gpus": [GPU]}
CUDA: tuple[Event, ...] = (
    {"section": "libcuda", "library": f"/usr/lib/x86_64-linux-gnu/libcuda.so.{DRIVER}"},
    {"section": "libcuda", "version": "13.0"},
    {"section": "libcuda", "init_code": 0, "init_error": ""},
    {
        "section": "libcuda",
        "device": {
            "ordinal": 0,
            "name": GPU_NAME,
            "compute_capability": "8.9",
            "memory_total_bytes": 24080 * MIB,
            "integrated": False,
        },
    },
    {"section": "libcuda", "done": True},
)
SMI_TABLE = f"""\
Sun Nov 29 12:00:00 2026
+-----------------------------------------------------------------------------------------+
| NVIDIA-SMI {DRIVER}              Driver Version: {DRIVER}      CUDA Version: 13.0     |
+-----------------------------------------+------------------------+----------------------+
"""
SMI_ROWS = f"0, {GPU_NAME}, {DRIVER}, 24564, 24000, 8.9\n"
DETAILS: dict[str, Event] = {
    "import-torch": {
        "version": VERSIONS["torch"],
        "file": f"{SITE}/torch/__init__.py",
        "cuda_version": "13.0",
        "hip_version": None,
        "arch_list": ARCHITECTURES,
        "objects": TORCH_OBJECTS,
    },
    "see-gpu": {
        "cuda_available": True,
        "device_count": 1,
        "cuda_error": "",
        "devices": [GPU_NAME],
        "capabilities": ["8.9"],
        "bf16": True,
    },
    "import-bitsandbytes": {
        "version": VERSIONS["bitsandbytes"],
        "file": f"{SITE}/bitsandbytes/__init__.py",
        "library": "libbitsandbytes_cuda130.so",
        "mapped": ["libcudart.so.13"],
        "handle": "CudaBNBNativeLibrary",
        "objects": BNB_OBJECTS,
    },
    "load-4bit": {"device": "cuda:0"},
}


def survey(**changes: Event | None) -> list[Event]:
    """The sections of a survey; a change replaces keys of one, None leaves it out."""
    sections = copy.deepcopy(SURVEY)
    for name, change in changes.items():
        if change is None:
            del sections[name]
        else:
            sections[name] = {**sections[name], **change}
    return [{"section": name, **section} for name, section in sections.items()]


def started(stage: str) -> Event:
    return {"event": "start", "stage": stage}


def finished(stage: str, outcome: str = "ok", **fields: Any) -> Event:
    """The end of a stage as the trial's child tells it."""
    told = {"event": "end", "stage": stage, "outcome": outcome, "seconds": 1.0, "peak_bytes": 500 * MIB}
    return {**told, "details": DETAILS.get(stage, {}), **fields}


def passed(*stages: str) -> list[Event]:
    """Stages that passed, start and end of each."""
    return [event for stage in stages for event in (started(stage), finished(stage))]


def obedient(call: Call) -> Completed:
    """The trial's child that passes exactly what it is asked for."""
    return emits(*passed(*call.config["stages"]))(call)


def host(**scripted: Any) -> FakeHost:
    """The machine as a host.

    ``survey``, ``hashes``, ``nvml``, ``libcuda``, ``trial``, ``smi`` and ``rows`` replace what these children
    answer; what else is named goes to :class:`FakeHost`.
    """
    replies = {
        name: scripted.pop(name, reply)
        for name, reply in {
            "survey": emits(*survey()),
            "hashes": emits(*survey(files={"hashed": 21})),
            "nvml": emits(*NVML_PIECES),
            "libcuda": emits(*CUDA),
            "trial": obedient,
            "smi": ended(SMI_TABLE),
            "rows": ended(SMI_ROWS),
        }.items()
    }
    made = FakeHost(**{**HOST, **scripted})
    for name in ("survey", "hashes", "trial"):
        made.on(PYTHON, "-", name, replies=replies[name])
    for name in ("nvml", "libcuda"):
        made.on(sys.executable, "-", name, replies=replies[name])
    made.on(f"{TRITON_TOOLS}/ptxas", "--version", replies=ended(PTXAS_WORDS))
    made.on(SMI, replies=replies["smi"])
    made.on(SMI, SMI_QUERY_ARGUMENT, replies=replies["rows"])
    return made


SMI_QUERY_ARGUMENT = "--query-gpu=index,name,driver_version,memory.total,memory.free,compute_cap"
BUS = {
    "/sys/bus/pci/devices/0000:00:02.0/vendor": "0x8086\n",
    "/sys/bus/pci/devices/0000:00:02.0/device": "0xa780\n",
    "/sys/bus/pci/devices/0000:00:02.0/class": "0x038000\n",
    "/sys/bus/pci/devices/0000:00:02.0/power_state": "D0\n",
    "/sys/bus/pci/devices/0000:00:02.0/drm/renderD128/dev": "226:128\n",
    "/sys/bus/pci/devices/0000:01:00.0/vendor": "0x10de\n",
    "/sys/bus/pci/devices/0000:01:00.0/device": "0x2684\n",
    "/sys/bus/pci/devices/0000:01:00.0/class": "0x030000\n",
    "/sys/bus/pci/devices/0000:01:00.0/power_state": "D0\n",
    "/sys/bus/pci/devices/0000:01:00.1/vendor": "0x10de\n",  # its sound
    "/sys/bus/pci/devices/0000:01:00.1/class": "0x040300\n",
}
BOUND = {  # the kernel's drivers of these devices
    "/sys/bus/pci/devices/0000:00:02.0/driver": "/sys/bus/pci/drivers/i915",
    "/sys/bus/pci/devices/0000:01:00.0/driver": "/sys/bus/pci/drivers/nvidia",
}
LIBRARY_FOLDER = "/usr/lib/x86_64-linux-gnu"
DRIVER_LIBRARIES = {
    name: f"{LIBRARY_FOLDER}/{name}"
    for name in ("libcuda.so.1", "libnvidia-ml.so.1", "libnvidia-ptxjitcompiler.so.1")
}
NODES = ("/dev/nvidia-uvm", "/dev/nvidia-uvm-tools", "/dev/nvidia0", "/dev/nvidiactl")
TOOLKIT = "/usr/local/cuda-13.0"
TRITON_TOOLS = f"{SITE}/triton/backends/nvidia/bin"
PTXAS_WORDS = "ptxas: NVIDIA (R) Ptx optimizing assembler\nCuda compilation tools, release 12.8, V12.8.93\n"
HOST: dict[str, Any] = {
    "env": {
        "HF_HOME": "/data/hf",
        "HF_TOKEN": "hf_not_to_be_seen",
        "HOME": "/home/ada",
        "LANG": "C.UTF-8",
        "PATH": "/usr/bin",
    },
    "programs": {"nvidia-smi": SMI, "gcc": "/usr/bin/gcc"},
    "libraries": DRIVER_LIBRARIES,
    "leads": {
        **BOUND,
        **{path: f"{path.removesuffix('.1')}.{DRIVER}" for path in DRIVER_LIBRARIES.values()},
        "/usr/local/cuda": TOOLKIT,
    },
    "blobs": native_files.BLOBS,
    "files": {
        **native_files.FILES,
        "/proc/meminfo": "MemTotal:       32768000 kB\nMemFree:  100 kB\nMemAvailable:   16384000 kB\n",
        "/proc/cpuinfo": "processor\t: 0\nmodel name\t: AMD EPYC 9R14\n",
        "/proc/driver/nvidia/version": "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.95.05  Tue\n",
        "/sys/module/nvidia/version": f"{DRIVER}\n",
        "/sys/module/nvidia_uvm/version": f"{DRIVER}\n",
        **BUS,
        **dict.fromkeys((*NODES, "/dev/null", "/dev/dri/renderD128"), ""),
        "/usr/include/python3.11/Python.h": "",
        f"{LIBRARY_FOLDER}/libcuda.so.1": "",
        f"{TRITON_TOOLS}/ptxas": "",
        f"{TRITON_TOOLS}/ptxas-blackwell": "",
        "/usr/local/cuda/bin/nvcc": "",
        f"{TOOLKIT}/bin/nvcc": "",
        f"{TOOLKIT}/version.json": '{"cuda": {"name": "CUDA SDK", "version": "13.0.2"}}\n',
    },
}


def stage_run(stage: Any, **fields: Any) -> StageRun:
    return StageRun(**{"stage": stage, "outcome": "ok", "seconds": 1.0, "peak_bytes": 500 * MIB, **fields})


def packages(**changes: Any) -> Packages:
    """What is installed: by name a version, a whole :class:`Package`, or None for absent.

    An underscore in a name stands for a hyphen.
    """
    found = {
        name: Package(
            name=name,
            version=version,
            location=SITE,
            installer="pip",
            requires=tuple(REQUIRES.get(name, ())),
            requires_python=">=3.9",
            modules=(name,),
        )
        for name, version in VERSIONS.items()
    }
    for key, change in changes.items():
        name = key.replace("_", "-")
        known = found.pop(name, Package(name=name, version="", location=SITE, installer="pip"))
        if isinstance(change, str):
            found[name] = msgspec.structs.replace(known, version=change)
        elif change is not None:
            found[name] = change
    return Packages(installed=found)


GPU_PROCESS = GpuProcess(name="Xorg", memory_bytes=120 * MIB, kind="graphics")
FACTS = Facts(
    system=System(
        os="linux",
        name="Debian GNU/Linux 12 (bookworm)",
        kernel="Linux 6.1.0-28-amd64",
        arch="x86_64",
        libc="glibc 2.36",
        cpu="AMD EPYC 9R14",
        cpu_count=8,
        ram_total_bytes=32768000 * 1024,
        ram_available_bytes=16384000 * 1024,
        disk_free_bytes=79 << 30,
        shared_memory_bytes=12 << 30,
        container=None,
        wsl=False,
    ),
    environment={"HF_HOME": "/data/hf", "LANG": "C.UTF-8"},
    driver_signs=DriverSigns(
        kernel_version=DRIVER,
        kernel_flavor="proprietary",
        bus_gpus=1,
        bus=(
            PciDevice(
                address="0000:00:02.0",
                vendor="intel",
                device="0xa780",
                kind="display",
                kernel_driver="i915",
                power_state="D0",
            ),
            PciDevice(
                address="0000:01:00.0",
                vendor="nvidia",
                device="0x2684",
                kind="display",
                kernel_driver="nvidia",
                power_state="D0",
            ),
        ),
        modules={"nvidia": DRIVER, "nvidia_uvm": DRIVER},
        nodes=tuple(DeviceNode(path=path, usable=True) for path in NODES),
        libraries={name: f"{LIBRARY_FOLDER}/{name.removesuffix('.1')}.{DRIVER}" for name in DRIVER_LIBRARIES},
    ),
    driver=Driver(version=DRIVER, cuda_version="13.0", source="nvml"),
    gpus=(Gpu(**{**GPU, "processes": (GPU_PROCESS,), "mig_instances": (), "throttle": ()}),),
    cuda_driver=CudaDriver(
        library=f"{LIBRARY_FOLDER}/libcuda.so.{DRIVER}",
        init_code=0,
        version="13.0",
        devices=(
            CudaDevice(
                ordinal=0,
                name=GPU_NAME,
                compute_capability="8.9",
                memory_total_bytes=24080 * MIB,
                integrated=False,
            ),
        ),
    ),
    accelerators=(
        Accelerator(
            vendor="intel",
            name="Intel GPU 0xa780",
            kernel_driver="i915",
            integrated=True,
            usable=True,
        ),
    ),
    toolkits=(Toolkit(path=TOOLKIT, version="13.0", found_by="folder", has_compiler=True, is_used=True),),
    interpreter=Interpreter(**{**INTERPRETER, "site_folders": (SITE,), "noise": ""}),
    packages=packages(),
    files=FileCheck(checked=1234, hashed=0),
    torch=TorchBuild(version=VERSIONS["torch"], cuda_version="13.0", hip_version=None, variant="cu130"),
    bitsandbytes=BitsandbytesBuild(
        version=VERSIONS["bitsandbytes"],
        libraries=tuple(LIBRARIES),
        expected="libbitsandbytes_cuda130",
        override=None,
    ),
    linkage=native_files.LINKAGE,
    compiling=Compiling(
        compiler="/usr/bin/gcc",
        python_header="/usr/include/python3.11/Python.h",
        libcuda_link=f"{LIBRARY_FOLDER}/libcuda.so.1",
        ptxas=f"{TRITON_TOOLS}/ptxas",
        ptxas_version="12.8",
        triton="3.7.1",
        cache_folder="/home/ada/.triton/cache",
        cache_free_bytes=79 << 30,
        hub_cache_folder="/data/hf/hub",
        hub_cache_free_bytes=79 << 30,
        open_files=1024,
    ),
    torch_runtime=TorchRuntime(
        version=VERSIONS["torch"],
        file=f"{SITE}/torch/__init__.py",
        cuda_version="13.0",
        hip_version=None,
        arch_list=tuple(ARCHITECTURES),
        cuda_available=True,
        device_count=1,
        devices=(GPU_NAME,),
        capabilities=("8.9",),
        bf16=True,
        objects=tuple(TORCH_OBJECTS),
    ),
    bitsandbytes_runtime=BitsandbytesRuntime(
        version=VERSIONS["bitsandbytes"],
        file=f"{SITE}/bitsandbytes/__init__.py",
        library="libbitsandbytes_cuda130.so",
        mapped=("libcudart.so.13",),
        handle="CudaBNBNativeLibrary",
        objects=tuple(BNB_OBJECTS),
    ),
    trial=Trial(device="cuda:0", runs=tuple(stage_run(stage) for stage in STAGES)),
    hashes=FileCheck(checked=1234, hashed=21),
)


def facts(**changes: Any) -> Facts:
    """The healthy facts with some fields replaced; a reason in words makes a field a gap."""
    gaps = tuple(
        Gap(about=name, kind="failed", reason=value)
        for name, value in changes.items()
        if isinstance(value, str)
    )
    fields = {name: None if isinstance(value, str) else value for name, value in changes.items()}
    return msgspec.structs.replace(FACTS, **{"gaps": gaps, **fields})


def but(fact: Any, **changes: Any) -> Any:
    """One fact with some of its fields replaced."""
    return msgspec.structs.replace(fact, **changes)


def trial(*runs: StageRun) -> Trial:
    """The healthy trial with the runs of some stages replaced; of a stage that it has not, added."""
    given = {run.stage: run for run in runs}
    usual = {run.stage: run for run in FACTS.trial.runs}  # type: ignore[union-attr]
    return Trial(device="cuda:0", runs=tuple({**usual, **given}.values()))


def raised(stage: Any, message: str, kind: str = "ImportError", **fields: Any) -> StageRun:
    """A stage that an exception ended."""
    fields.setdefault("chain", ((kind, message),))
    return stage_run(stage, outcome="failed", failure=Failure(kind="raised", **fields))


def died(stage: Any, signal: str = "SIGSEGV", **fields: Any) -> StageRun:
    """A stage whose process was killed."""
    return stage_run(stage, outcome="failed", failure=Failure(kind="died", signal=signal, **fields))


def hung(stage: Any, **fields: Any) -> StageRun:
    """A stage that was given up."""
    fields.setdefault("chain", (("", "neither computes nor reads after 20 s"),))
    return stage_run(stage, outcome="failed", failure=Failure(kind="hung", deadline_s=20.0, **fields))


def gap_reasons(found: Facts) -> Mapping[str, str]:
    return {gap.about: gap.reason for gap in found.gaps}
