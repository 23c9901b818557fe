"""What each witness of a driver said where it did not simply answer, and what bus, kernel and files show."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from doctor.facts import DriverSigns, LostGpu, PciDevice
from doctor.host import Host
from doctor.probes import SMI_ANSWERS, Looks, Smi
from doctor.probes.signs import bus, fabric, kernel, libraries, xids

# What nvidia-smi prints of a GPU that it counts and cannot reach, in its table and in a query.
UNREACHABLE = re.compile(r"Unable to determine the device handle.{0,200}")
NO_VALUE = re.compile(r"\[(?:Unknown Error|GPU is lost|GPU requires reset)[^\]]{0,40}\]")
GPU_IS_LOST = 15  # in nvml.h
# "# R36 (release), REVISION: 4.3, GCID: 38968081, BOARD: generic, EABI: aarch64, DATE: ..."
TEGRA = re.compile(r"# R(\d{1,3}) \(release\), REVISION: (\d{1,3}(?:\.\d{1,3}){0,2})(?![\w.])")


def probe(looks: Looks) -> DriverSigns:
    """The refusals of NVML and nvidia-smi, and the witnesses that need no driver to answer."""
    host, answer = looks.host, looks.nvml.result()
    nvml = answer.section("nvml")
    devices, module, loaded = bus.pci_devices(host), kernel.module(host), kernel.modules(host)
    gpus, found = bus.nvidia_gpus(devices), libraries.libraries(host)
    has_driver = bool(gpus or module.version or "nvidia" in loaded)
    return DriverSigns(
        nvml_error=str(nvml.get("error", "")) if nvml else answer.trouble,
        nvml_code=nvml.get("code") if nvml else None,
        smi_error=refusal(looks.smi.result()),
        kernel_version=module.version,
        kernel_flavor=module.flavor,
        bus_gpus=gpus,
        bus=devices,
        modules=loaded,
        nodes=kernel.nodes(host),
        libraries=found,
        off_path=libraries.off_path(host, found),
        lost=lost(nvml["gpus"]) if nvml and "gpus" in nvml else lost_by_smi(looks.smi.result()),
        xids=xids.xids(host, with_dmesg=not looks.quick) if has_driver else (),
        fabric_manager=fabric.fabric_manager(host) if has_switch(devices) else "",
        slurm="SLURM_JOB_ID" in host.env,
        jetson=jetson(host),
    )


def refusal(smi: Smi | None) -> str:
    """What nvidia-smi printed in place of an answer; "" where it answered or is not there."""
    if smi is None:
        return ""
    if smi.table.timed_out:
        return f"it gave no answer within {smi.table.seconds:.0f} s and was killed"
    unreachable = UNREACHABLE.search(f"{smi.table.stdout}\n{smi.query.stdout}")
    if unreachable:
        return unreachable[0]
    if smi.table.code in SMI_ANSWERS:
        return ""
    said = (smi.table.stdout.strip() or smi.table.stderr.strip() or smi.table.error)[:500]
    return said or f"it ended with exit code {smi.table.code}"


def bus_gpus(host: Host) -> int:
    """NVIDIA display devices on the PCI bus, driver or not; 0 where there is no such bus to read."""
    return bus.nvidia_gpus(bus.pci_devices(host))


def has_switch(devices: Sequence[PciDevice]) -> bool:
    """Is there an NVSwitch, which a fabric manager must set up?"""
    return any(device.kind == "nvswitch" for device in devices)


def lost(rows: Sequence[Mapping[str, Any]]) -> tuple[LostGpu, ...]:
    """The GPUs that NVML counts and cannot read."""
    return tuple(
        LostGpu(index=row["index"], error=str(row["error"]), code=row.get("code"))
        for row in rows
        if "error" in row
    )


def lost_by_smi(smi: Smi | None) -> tuple[LostGpu, ...]:
    """The GPUs that nvidia-smi lists with an error in place of their name."""
    rows = (line.split(",") for line in smi.query.stdout.splitlines()) if smi else ()
    return tuple(
        LostGpu(index=int(row[0]), error=found[0], code=GPU_IS_LOST if "lost" in found[0] else None)
        for row in rows
        if len(row) > 1 and row[0].strip().isdigit() and (found := NO_VALUE.match(row[1].strip()))
    )


def jetson(host: Host) -> str:
    """The release of Jetson Linux (L4T), "" elsewhere."""
    found = TEGRA.search((host.read_text("/etc/nv_tegra_release") or "")[:4096])
    return f"{found[1]}.{found[2]}" if found else ""
