"""What the kernel shows of the NVIDIA driver: loaded modules, their version and kind, device files."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal, NamedTuple

from doctor.facts import DeviceNode
from doctor.host import Host

MODULES = (
    *("nvidia", "nvidia_uvm", "nvidia_drm", "nvidia_modeset", "nvidia_peermem"),
    *("nouveau", "vfio_pci"),  # what may hold the GPU in its place
)
OWN_ACCOUNT = "/proc/driver/nvidia/version"
# "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat Aug 19 ..."
KERNEL_MODULE = re.compile(r"(Open )?Kernel Module[^\n]{0,80}? (\d{1,4}\.\d{1,6}(?:\.\d{1,6})?)(?![\w.])")
VERSION = re.compile(r"[\w.+~:-]{1,40}")
# GPUs by number, the driver itself, unified memory; nvmap is what Jetsons have, dxg what WSL has.
NODE = re.compile(r"nvidia\d+|nvidiactl|nvidia-uvm|nvidia-uvm-tools|nvmap|dxg")
CAPABILITIES = "/dev/nvidia-caps"
CONFIGURES_MIG = "nvidia-cap1"  # by design for root alone


class Module(NamedTuple):
    """The loaded kernel module by its own account."""

    version: str = ""
    flavor: Literal["open", "proprietary", ""] = ""


def module(host: Host) -> Module:
    """The version that /proc tells, nothing where no module of NVIDIA is loaded."""
    found = KERNEL_MODULE.search((host.read_text(OWN_ACCOUNT) or "")[:4096])
    return Module(found[2], "open" if found[1] else "proprietary") if found else Module()


def modules(host: Host) -> Mapping[str, str]:
    """Those of the modules in question that are loaded, each with its version, "" where it tells none."""
    return {name: _version(host, name) for name in MODULES if host.is_folder(f"/sys/module/{name}")}


def _version(host: Host, name: str) -> str:
    told = (host.read_text(f"/sys/module/{name}/version") or "").strip()
    return told if VERSION.fullmatch(told) else ""


def nodes(host: Host) -> tuple[DeviceNode, ...]:
    """The device files of the driver. Those of MIG's instances need only be readable."""
    plain = [f"/dev/{name}" for name in host.list_folder("/dev") if NODE.fullmatch(name)]
    slices = [name for name in host.list_folder(CAPABILITIES) if name != CONFIGURES_MIG]
    return (
        *(DeviceNode(path=path, usable=host.is_usable(path)) for path in plain),
        *(
            DeviceNode(
                path=f"{CAPABILITIES}/{name}", usable=host.is_usable(f"{CAPABILITIES}/{name}", writing=False)
            )
            for name in slices
        ),
    )
