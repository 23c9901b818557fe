"""Devices of other makers that can train: AMD's by its compute driver, Intel's by the bus, Apple's."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from doctor.facts import Accelerator, Gap, PciDevice
from doctor.host import Host
from doctor.probes import Looks
from doctor.probes.signs import bus

TOPOLOGY = "/sys/class/kfd/kfd/topology/nodes"
COMPUTE_NODE = "/dev/kfd"
NAMELESS = ("", "ip discovery")  # what newer kernels give in place of a name
VIDEO_MEMORY = ("1", "2")  # heap types of the compute driver: visible to the CPU, or to the GPU alone
# The processors that LLVM's table lists as APUs: https://llvm.org/docs/AMDGPUUsage.html#processors
APUS = frozenset(
    "gfx801 gfx902 gfx909 gfx90c gfx1013 gfx1033 gfx1035 gfx1036 gfx1103 gfx1150 gfx1151 gfx1152 "
    "gfx1153".split()
)
EITHER = ("", "gfx942", "gfx950")  # not told, or MI300A and MI300X alike
ROCM = ("/opt/rocm/.info/version", "/opt/rocm/.info/version-dev")
LEVEL_ZERO = "libze_intel_gpu.so.1"  # the driver of Intel's runtime, which torch's XPU build looks for
INTEL_INTEGRATED = "0000:00:02.0"  # where Intel's graphics sit when they are part of the processor
NUMBER = re.compile(r"^(\w{1,40}) (\d{1,16})$", re.M)
RELEASE = re.compile(r"\d{1,3}(?:\.\d{1,6}){1,3}")
VENDOR_LINE = re.compile(r"\n[0-9a-f]{4} ")
NAMES_OF_PCI = ("/usr/share/hwdata/pci.ids", "/usr/share/misc/pci.ids")


def probe(looks: Looks) -> tuple[Accelerator, ...] | Gap:
    """All that are there; none on a machine with NVIDIA alone, or with a processor alone."""
    host = looks.host
    if host.os == "win32":
        reason = "devices of other makers than NVIDIA are not looked for on Windows"
        return Gap(about="accelerators", kind="not-applicable", reason=reason)
    if host.os == "darwin":
        return tuple(apple(host))
    devices = [device for device in bus.pci_devices(host) if device.vendor != "nvidia"]
    computing = amd_computing(host)
    names = names_of_pci(host) if devices or computing else ""
    found = [
        amd(host, names, device, computing.pop(device.address, {}))
        for device in devices
        if device.vendor == "amd"
    ]
    found += [amd(host, names, None, node) for node in computing.values()]  # a container may hide the bus
    found += [intel(host, names, device) for device in devices if device.vendor == "intel"]
    return tuple(found)


def apple(host: Host) -> Iterator[Accelerator]:
    """The GPU of a processor of Apple's, which uses the memory of the whole."""
    machine = host.machine()
    if machine["arch"] == "arm64":
        memory = machine.get("ram_total_bytes")
        yield Accelerator(vendor="apple", name="Apple silicon", integrated=True, memory_total_bytes=memory)


def amd_computing(host: Host) -> dict[str, Mapping[str, str]]:
    """Properties of each GPU that the compute driver has, by its PCI address."""
    found: dict[str, Mapping[str, str]] = {}
    for number in host.list_folder(TOPOLOGY):
        folder = f"{TOPOLOGY}/{number}"
        node = dict(NUMBER.findall(host.read_text(f"{folder}/properties") or ""))
        if int(node.get("simd_count", 0)):
            name = (host.read_text(f"{folder}/name") or "").strip()
            found[_address(node)] = {**node, "name": name, "memory": str(_memory(host, folder))}
    return found


def _address(node: Mapping[str, str]) -> str:
    """The PCI address of a node: its location packs bus, device and function as PCI does."""
    place, domain = int(node.get("location_id", 0)), int(node.get("domain", 0))
    return f"{domain:04x}:{place >> 8 & 255:02x}:{place >> 3 & 31:02x}.{place & 7}"


def _memory(host: Host, folder: str) -> int:
    """Bytes of the memory that is the GPU's own."""
    banks = [f"{folder}/mem_banks/{bank}/properties" for bank in host.list_folder(f"{folder}/mem_banks")]
    told = [dict(NUMBER.findall(host.read_text(bank) or "")) for bank in banks]
    return sum(int(bank.get("size_in_bytes", 0)) for bank in told if bank.get("heap_type") in VIDEO_MEMORY)


def amd(host: Host, names: str, device: PciDevice | None, node: Mapping[str, str]) -> Accelerator:
    """One GPU of AMD by its place on the bus and by its compute driver, of which either may be missing."""
    architecture = gfx(int(node.get("gfx_target_version", 0)))
    marketing = host.read_text(f"{bus.DEVICES}/{device.address}/product_name") if device else None
    device_id = device.device if device else f"0x{int(node.get('device_id', 0)):x}"
    name = (marketing or "").strip() or pci_name(names, "1002", device_id) or node.get("name", "")
    return Accelerator(
        vendor="amd",
        name=f"AMD GPU {device_id}" if name in NAMELESS else name[:100],
        architecture=architecture,
        kernel_driver=device.kernel_driver if device else "amdgpu",
        runtime=rocm(host),
        integrated=is_integrated(architecture, node),
        memory_total_bytes=int(node.get("memory", 0)) or None,
        usable=_amd_usable(host, device, node),
    )


def gfx(version: int) -> str:
    """The name of a target: 100300 is gfx1030, 90010 is gfx90a; "" for none."""
    major, minor, stepping = version // 10000, version // 100 % 100, version % 100
    return f"gfx{major}{minor:x}{stepping:x}" if major else ""


def is_integrated(architecture: str, node: Mapping[str, str]) -> bool | None:
    """Is it part of the processor? None where neither node nor architecture tells."""
    if int(node.get("cpu_cores_count", 0)) or architecture in APUS:
        return True
    return None if architecture in EITHER else False


def _amd_usable(host: Host, device: PciDevice | None, node: Mapping[str, str]) -> bool | None:
    minor = int(node.get("drm_render_minor", 0))
    if not node:
        return _render_node_usable(host, device) if device else None
    return host.is_usable(COMPUTE_NODE) and (not minor or host.is_usable(f"/dev/dri/renderD{minor}"))


def rocm(host: Host) -> str:
    """ "ROCm 6.4.1" where it is installed for the whole machine, else ""."""
    told = next((text for path in ROCM if (text := host.read_text(path))), "")
    found = RELEASE.match(told)
    return f"ROCm {found[0]}" if found else ""


def intel(host: Host, names: str, device: PciDevice) -> Accelerator:
    """One GPU of Intel by its place on the bus."""
    return Accelerator(
        vendor="intel",
        name=pci_name(names, "8086", device.device) or f"Intel GPU {device.device}",
        kernel_driver=device.kernel_driver,
        runtime=level_zero(host),
        integrated=intel_is_integrated(device.address),
        usable=_render_node_usable(host, device),
    )


def intel_is_integrated(address: str) -> bool | None:
    """Is it part of the processor? A card sits behind a bridge; None where the place does not tell."""
    if address == INTEL_INTEGRATED:
        return True
    return None if address.split(":")[1:2] == ["00"] else False


def level_zero(host: Host) -> str:
    """ "Level Zero 1.6.33276" where Intel's runtime is installed, else ""."""
    path = host.find_library(LEVEL_ZERO)
    if path is None:
        return ""
    version = host.real_path(path).rpartition(".so.")[2]
    return f"Level Zero {version}" if RELEASE.fullmatch(version) else "Level Zero"


def _render_node_usable(host: Host, device: PciDevice) -> bool | None:
    """May this user compute on a device by its render node? None where it has none."""
    nodes = host.list_folder(f"{bus.DEVICES}/{device.address}/drm")
    render = [f"/dev/dri/{name}" for name in nodes if name.startswith("renderD")]
    return all(host.is_usable(path) for path in render) if render else None


def names_of_pci(host: Host) -> str:
    """The system's list of PCI ids, "" where there is none."""
    return next((text for path in NAMES_OF_PCI if (text := host.read_text(path))), "")


def pci_name(names: str, vendor: str, device_id: str) -> str:
    """The name of a device in that list, "" where it is not in it."""
    start = names.find(f"\n{vendor}  ")
    after = VENDOR_LINE.search(names, start + 1)
    section = names[start : after.start() if after else None] if start >= 0 else ""
    line = section.partition(f"\n\t{device_id[2:]}  ")[2].partition("\n")[0]
    return line.strip()[:100]
