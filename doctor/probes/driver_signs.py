"""What each witness of a driver said where it did not simply answer, and what the bus shows."""

from __future__ import annotations

import re

from doctor.facts import DriverSigns
from doctor.host import Host
from doctor.probes import Looks, Smi

NVIDIA = "0x10de"
DISPLAY_CLASS = "0x03"  # PCI base class of VGA and 3D controllers
KERNEL_MODULE = re.compile(r"Kernel Module[^\n]*? (\d+\.\d+(?:\.\d+)?) ")


def probe(looks: Looks) -> DriverSigns:
    """The refusals of NVML and nvidia-smi, the loaded kernel module, the GPUs on the bus."""
    answer = looks.nvml.result()
    nvml = answer.section("nvml")
    module = KERNEL_MODULE.search(looks.host.read_text("/proc/driver/nvidia/version") or "")
    return DriverSigns(
        nvml_error=str(nvml.get("error", "")) if nvml else answer.trouble,
        nvml_code=nvml.get("code") if nvml else None,
        smi_error=refusal(looks.smi.result()),
        kernel_version=module.group(1) if module else "",
        bus_gpus=bus_gpus(looks.host),
    )


def refusal(smi: Smi | None) -> str:
    """What nvidia-smi printed in place of an answer; "" where it answered or is not there."""
    if smi is None or smi.table.code == 0:
        return ""
    if smi.table.timed_out:
        return f"it gave no answer within {smi.table.seconds:.0f} s and was killed"
    said = (smi.table.stdout.strip() or smi.table.stderr.strip() or smi.table.error)[:500]
    return said or f"it ended with exit code {smi.table.code}"


def bus_gpus(host: Host) -> int:
    """NVIDIA display devices on the PCI bus, driver or not; 0 where there is no such bus to read."""
    root = "/sys/bus/pci/devices"
    devices = [f"{root}/{name}" for name in host.list_folder(root)]
    nvidia = [path for path in devices if (host.read_text(f"{path}/vendor") or "").strip() == NVIDIA]
    return sum((host.read_text(f"{path}/class") or "").startswith(DISPLAY_CLASS) for path in nvidia)
