"""What a person does, by distribution; the words by which it is known are those that the rules write."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import healthy
import pytest
from healthy import but, facts

from doctor.cures import newer_driver
from doctor.driver_cures import REBOOT, install_driver
from doctor.facts import DriverSigns, Facts, Gpu
from doctor.findings import Fix
from doctor.rules import driver
from doctor.rules.gpu_passing import cures_of_container
from doctor.rules.limits import more_shared_memory
from doctor.rules.machine_cures_by_words import VC_RUNTIME
from doctor.treatment.by_hand import commands_for, spelled_out
from doctor.treatment.languages import worded
from doctor.treatment.plan import Step

PASCAL = Gpu(
    index=0,
    name="NVIDIA GeForce GTX 1080",
    compute_capability="6.1",
    memory_total_bytes=None,
    memory_free_bytes=None,
)
OF_PASCAL = facts(gpus=(PASCAL,), cuda_driver="not seen", torch_runtime="not seen")
UPGRADED = {
    "Ubuntu 24.04.2 LTS": ["sudo apt update", "sudo ubuntu-drivers install"],
    "Pop!_OS 22.04 LTS": ["sudo apt update", "sudo apt full-upgrade"],
    "Fedora Linux 43": ["sudo dnf upgrade --refresh"],
    "Rocky Linux 9.6": ["sudo dnf upgrade --refresh"],
    "Arch Linux": ["sudo pacman -Syu"],
    "openSUSE Leap 15.6": ["sudo zypper refresh", "sudo zypper update"],
}
PINNED = {
    "Ubuntu 24.04.2 LTS": ["sudo ubuntu-drivers install nvidia:580"],
    "Fedora Linux 43": ["sudo dnf install akmod-nvidia-580xx xorg-x11-drv-nvidia-580xx-cuda"],
    "Arch Linux": [],
}


def on(name: str, given: Facts | None = None, **system: Any) -> Facts:
    return but(given or facts(), system=but(healthy.FACTS.system, name=name, **system))


def lines(fix: Fix, target: Facts) -> list[str]:
    return [" ".join(command) for command in commands_for(fix, target) if command != REBOOT]


def by_hand(fix: Fix, target: Facts) -> Step:
    step = Step(title=fix.title, kind="hand", scope=fix.scope, cures=("a/fault",), commands=fix.commands)
    return spelled_out(step, target)


@pytest.mark.parametrize("name", UPGRADED)
def test_each_distribution_comes_to_a_newer_driver_its_own_way(name: str) -> None:
    target = on(name)
    [fix] = newer_driver(target, "550.54.14")
    assert lines(fix, target) == UPGRADED[name]
    assert commands_for(fix, target)[-1] == REBOOT


@pytest.mark.parametrize("name", PINNED)
def test_a_gpu_with_a_last_branch_gets_that_one(name: str) -> None:
    target = on(name, OF_PASCAL)
    [fix] = newer_driver(target, "550.54.14")
    assert "580, the last for this GPU" in fix.title
    assert lines(fix, target) == PINNED[name]


def test_debian_has_an_old_driver_and_nvidia_a_new_one() -> None:
    bookworm = on("Debian GNU/Linux 12 (bookworm)")
    [old] = newer_driver(bookworm, "525.60.13")
    assert lines(old, bookworm) == [
        "sudo apt update",
        "sudo apt install linux-headers-amd64 nvidia-driver",
    ]
    [new] = newer_driver(bookworm, "550.54.14")
    added = [
        "wget https://developer.download.nvidia.com/compute/cuda/repos/debian12/x86_64/cuda-keyring_1.1-1_all.deb",
        "sudo apt install ./cuda-keyring_1.1-1_all.deb",
        "sudo apt update",
    ]
    assert lines(new, bookworm) == [*added, "sudo apt install nvidia-open"]
    pascal = on("Debian GNU/Linux 12 (bookworm)", OF_PASCAL)
    [last] = newer_driver(pascal, "550.54.14")
    assert lines(last, pascal) == [
        *added,
        "sudo apt install nvidia-driver-pinning-580",
        "sudo apt install cuda-drivers",
    ]


@pytest.mark.parametrize(
    "target",
    [
        on("Slackware 15"),
        on("Debian GNU/Linux 12 (bookworm)", arch="aarch64"),
        on("Debian GNU/Linux trixie/sid"),
        on("Debian GNU/Linux 11 (bullseye)"),
        on("Debian GNU/Linux 12 (bookworm)", facts(gpus="not seen")),
        on("Windows 11", os="win32"),
        on("Ubuntu 24.04", container="docker"),
        facts(system="not seen"),
    ],
    ids=["unknown", "arm", "no release", "not served", "GPU not known", "Windows", "container", "not seen"],
)
def test_where_nothing_is_known_nothing_is_said(target: Facts) -> None:
    [fix] = newer_driver(target, "550.54.14")
    assert commands_for(fix, target) == ()


def test_wsl_is_stopped_from_windows() -> None:
    target = on("Ubuntu 24.04", wsl=True)
    said = by_hand(newer_driver(target, "550.54.14")[0], target)
    assert said.lines == ("wsl --shutdown",) and "Windows" in said.place and said.commands == ()


def test_the_branch_that_a_rule_names() -> None:
    ubuntu = on("Ubuntu 24.04")
    pinned = ["sudo ubuntu-drivers install nvidia:580"]
    for title in ("Install driver branch 580", "Install the proprietary kernel module of driver branch 580"):
        assert lines(Fix(f"{title}, and reboot", scope="system"), ubuntu) == pinned
        assert title in source_of(driver)
    legacy = install_driver(on("Gentoo"), legacy=True)
    assert lines(legacy, ubuntu) == pinned


@pytest.mark.parametrize(
    ("name", "command"),
    [
        ("Ubuntu 24.04", ["sudo ubuntu-drivers install nvidia:570-open"]),
        ("Rocky Linux 9.6", ["sudo dnf install nvidia-open"]),
        ("Fedora Linux 43", []),
    ],
)
def test_the_open_modules(name: str, command: list[str]) -> None:
    title = "Install the open kernel modules (packages with -open in their name)"
    assert title in source_of(driver)
    signs = but(healthy.FACTS.driver_signs or DriverSigns(), kernel_version="570.86.10")
    assert lines(Fix(title, scope="system"), on(name, facts(driver_signs=signs))) == command


def source_of(module: Any) -> str:
    with open(module.__file__, encoding="utf-8") as file:
        return file.read()


def toolkit() -> Fix:
    return cures_of_container("docker", slurm=False)[1]


def devices() -> Fix:
    return cures_of_container("podman", slurm=False)[1]


def pods_gpu() -> Fix:
    return cures_of_container("kubernetes", slurm=False)[0]


def pods_memory() -> Fix:
    return more_shared_memory("kubernetes")


@pytest.mark.parametrize(
    ("fix", "line", "place"),
    [
        (toolkit, "sudo nvidia-ctk runtime configure --runtime=docker", "the host of this container"),
        (devices, "sudo nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml", "the host of this container"),
        (pods_gpu, "        nvidia.com/gpu: 1", "spec of the pod"),
        (pods_memory, "      medium: Memory", "spec of the pod"),
    ],
)
def test_what_is_written_elsewhere_has_its_lines(fix: Callable[[], Fix], line: str, place: str) -> None:
    said = by_hand(fix(), on("Ubuntu 24.04", container="docker"))
    assert line in said.lines and said.place == place and said.commands == ()


LOCKED = Fix("Raise the limit of locked memory: ulimit -l unlimited", scope="system")


def test_locked_memory() -> None:
    assert by_hand(LOCKED, on("Ubuntu 24.04", container="podman")).lines == ("--ulimit memlock=-1",)
    assert by_hand(LOCKED, on("Ubuntu 24.04")).lines[0] == "* soft memlock unlimited"
    assert by_hand(LOCKED, on("Ubuntu 24.04", container="kubernetes")).lines == ()


def test_the_runtime_of_windows() -> None:
    fix = Fix(VC_RUNTIME, scope="system")
    assert lines(fix, on("Windows 11", os="win32")) == ["winget install Microsoft.VCRedist.2015+.x64"]
    assert lines(fix, on("Ubuntu 24.04")) == []


def test_a_fix_that_has_commands_keeps_them() -> None:
    own = more_shared_memory(None)
    assert commands_for(own, on("Ubuntu 24.04")) == own.commands
    assert by_hand(own, on("Ubuntu 24.04")).commands == own.commands
    assert commands_for(Fix("Install NVIDIA driver 550 or newer"), on("Ubuntu 24.04")) == ()


@pytest.mark.parametrize(
    ("command", "line"),
    [
        (
            ("sudo", "apt-get", "install", "-y", "build-essential", "python3.11-dev"),
            "RUN apt-get update && apt-get install -y --no-install-recommends build-essential python3.11-dev"
            " && rm -rf /var/lib/apt/lists/*",
        ),
        (("sudo", "apt", "install", "linux-headers-amd64", "nvidia-driver"), None),
        (("dnf", "install", "-y", "gcc"), None),
        (("sudo", "reboot"), None),
    ],
)
def test_an_image_gets_packages_and_never_a_driver(command: tuple[str, ...], line: str | None) -> None:
    step = Step(title="t", kind="hand", scope="system", cures=("a/fault",), commands=(command,))
    said = worded(step, on("Debian GNU/Linux 12"), "dockerfile")
    assert said.lines == ((line,) if line else ())
    assert said.commands == (() if line else (command,))
