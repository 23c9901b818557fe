"""NVIDIA's fabric manager, without which GPUs behind an NVSwitch do not start: does it run?"""

from __future__ import annotations

from typing import Literal

from doctor.host import Host

PROGRAM = "nv-fabricmanager"
COMMAND = PROGRAM[:15]  # as the kernel cuts it
FOLDERS = ("/usr/bin", "/usr/sbin", "/usr/local/bin")
# There as long as systemd runs the service, of control groups of version 2 and 1.
GROUPS = tuple(
    f"/sys/fs/cgroup/{below}system.slice/nvidia-fabricmanager.service"
    for below in ("", "systemd/", "unified/")
)
PID_FILE = "/var/run/nvidia-fabricmanager/nv-fabricmanager.pid"
PROCESSES = 20_000  # looked through at most


def fabric_manager(host: Host) -> Literal["running", "stopped", "absent", ""]:
    """What it does on this machine, "" where the machine's processes are not all to be seen from here."""
    if any(host.is_folder(group) for group in GROUPS) or _is_process(host, _pid(host)):
        return "running"
    seen = [name for name in host.list_folder("/proc") if name.isdigit()]
    if any(_is_process(host, pid) for pid in seen[:PROCESSES]):
        return "running"
    if host.read_text("/proc/2/comm") != "kthreadd\n" or len(seen) > PROCESSES:
        return ""  # a container, or a /proc that hides what others run
    return "stopped" if any(host.is_file(f"{folder}/{PROGRAM}") for folder in FOLDERS) else "absent"


def _pid(host: Host) -> str:
    told = (host.read_text(PID_FILE) or "").strip()
    return told if told.isdigit() else ""


def _is_process(host: Host, pid: str) -> bool:
    return bool(pid) and (host.read_text(f"/proc/{pid}/comm") or "").strip() == COMMAND
