"""The machine below the interpreter: system, C library, memory, disk, container."""

from __future__ import annotations

import re
from collections.abc import Mapping

from doctor.facts import System
from doctor.host import Host
from doctor.probes import Looks

CGROUP_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")  # version 2, 1
# Set or made by each engine, those first that others may run inside of.
VARIABLES = {
    "KUBERNETES_SERVICE_HOST": "kubernetes",
    "APPTAINER_CONTAINER": "apptainer",
    "SINGULARITY_CONTAINER": "singularity",
}
FILES = {"/.dockerenv": "docker", "/run/.containerenv": "podman", "/.singularity.d": "apptainer"}
CGROUP_MARKS = {"kubepods": "kubernetes", "docker": "docker", "lxc": "lxc", "containerd": "containerd"}
SYSTEMD_MARK = "/run/systemd/container"  # holds the engine's name: "systemd-nspawn", "lxc"
# Where control groups are hidden (version 2 in a namespace shows "0::/"), the folders behind the mounts tell.
OWN_MOUNTS = ("/", "/etc/hosts", "/etc/hostname", "/etc/resolv.conf")
MOUNTS_READ = 256 << 10  # characters
MOUNT_MARKS = {
    "/kubelet/pods/": "kubernetes",
    "/docker/": "docker",
    "/containers/storage/": "podman",
    "/containerd/": "containerd",
    "/lxc/": "lxc",
}


def probe(looks: Looks) -> System:
    """What the host says of itself."""
    host, raw = looks.host, looks.host.machine()
    total, available = (
        memory(host)
        if host.os == "linux"
        else (raw.get("ram_total_bytes", 0), raw.get("ram_available_bytes", 0))
    )
    return System(
        os=host.os,
        name=raw["name"],
        kernel=raw["kernel"],
        arch=raw["arch"],
        libc=raw["libc"],
        cpu=cpu_name(host),
        cpu_count=raw["cpu_count"],
        ram_total_bytes=total,
        ram_available_bytes=available,
        disk_free_bytes=raw["disk_free_bytes"],
        shared_memory_bytes=raw["shared_memory_bytes"],
        container=container(host),
        wsl="microsoft" in raw["kernel"].lower(),
    )


def memory(host: Host) -> tuple[int, int]:
    """(total, available) bytes of RAM, bounded by the control group's own limit; zeros where unknown."""
    text = host.read_text("/proc/meminfo") or ""
    rows = {key: int(kib) << 10 for key, kib in re.findall(r"^(\w+): +(\d+) kB$", text, re.M)}
    total, available = rows.get("MemTotal", 0), rows.get("MemAvailable", 0)
    for path in CGROUP_LIMITS:
        limit = (host.read_text(path) or "").strip()
        if limit.isdigit():
            total, available = min(total, int(limit)), min(available, int(limit))
    return total, available


def cpu_name(host: Host) -> str:
    """The processor's own name, "" where the system does not tell."""
    found = re.search(r"^model name\s*: (.+)$", host.read_text("/proc/cpuinfo") or "", re.M)
    return found.group(1).strip() if found else ""


def container(host: Host) -> str | None:
    """The container that we run in, by the marks each engine leaves; None outside one."""
    by_variable = next((engine for name, engine in VARIABLES.items() if host.env.get(name)), None)
    by_file = next(
        (engine for path, engine in FILES.items() if host.is_file(path) or host.is_folder(path)), None
    )
    return (
        by_variable
        or by_file
        or _marked(host.read_text("/proc/1/cgroup") or "", CGROUP_MARKS)
        or host.env.get("container")
        or (host.read_text(SYSTEMD_MARK) or "").strip()[:40]
        or _marked("\n".join(own_mounts(host)), MOUNT_MARKS)
    )


def own_mounts(host: Host) -> list[str]:
    """The mounts that an engine makes for each container: its root, and the files of its names.

    A machine that runs containers has their mounts too, at other places.
    """
    lines = (host.read_text("/proc/self/mountinfo") or "")[:MOUNTS_READ].splitlines()
    return [line for line in lines if line.split(" ", 5)[4:5] and line.split(" ", 5)[4] in OWN_MOUNTS]


def _marked(text: str, marks: Mapping[str, str]) -> str | None:
    return next((engine for mark, engine in marks.items() if mark in text), None)
