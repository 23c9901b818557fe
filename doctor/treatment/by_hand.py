"""What a person does below the interpreter, spelled out for this distribution. Printed, never run. Pure.

A fix of the machine that is told in words alone is known by those words. ``cures``, ``driver_cures`` and the
rules write them; the tests hold both together.

Sources: https://docs.nvidia.com/datacenter/tesla/driver-installation-guide/ (NVIDIA's repositories, pinning),
https://documentation.ubuntu.com/server/how-to/graphics/install-nvidia-drivers/ (ubuntu-drivers),
https://wiki.debian.org/NvidiaGraphicsDrivers (what each Debian has), https://rpmfusion.org/Howto/NVIDIA,
https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/install-guide.html (nvidia-ctk),
https://kubernetes.io/docs/concepts/storage/volumes/#emptydir, limits.conf(5).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

import msgspec

from doctor.driver_cures import DISTRIBUTIONS, OPEN_PACKAGES, REBOOT
from doctor.facts import Facts
from doctor.findings import Fix
from doctor.treatment.plan import Command, Step

UBUNTU = "Ubuntu|Linux Mint|Zorin|elementary"
# How each distribution comes to the newest driver that it has, where one is installed already.
UPGRADES: tuple[tuple[str, tuple[Command, ...]], ...] = (
    (UBUNTU, (("sudo", "apt", "update"), ("sudo", "ubuntu-drivers", "install"))),
    (r"Pop!_OS", (("sudo", "apt", "update"), ("sudo", "apt", "full-upgrade"))),
    (
        "Fedora|Red Hat|Rocky|AlmaLinux|CentOS|Oracle Linux|Amazon Linux",
        (("sudo", "dnf", "upgrade", "--refresh"),),
    ),
    ("Arch|Manjaro|EndeavourOS|CachyOS", (("sudo", "pacman", "-Syu"),)),
    ("SUSE", (("sudo", "zypper", "refresh"), ("sudo", "zypper", "update"))),
)
DEBIAN_HAS = {"11": 470, "12": 535, "13": 550}  # the branch of nvidia-driver in each release
NVIDIA_HAS = ("12", "13")  # the Debians that NVIDIA's own repository serves
REPOSITORY = "https://developer.download.nvidia.com/compute/cuda/repos/debian{release}/x86_64/{keyring}"
KEYRING = "cuda-keyring_1.1-1_all.deb"
LAST_BRANCHES = ("470", "580")  # those that RPM Fusion keeps beside the newest, and NVIDIA pins (580)


class Spelled(NamedTuple):
    """Commands for this machine, or lines and the place that they belong in."""

    commands: tuple[Command, ...] = ()
    lines: tuple[str, ...] = ()
    place: str = ""


NOTHING = Spelled()


def commands_for(fix: Fix, facts: Facts) -> tuple[Command, ...]:
    """The commands of a fix of the machine: its own, else the distribution's; none where none are known."""
    if fix.commands or fix.scope != "system":
        return fix.commands
    return spelled(fix.title, facts).commands


def spelled_out(step: Step, facts: Facts) -> Step:
    """A step by hand with what is known of how to do it; the same step where nothing more is."""
    if step.commands or step.scope != "system":
        return step
    told = spelled(step.title, facts)
    return msgspec.structs.replace(step, commands=told.commands, lines=told.lines, place=told.place)


def spelled(title: str, facts: Facts) -> Spelled:
    """What is known of a fix that is told in words."""
    for words, told in KNOWN:
        found = re.search(words, title)
        if found:
            return told(found, facts)
    return NOTHING


def newer_driver(found: re.Match[str], facts: Facts) -> Spelled:
    """A driver from a version on, or of the last branch for these GPUs."""
    system = facts.system
    if system is None or system.container or system.os != "linux":
        return NOTHING  # a container's host, of which nothing is known here
    if system.wsl:
        return Spelled(lines=("wsl --shutdown",), place="PowerShell in Windows, after the installation")
    last = found["last"] or found["bound"] or ""
    if last:
        return of_branch(last, facts)
    if system.name.startswith("Debian"):
        return in_debian(int(found["version"].partition(".")[0]), facts)
    upgrade = next((told for names, told in UPGRADES if re.search(names, system.name)), ())
    return Spelled((*upgrade, REBOOT)) if upgrade else NOTHING


def in_debian(branch: int, facts: Facts) -> Spelled:
    """Debian's own driver where it is new enough, else NVIDIA's, whose open modules need Turing or newer."""
    system = facts.system
    release = debian_release(facts)
    if system is None or system.arch != "x86_64" or release not in DEBIAN_HAS:
        return NOTHING
    if branch <= DEBIAN_HAS[release]:
        packages = ("linux-headers-amd64", "nvidia-driver")
        return Spelled((("sudo", "apt", "update"), ("sudo", "apt", "install", *packages), REBOOT))
    if release not in NVIDIA_HAS or not facts.gpus:
        return NOTHING
    return Spelled((*repository(release), ("sudo", "apt", "install", "nvidia-open"), REBOOT))


def debian_release(facts: Facts) -> str:
    """ "12" of "Debian GNU/Linux 12 (bookworm)"; "" of others."""
    found = re.match(r"Debian\D*(\d+)", facts.system.name) if facts.system else None
    return found.group(1) if found else ""


def repository(release: str) -> tuple[Command, ...]:
    """The commands that bring NVIDIA's repository to a Debian."""
    url = REPOSITORY.format(release=release, keyring=KEYRING)
    return (("wget", url), ("sudo", "apt", "install", f"./{KEYRING}"), ("sudo", "apt", "update"))


def of_branch(branch: str, facts: Facts) -> Spelled:
    """The driver of one branch, with its proprietary modules: for GPUs that newer ones leave out."""
    system = facts.system
    if system is None or system.container or system.os != "linux" or branch not in LAST_BRANCHES:
        return NOTHING
    if re.search(UBUNTU, system.name):
        return Spelled((("sudo", "ubuntu-drivers", "install", f"nvidia:{branch}"), REBOOT))
    if "Fedora" in system.name:
        packages = (f"akmod-nvidia-{branch}xx", f"xorg-x11-drv-nvidia-{branch}xx-cuda")
        return Spelled((("sudo", "dnf", "install", *packages), REBOOT))
    release = debian_release(facts)
    if release in NVIDIA_HAS and branch == "580" and system.arch == "x86_64":
        pinned = ("sudo", "apt", "install", f"nvidia-driver-pinning-{branch}")
        return Spelled((*repository(release), pinned, ("sudo", "apt", "install", "cuda-drivers"), REBOOT))
    return NOTHING


def branch_named(found: re.Match[str], facts: Facts) -> Spelled:
    """The branch that the title names."""
    return of_branch(found["branch"], facts)


def open_modules(found: re.Match[str], facts: Facts) -> Spelled:
    """The open kernel modules of the driver that is installed."""
    system = facts.system
    if system is None or system.container or system.os != "linux":
        return NOTHING
    branch = (facts.driver_signs.kernel_version if facts.driver_signs else "").partition(".")[0]
    if re.search(UBUNTU, system.name):
        command = ("sudo", "ubuntu-drivers", "install", f"nvidia:{branch}-open")
        return Spelled((command, REBOOT)) if branch else NOTHING
    row = next((told for names, _, told in DISTRIBUTIONS if re.search(names, system.name)), ())
    is_open = any(word in OPEN_PACKAGES for command in row for word in command)
    return Spelled((*row, REBOOT)) if is_open else NOTHING


def container_toolkit(found: re.Match[str], facts: Facts) -> Spelled:
    """Docker told of NVIDIA's runtime, on the host."""
    lines = ("sudo nvidia-ctk runtime configure --runtime=docker", "sudo systemctl restart docker")
    return Spelled(lines=lines, place="the host of this container")


def described_devices(found: re.Match[str], facts: Facts) -> Spelled:
    """Podman told of the GPUs, on the host."""
    line = "sudo nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml"
    return Spelled(lines=(line,), place="the host of this container")


def memory_volume(found: re.Match[str], facts: Facts) -> Spelled:
    """A /dev/shm as large as the pod's memory."""
    mount = ("    volumeMounts:", "      - name: shm", "        mountPath: /dev/shm")
    volume = ("volumes:", "  - name: shm", "    emptyDir:", "      medium: Memory")
    return Spelled(lines=("containers:", "  - name: NAME", *mount, *volume), place="spec of the pod")


def pods_gpu(found: re.Match[str], facts: Facts) -> Spelled:
    """A GPU for a container of a pod."""
    lines = ("containers:", "  - name: NAME", "    resources:", "      limits:", "        nvidia.com/gpu: 1")
    return Spelled(lines=lines, place="spec of the pod")


def locked_memory(found: re.Match[str], facts: Facts) -> Spelled:
    """No limit of locked memory, for a container or for logins."""
    container = facts.system.container if facts.system else None
    if container in ("docker", "podman"):
        return Spelled(lines=("--ulimit memlock=-1",), place=f"{container} run")
    if container or facts.system is None or facts.system.os != "linux":
        return NOTHING
    lines = ("* soft memlock unlimited", "* hard memlock unlimited")
    return Spelled(lines=lines, place="/etc/security/limits.d/memlock.conf, as root, then log in anew")


def vc_runtime(found: re.Match[str], facts: Facts) -> Spelled:
    """Microsoft's runtime, by Windows' own package manager."""
    windows = facts.system is not None and facts.system.os == "win32"
    return Spelled((("winget", "install", "Microsoft.VCRedist.2015+.x64"),)) if windows else NOTHING


KNOWN: tuple[tuple[str, Callable[[re.Match[str], Facts], Spelled]], ...] = (
    (
        r"^Install NVIDIA driver (?P<version>\d+[\d.]*) or newer"
        r"(?: of branch (?P<last>\d+))?(?:, not beyond branch (?P<bound>\d+))?",
        newer_driver,
    ),
    (
        r"^Install (?:driver branch |the proprietary kernel module of driver branch |NVIDIA's driver )"
        r"(?P<branch>\d+)\b",
        branch_named,
    ),
    (r"^Install the open kernel modules", open_modules),
    (r"NVIDIA's Container Toolkit, then: sudo nvidia-ctk", container_toolkit),
    (r"sudo nvidia-ctk cdi generate", described_devices),
    (r"emptyDir with medium Memory", memory_volume),
    (r"nvidia\.com/gpu: 1 in the pod's", pods_gpu),
    (r"limit of locked memory", locked_memory),
    (r"Visual C\+\+ runtime", vc_runtime),
)
