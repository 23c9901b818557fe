"""The PCI bus as sysfs shows it: GPUs and NVSwitches, whether a driver is bound to them or not.

What is read here is kept by the kernel; reading it wakes no GPU that sleeps.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from doctor.facts import PciDevice
from doctor.host import Host

DEVICES = "/sys/bus/pci/devices"
VENDORS: dict[str, Literal["nvidia", "amd", "intel"]] = {
    "0x10de": "nvidia",
    "0x1002": "amd",
    "0x8086": "intel",
}
# Classes of PCI: base class 03 is display; 12 a processing accelerator, as the MI300X calls itself, while
# Intel's are no GPUs; 0680 a bridge of its own kind, as the NVSwitch is.
DISPLAY, ACCELERATOR, BRIDGE = "0x03", "0x12", "0x0680"
FIRST_NVSWITCH = "0x1a"  # its ids start above those of NVIDIA's old chipsets, whose network is such a bridge


def pci_devices(host: Host) -> tuple[PciDevice, ...]:
    """GPUs of NVIDIA, AMD and Intel and NVIDIA's switches; empty where there is no such bus to read."""
    return tuple(
        device
        for address in host.list_folder(DEVICES)
        if (kind := _first_line(host, address, "class")).startswith((DISPLAY, ACCELERATOR, BRIDGE))
        for device in _device(host, address, kind)
    )


def nvidia_gpus(devices: tuple[PciDevice, ...]) -> int:
    """How many of them are GPUs of NVIDIA."""
    return sum(device.vendor == "nvidia" and device.kind == "display" for device in devices)


def kernel_driver(host: Host, address: str) -> str:
    """The name of the kernel driver that is bound to a device, "" where none is."""
    *_, folder, name = ("", *host.real_path(f"{DEVICES}/{address}/driver").split("/"))
    return name if folder == "drivers" else ""


def _device(host: Host, address: str, kind: str) -> Iterator[PciDevice]:
    vendor, device = VENDORS.get(_first_line(host, address, "vendor")), _first_line(host, address, "device")
    is_switch = kind.startswith(BRIDGE)
    counts = {
        DISPLAY: True,
        ACCELERATOR: vendor == "amd",
        BRIDGE: vendor == "nvidia" and device >= FIRST_NVSWITCH,
    }
    if vendor and any(kind.startswith(start) and does for start, does in counts.items()):
        yield PciDevice(
            address=address,
            vendor=vendor,
            device=device[:16],
            kind="nvswitch" if is_switch else "display",
            kernel_driver=kernel_driver(host, address),
            power_state=_first_line(host, address, "power_state")[:16],
        )


def _first_line(host: Host, address: str, name: str) -> str:
    return (host.read_text(f"{DEVICES}/{address}/{name}") or "").partition("\n")[0].strip()
