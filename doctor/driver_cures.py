"""Fixes below the interpreter, in the words of the system that they are carried out on."""

from __future__ import annotations

import re
import shlex

from doctor.facts import Facts
from doctor.findings import Fix

Commands = tuple[tuple[str, ...], ...]

REBOOT = ("sudo", "reboot")
MODULES = (
    "nvidia_drm",
    "nvidia_modeset",
    "nvidia_uvm",
    "nvidia",
)  # in the order in which they can be unloaded
# By a word in the name of the distribution: how it installs NVIDIA's driver, and what must be known first.
DISTRIBUTIONS: tuple[tuple[str, str, Commands], ...] = (
    ("Ubuntu|Linux Mint|Zorin|elementary", "", (("sudo", "ubuntu-drivers", "install"),)),
    ("Pop!_OS", "", (("sudo", "apt", "install", "system76-driver-nvidia"),)),
    (
        "Debian|Proxmox",
        ", from Debian's non-free component",
        (("sudo", "apt", "install", "linux-headers-amd64", "nvidia-driver"),),
    ),
    (  # the second package has libcuda and nvidia-smi: https://rpmfusion.org/Howto/NVIDIA
        "Fedora",
        ", from RPM Fusion",
        (("sudo", "dnf", "install", "akmod-nvidia", "xorg-x11-drv-nvidia-cuda"),),
    ),
    (
        "Red Hat|Rocky|AlmaLinux|CentOS|Oracle Linux|Amazon Linux",
        ", from NVIDIA's own package repository",
        (("sudo", "dnf", "install", "nvidia-open"),),
    ),
    ("Arch|Manjaro|EndeavourOS|CachyOS", "", (("sudo", "pacman", "-S", "nvidia-open", "nvidia-utils"),)),
    (
        "SUSE",
        ", from NVIDIA's own package repository",
        (("sudo", "zypper", "install", "nvidia-open-driver-G06-signed-kmp-default"),),
    ),
)
OPEN_PACKAGES = ("nvidia-open", "nvidia-open-driver-G06-signed-kmp-default")


def install_driver(facts: Facts, legacy: bool = False) -> Fix:
    """Install NVIDIA's driver. ``legacy``: for GPUs before Turing, which open kernel modules do not drive."""
    system = facts.system
    if system and system.os == "win32":
        return Fix("Install NVIDIA's driver from nvidia.com/drivers, then restart Windows", scope="system")
    if system and system.wsl:
        return Fix(
            "Install NVIDIA's driver in Windows, and none inside WSL; then wsl --shutdown", scope="system"
        )
    name = system.name if system else ""
    found = next((row for row in DISTRIBUTIONS if re.search(row[0], name)), None)
    is_open = found is not None and any(word in OPEN_PACKAGES for command in found[2] for word in command)
    if legacy and (found is None or is_open):
        title = (
            "Install NVIDIA's driver 580, the last branch for this GPU, with its proprietary modules; reboot"
        )
        return Fix(title, scope="system")
    if found is None:
        return Fix("Install the NVIDIA driver of your distribution and reboot", scope="system")
    return Fix(f"Install NVIDIA's driver{found[1]}, and reboot", (*found[2], REBOOT), "system")


def reload_modules(loaded: frozenset[str] | None = None) -> Commands:
    """Unload and load NVIDIA's kernel modules, all of them or those that are loaded."""
    names = [name for name in MODULES if not loaded or name in loaded]
    return (("sudo", "modprobe", "-r", *names), ("sudo", "modprobe", "nvidia"))


def on_host(facts: Facts, title: str, commands: Commands = ()) -> Fix:
    """A fix of the machine itself; inside a container, which cannot run it, the words have it."""
    container = facts.system.container if facts.system else None
    if container:
        typed = " && ".join(shlex.join(command) for command in commands if command != REBOOT)
        title = f"On the host, outside of this container: {title[0].lower()}{title[1:]}"
        return Fix(f"{title} ({typed})" if typed else title, scope="system")
    return Fix(title, commands, "system")


def without_folder(facts: Facts, folder: str) -> str | None:
    """LD_LIBRARY_PATH without one folder; None where it is not in there."""
    value = (facts.environment or {}).get("LD_LIBRARY_PATH", "")
    folders = [part for part in value.split(":") if part]
    kept = [part for part in folders if part.rstrip("/") != folder.rstrip("/")]
    return None if len(kept) == len(folders) else ":".join(kept)


def drop_from_library_path(facts: Facts, folder: str) -> Fix | None:
    """Take one folder out of LD_LIBRARY_PATH; None where it is not in there."""
    rest = without_folder(facts, folder)
    if rest is None:
        return None
    command = ("export", f"LD_LIBRARY_PATH={rest}") if rest else ("unset", "LD_LIBRARY_PATH")
    return Fix(f"Take {folder} out of LD_LIBRARY_PATH", (command,), "setting")
