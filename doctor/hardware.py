"""Fact types of the driver, the GPUs and the CUDA toolkits, as each witness on the machine tells of them.

Witnesses may contradict each other; the contradiction is itself a fact, and what it means is decided in
``rules``. None and "" stand for what a witness did not say.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from doctor.fact import Fact


class PciDevice(Fact, frozen=True, kw_only=True):
    """One device of the PCI bus that computes or switches, driver or not."""

    address: str  # "0000:01:00.0"
    vendor: Literal["nvidia", "amd", "intel"]
    device: str  # PCI id "0x2684"
    kind: Literal["display", "nvswitch"]
    kernel_driver: str = ""  # "nvidia", "nouveau", "vfio-pci"; "" where none is bound
    power_state: str = ""  # "D0", "D3cold"


class DeviceNode(Fact, frozen=True, kw_only=True):
    """One device file of the NVIDIA driver, and whether this user may use it."""

    path: str  # "/dev/nvidia0"
    usable: bool  # readable and writable by its permissions; readable, for an instance of MIG


class Driver(Fact, frozen=True, kw_only=True):
    """The NVIDIA driver. ``cuda_version`` is the newest CUDA it offers, not torch's CUDA."""

    version: str  # "535.104.05"
    cuda_version: str | None  # "12.2"
    source: Literal["nvml", "nvidia-smi", "kernel", "stated"]
    # What each witness said, where they differ: {"nvml": "535.104.05", "nvidia-smi": "470.42"}
    disagreement: Mapping[str, str] = {}


class LostGpu(Fact, frozen=True, kw_only=True):
    """A GPU that the driver counts and that gives no answer."""

    index: int  # as NVML counts
    error: str
    code: int | None = None  # the number of that error in nvml.h


class Xid(Fact, frozen=True, kw_only=True):
    """One error that the driver wrote into the kernel's log, where this user may read it."""

    address: str  # "0000:01:00", as the log has it
    code: int
    text: str
    count: int = 1


class DriverSigns(Fact, frozen=True, kw_only=True):
    """What each witness of a driver said where it did not simply answer, and what the bus shows."""

    nvml_error: str = ""  # "Driver/library version mismatch"; "" where NVML answered
    nvml_code: int | None = None  # the number of that error in nvml.h
    smi_error: str = ""  # what nvidia-smi printed in place of an answer
    kernel_version: str = ""  # of the loaded kernel module, from /proc/driver/nvidia/version
    kernel_flavor: Literal["open", "proprietary", ""] = ""  # which of NVIDIA's two kernel modules is loaded
    bus_gpus: int = 0  # NVIDIA display devices on the PCI bus
    bus: tuple[PciDevice, ...] = ()
    # Loaded kernel modules with their versions, "" where one tells none: nvidia, nvidia_uvm, nouveau.
    modules: Mapping[str, str] = {}
    nodes: tuple[DeviceNode, ...] = ()
    # Files of the user-space driver, links followed, by the name that a program asks for:
    # {"libcuda.so.1": "/usr/lib/x86_64-linux-gnu/libcuda.so.535.104.05"}; of one that is absent nothing.
    libraries: Mapping[str, str] = {}
    # A libcuda.so.1 where the loader does not look: told where the loader has none, and of WSL's own.
    off_path: tuple[str, ...] = ()
    lost: tuple[LostGpu, ...] = ()
    xids: tuple[Xid, ...] = ()
    fabric_manager: Literal["running", "stopped", "absent", ""] = ""  # "" where there is no NVSwitch
    slurm: bool = False  # we run inside a job of Slurm
    jetson: str = ""  # L4T release of a Jetson: "36.4.3"


class GpuProcess(Fact, frozen=True, kw_only=True):
    """A process that holds memory of a GPU."""

    name: str  # the name of its command, without folder and arguments
    memory_bytes: int | None = None  # None where the driver does not tell
    kind: Literal["compute", "graphics"] = "compute"


class MigInstance(Fact, frozen=True, kw_only=True):
    """One slice of a GPU in MIG mode."""

    name: str  # "NVIDIA A100-SXM4-40GB MIG 1g.5gb"
    memory_total_bytes: int | None = None
    memory_free_bytes: int | None = None
    uuid_hash: str = ""


class Gpu(Fact, frozen=True, kw_only=True):
    """One NVIDIA GPU as the driver numbers it (NVML index, not CUDA ordinal)."""

    index: int
    name: str
    compute_capability: str | None  # "8.9"
    memory_total_bytes: int | None  # None where it has none of its own, or where that is not told
    memory_free_bytes: int | None
    shares_memory: bool = False  # it has no memory of its own and uses the system's (GB10, Jetson)
    memory_reserved_bytes: int | None = None  # held by driver and firmware
    uuid_hash: str = ""  # twelve hexadecimal digits of the SHA-256 of its UUID, which itself is not kept
    pci_address: str = ""
    processes: tuple[GpuProcess, ...] | None = None  # None where the driver does not tell
    mig_mode: bool | None = None  # None where the GPU has no such mode
    mig_instances: tuple[MigInstance, ...] = ()
    ecc_enabled: bool | None = None
    ecc_uncorrected: int | None = None  # errors since the driver was loaded
    remapped_rows: int | None = None
    remapping_pending: bool = False  # a reset is due before the remapping counts
    remapping_failed: bool = False
    retired_pages: int | None = None
    retirement_pending: bool = False
    throttle: tuple[str, ...] = ()  # "thermal", "power cap", "power brake", "hardware slowdown"
    persistence: bool | None = None
    compute_mode: str = ""  # "default", "exclusive process", "prohibited", "exclusive thread"
    pcie_width: int | None = None
    pcie_width_max: int | None = None
    pcie_generation: int | None = None
    pcie_generation_max: int | None = None
    nvlinks: int | None = None  # active links; None where it has none
    # By the index of another GPU, how it is reached: "nvlink", "p2p", or "no: chipset not supported".
    peers: Mapping[str, str] = {}
    display: bool | None = None  # a screen is drawn by it


class CudaDevice(Fact, frozen=True, kw_only=True):
    """One device as libcuda numbers it (CUDA ordinal)."""

    ordinal: int
    name: str
    compute_capability: str | None
    memory_total_bytes: int | None = None
    integrated: bool | None = None


class CudaDriver(Fact, frozen=True, kw_only=True):
    """libcuda as it answers in a child that loads nothing else."""

    library: str  # the file that was mapped, links followed: ".../libcuda.so.535.104.05"
    init_code: int | None = None  # what cuInit gave: 0 is success; None where it did not come so far
    init_error: str = ""  # "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH"
    version: str | None = None  # the newest CUDA it offers, "12.2"
    devices: tuple[CudaDevice, ...] = ()
    failure: str = ""  # how its child ended in place of an answer: "killed by SIGSEGV"
    # Where cuInit fails: device files that cannot be opened though their permissions allow it, and why.
    # {"/dev/nvidiactl": "Operation not permitted"} is a control group's doing.
    refused: Mapping[str, str] = {}


class Accelerator(Fact, frozen=True, kw_only=True):
    """A device of another maker that can train, and what drives it."""

    vendor: Literal["amd", "intel", "apple"]
    name: str
    architecture: str = ""  # "gfx1030"; "" where it is not told
    kernel_driver: str = ""  # "amdgpu", "xe", "i915"
    runtime: str = ""  # "ROCm 6.4.1"; "" where none is installed
    integrated: bool | None = None
    memory_total_bytes: int | None = None
    usable: bool | None = None  # may this user use its device files; None where that is not known


class Toolkit(Fact, frozen=True, kw_only=True):
    """A CUDA toolkit on the machine: what builds extensions, and what running wheels never look at."""

    path: str
    version: str | None  # "12.4"
    found_by: Literal["CUDA_HOME", "PATH", "folder", "environment"]  # environment: of the target itself
    has_compiler: bool  # nvcc is there
    is_used: bool = False  # the one that torch's extension builder takes
