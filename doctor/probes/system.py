"""The machine below the interpreter: system, C library, memory, disk, container."""

from __future__ import annotations

import re

from doctor.facts import System
from doctor.host import Host
from doctor.probes import Looks

CGROUP_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")  # version 2, 1
CGROUP_MARKS = {"kubepods": "kubernetes", "docker": "docker", "lxc": "lxc", "containerd": "containerd"}


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
    if host.env.get("KUBERNETES_SERVICE_HOST"):
        return "kubernetes"
    if host.is_file("/.dockerenv"):
        return "docker"
    if host.is_file("/run/.containerenv"):
        return "podman"
    groups = host.read_text("/proc/1/cgroup") or ""
    named = next((name for mark, name in CGROUP_MARKS.items() if mark in groups), None)
    return named or host.env.get("container") or None
