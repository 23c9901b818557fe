"""What the witnesses of a driver say together: kernel, bus, device files, NVML, nvidia-smi, libcuda, torch.

No rule stands here. Each property of :class:`Witnesses` is one question put to all of them, and a witness
that is absent answers none.
"""

from __future__ import annotations

import re
from functools import cached_property
from typing import NamedTuple

from doctor.facts import DeviceNode, DriverSigns, Facts, PciDevice

# Numbers of nvml.h.
NO_PERMISSION, DRIVER_NOT_LOADED, LIBRARY_NOT_FOUND, FUNCTION_NOT_FOUND = 4, 9, 12, 13
GPU_IS_LOST, VERSION_MISMATCH = 15, 18
NVML_ABSENT = (LIBRARY_NOT_FOUND, -1)  # -1 is ours: the bindings to it are not there
# Numbers of cuda.h and of the runtime alike.
OUT_OF_MEMORY, NOT_INITIALIZED, STUB_LIBRARY, DRIVER_TOO_OLD, DEVICES_BUSY, NO_DEVICE = 2, 3, 34, 35, 46, 100
ECC_UNCORRECTABLE, SYSTEM_NOT_READY, DRIVER_MISMATCH, COMPAT_NOT_SUPPORTED, UNKNOWN = 214, 802, 803, 804, 999

NUMBERED = re.compile(r"\bError (\d{1,3})\b")
# What torch says of an error instead of its number.
WORDED = (
    ("system not yet initialized", SYSTEM_NOT_READY),
    ("unsupported display driver / cuda driver combination", DRIVER_MISMATCH),
    ("forward compatibility was attempted on non supported HW", COMPAT_NOT_SUPPORTED),
    ("CUDA driver is a stub library", STUB_LIBRARY),
    ("driver on your system is too old", DRIVER_TOO_OLD),
    ("CUDA-capable devices are busy or unavailable", DEVICES_BUSY),
    ("CUDA-capable device(s) is/are busy or unavailable", DEVICES_BUSY),
    ("no CUDA-capable device is detected", NO_DEVICE),
    ("No CUDA GPUs are available", NO_DEVICE),
    ("CUDA driver initialization failed", NOT_INITIALIZED),
    ("out of memory", OUT_OF_MEMORY),
    ("unknown error", UNKNOWN),
)
# What nvidia-smi prints of NVML's refusals, with their numbers in nvml.h.
PRINTED = (
    ("Unable to determine the device handle", GPU_IS_LOST),
    ("GPU is lost", GPU_IS_LOST),
    ("Insufficient Permissions", NO_PERMISSION),
    ("Driver Not Loaded", DRIVER_NOT_LOADED),
    ("Unknown Error", UNKNOWN),
)
NO_DEVICES = "No devices were found"  # nvidia-smi, of a driver that shows no GPU
LIBRARY_VERSION = re.compile(r"\.so\.(\d{3}\.\d+(?:\.\d+)?)$")
DEVICE_ID = re.compile(r"0x[0-9a-fA-F]{4}$")
GPU_NODE = re.compile(r"/dev/nvidia\d+$")


def code_in(text: str) -> int | None:
    """The number of the CUDA error that a text speaks of, None where it speaks of none.

    >>> code_in("Unexpected error from cudaGetDeviceCount(). Error 802: system not yet initialized")
    802
    """
    numbered = NUMBERED.search(text)
    if numbered:
        return int(numbered.group(1))
    return next((code for words, code in WORDED if words in text), None)


def first_line(text: str) -> str:
    """The first line of what a witness said that has words, cut to a length that can be told."""
    return next((line.strip() for line in text.splitlines() if line.strip()), "")[:300]


def version_of(path: str) -> str:
    """The driver that a library belongs to by its file's name: "580.95.05"; "" where the name has none."""
    found = LIBRARY_VERSION.search(path)
    return found.group(1) if found else ""


class Libcuda(NamedTuple):
    """The libcuda.so.1 that a program here gets."""

    path: str
    version: str  # of the driver that it belongs to; "" where its file's name does not tell

    @property
    def is_compat(self) -> bool:
        """Is it of NVIDIA's package for forward compatibility, which lies in folders of that name?"""
        return "/compat/" in self.path


class Witnesses:
    """All witnesses of one machine. ``signs`` is empty where they were not looked for."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.signs = facts.driver_signs or DriverSigns()

    @cached_property
    def driver_answers(self) -> bool:
        """Did NVML or nvidia-smi name a driver, or the kernel where only CUDA's part of it is installed?"""
        return self.facts.driver is not None

    @cached_property
    def nvml_code(self) -> int | None:
        """The number of NVML's refusal; by the words of nvidia-smi where that alone could ask NVML."""
        code = self.signs.nvml_code
        if code not in NVML_ABSENT:
            return code
        return next((number for words, number in PRINTED if words in self.signs.smi_error), code)

    @cached_property
    def nvml_words(self) -> str:
        """NVML's refusal as it was worded, "" without one."""
        is_own = self.nvml_code == self.signs.nvml_code
        return self.signs.nvml_error if is_own else first_line(self.signs.smi_error)

    @cached_property
    def shows_none(self) -> bool:
        """Does a driver run and count no GPU?"""
        silent = not self.driver_answers and NO_DEVICES in self.signs.smi_error
        return silent or (self.driver_answers and self.facts.gpus == ())

    @cached_property
    def shows_gpus(self) -> bool:
        """Does the driver show a GPU?"""
        return self.driver_answers and bool(self.facts.gpus)

    @cached_property
    def torch_works(self) -> bool:
        """Does torch itself have a device to work on?"""
        runtime = self.facts.torch_runtime
        return bool(runtime and runtime.cuda_version and runtime.cuda_available and not runtime.cuda_error)

    @cached_property
    def cuda_works(self) -> bool:
        """Does torch, or libcuda where torch was not asked, have a device to work on?"""
        runtime, driver = self.facts.torch_runtime, self.facts.cuda_driver
        if runtime and runtime.cuda_version and runtime.cuda_available is not None:
            return self.torch_works
        return driver is not None and driver.init_code == 0 and bool(driver.devices)

    @cached_property
    def cuda_code(self) -> int | None:
        """The number of CUDA's refusal, of libcuda itself or else in torch's words; None without one."""
        driver, runtime = self.facts.cuda_driver, self.facts.torch_runtime
        if self.cuda_works:
            return None
        if driver and driver.init_code:
            return driver.init_code
        said = code_in(runtime.cuda_error) if runtime else None
        if said is None and driver and driver.init_code == 0 and not driver.devices:
            return NO_DEVICE
        return said

    @cached_property
    def cuda_words(self) -> str:
        """CUDA's refusal as it was worded, "" without one."""
        driver, runtime = self.facts.cuda_driver, self.facts.torch_runtime
        if driver and driver.init_code:
            return f"cuInit gives {driver.init_code} {driver.init_error}".strip()
        if runtime and runtime.cuda_error:
            return f"torch says {first_line(runtime.cuda_error)}"
        return "libcuda counts no device" if self.cuda_code == NO_DEVICE else ""

    @cached_property
    def libcuda(self) -> Libcuda | None:
        """The libcuda that was mapped, or else the one that the loader would take."""
        driver, runtime = self.facts.cuda_driver, self.facts.torch_runtime
        mapped = [path for path in (runtime.objects if runtime else ()) if "/libcuda.so" in path]
        paths = [driver.library if driver else "", *mapped, self.signs.libraries.get("libcuda.so.1", "")]
        path = next(filter(None, paths), "")
        return Libcuda(path, version_of(path)) if path else None

    @cached_property
    def container(self) -> str | None:
        """The container that we run in, None outside one."""
        return self.facts.system.container if self.facts.system else None

    @cached_property
    def wsl(self) -> bool:
        """Is this Linux inside of Windows?"""
        return bool(self.facts.system and self.facts.system.wsl)

    @cached_property
    def bus(self) -> tuple[PciDevice, ...]:
        """The NVIDIA GPUs of the PCI bus, as far as the bus tells more than their number."""
        return tuple(one for one in self.signs.bus if one.vendor == "nvidia" and one.kind == "display")

    @cached_property
    def device_ids(self) -> tuple[int, ...]:
        """Their PCI ids, which rise with the generations of GPUs."""
        return tuple(int(one.device, 16) for one in self.bus if DEVICE_ID.match(one.device))

    @cached_property
    def gpus_on_bus(self) -> int:
        """The number of NVIDIA GPUs on the PCI bus."""
        return self.signs.bus_gpus or len(self.bus)

    @cached_property
    def switches(self) -> int:
        """The number of NVSwitches on the PCI bus."""
        return sum(one.kind == "nvswitch" for one in self.signs.bus)

    @cached_property
    def module_loaded(self) -> bool:
        """Is NVIDIA's kernel module loaded? A container sees the one of its host."""
        return bool(self.signs.kernel_version) or "nvidia" in self.signs.modules

    @cached_property
    def gpu_is_here(self) -> bool:
        """Does the bus or the kernel speak of an NVIDIA GPU?"""
        return bool(self.gpus_on_bus or self.module_loaded)

    @cached_property
    def libraries_there(self) -> bool:
        """Is a library of the driver installed?"""
        found = {"libcuda.so.1", "libnvidia-ml.so.1"} & {*self.signs.libraries}
        return bool(found) or self.signs.nvml_code not in (None, LIBRARY_NOT_FOUND)

    @cached_property
    def gpu_nodes(self) -> tuple[DeviceNode, ...]:
        """The device files of GPUs."""
        return tuple(node for node in self.signs.nodes if GPU_NODE.match(node.path))

    def is_bound_to(self, kernel_driver: str) -> bool:
        """Is every NVIDIA GPU of the bus in the hands of one kernel driver?"""
        return bool(self.bus) and all(one.kernel_driver == kernel_driver for one in self.bus)
