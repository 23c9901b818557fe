"""The machine below the interpreter, and the variables around it."""

from __future__ import annotations

from typing import Any

import healthy
import pytest

from doctor.probes import Looks, environment, system

GIB = 1 << 30
MEMINFO = """\
MemTotal:       33554432 kB
MemFree:             100 kB
MemAvailable:   16777216 kB
HugePages_Total:       0
"""


def looks(**scripted: Any) -> Looks:
    return Looks(healthy.host(**scripted), healthy.TARGET)


def described(**scripted: Any) -> Any:
    return system.probe(looks(**scripted))


def test_a_machine_as_it_describes_itself() -> None:
    assert described() == healthy.FACTS.system


@pytest.mark.parametrize(
    ("files", "total", "available"),
    [
        ({"/proc/meminfo": MEMINFO}, 32 * GIB, 16 * GIB),
        ({"/proc/meminfo": MEMINFO, "/sys/fs/cgroup/memory.max": f"{8 * GIB}\n"}, 8 * GIB, 8 * GIB),
        ({"/proc/meminfo": MEMINFO, "/sys/fs/cgroup/memory.max": f"{24 * GIB}\n"}, 24 * GIB, 16 * GIB),
        ({"/proc/meminfo": MEMINFO, "/sys/fs/cgroup/memory.max": "max\n"}, 32 * GIB, 16 * GIB),
        ({"/proc/meminfo": MEMINFO, "/sys/fs/cgroup/memory.max": ""}, 32 * GIB, 16 * GIB),
        ({"/proc/meminfo": "garbage\nMemTotal: much\n"}, 0, 0),
        ({}, 0, 0),
    ],
)
def test_memory_is_bounded_by_the_control_group(files: dict[str, str], total: int, available: int) -> None:
    told = described(files=files)
    assert (told.ram_total_bytes, told.ram_available_bytes) == (total, available)


def test_memory_is_bounded_by_a_control_group_of_version_1() -> None:
    files = {"/proc/meminfo": MEMINFO, "/sys/fs/cgroup/memory/memory.limit_in_bytes": f"{8 * GIB}\n"}
    assert described(files=files).ram_total_bytes == 8 * GIB


PLAIN = "22 1 254:1 / / rw,relatime shared:1 - ext4 /dev/vda1 rw"
OVERLAY = "600 500 0:50 / / rw,relatime - overlay overlay rw,lowerdir="
OF_A_POD = "700 600 8:1 /var/lib/kubelet/pods/4f5e/etc-hosts /etc/hosts rw,relatime - ext4 /dev/sda1 rw"
BESIDE = (
    "800 22 0:60 / /var/lib/docker/overlay2/ab/merged rw - overlay overlay rw,lowerdir=/var/lib/docker/l/A"
)


def mounts(*lines: str) -> dict[str, str]:
    """A control group of version 2 that shows nothing, and the mounts of this process."""
    return {"/proc/1/cgroup": "0::/\n", "/proc/self/mountinfo": "\n".join(lines)}


@pytest.mark.parametrize(
    ("env", "files", "name"),
    [
        ({}, {}, None),
        ({}, {"/.dockerenv": ""}, "docker"),
        ({}, {"/run/.containerenv": ""}, "podman"),
        ({"KUBERNETES_SERVICE_HOST": "10.0.0.1"}, {"/.dockerenv": ""}, "kubernetes"),
        ({}, {"/proc/1/cgroup": "0::/kubepods/burstable/pod1/docker-abc\n"}, "kubernetes"),
        ({}, {"/proc/1/cgroup": "12:cpu:/docker/abc\n"}, "docker"),
        ({}, {"/proc/1/cgroup": "12:cpu:/lxc/abc\n"}, "lxc"),
        ({}, {"/proc/1/cgroup": "0::/init.scope\n"}, None),
        ({"container": "lxc"}, {}, "lxc"),
        ({"container": ""}, {}, None),
        ({"APPTAINER_CONTAINER": "/img.sif", "SINGULARITY_CONTAINER": "/img.sif"}, {}, "apptainer"),
        ({"SINGULARITY_CONTAINER": "/img.sif"}, {}, "singularity"),
        ({}, {"/.singularity.d/runscript": ""}, "apptainer"),
        ({}, {"/run/systemd/container": "systemd-nspawn\n"}, "systemd-nspawn"),
        ({}, mounts(f"{OVERLAY}/var/lib/docker/overlay2/l/ABC"), "docker"),
        ({}, mounts(f"{OVERLAY}/var/lib/containerd/io.containerd.snapshotter.v1.overlayfs/9"), "containerd"),
        ({}, mounts(f"{OVERLAY}/home/ann/.local/share/containers/storage/overlay/l/A"), "podman"),
        ({}, mounts(PLAIN, OF_A_POD, f"{OVERLAY}/var/lib/containerd/1"), "kubernetes"),
        ({}, mounts(PLAIN, BESIDE), None),  # a machine on which containers run
        ({}, mounts("", "1 2 3", "\x00 " * 50), None),
    ],
)
def test_containers(env: dict[str, str], files: dict[str, str], name: str | None) -> None:
    assert described(env=env, files=files).container == name


@pytest.mark.parametrize(
    ("kernel", "wsl"),
    [
        ("Linux 5.15.153.1-microsoft-standard-WSL2", True),
        ("Linux 4.4.0-Microsoft", True),
        ("Linux 6.1.0", False),
    ],
)
def test_windows_subsystem_for_linux(kernel: str, wsl: bool) -> None:
    assert described(machine={"kernel": kernel}).wsl is wsl


@pytest.mark.parametrize(
    ("text", "cpu"), [("processor: 0\n", ""), ("", ""), ("model name\t: Xeon  \n", "Xeon")]
)
def test_the_processor(text: str, cpu: str) -> None:
    assert described(files={"/proc/cpuinfo": text}).cpu == cpu


def test_what_a_system_does_not_have() -> None:
    told = described(os="darwin", machine={"libc": None, "shared_memory_bytes": None}, files={})
    assert (told.os, told.libc, told.shared_memory_bytes) == ("darwin", None, None)


SECRETS = (
    *("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "WANDB_API_KEY", "OPENAI_API_KEY", "AWS_SECRET_ACCESS_KEY"),
    *("GITHUB_TOKEN", "PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "UV_INDEX_URL", "http_proxy", "HTTPS_PROXY"),
    *("SSH_AUTH_SOCK", "PATH", "HOME", "USER", "HOSTNAME", "PWD", "MASTER_ADDR"),
)


def test_of_the_environment_only_what_is_allowed_is_told() -> None:
    allowed = {"CUDA_VISIBLE_DEVICES": "", "LD_LIBRARY_PATH": "/usr/lib/wsl/lib", "BNB_CUDA_VERSION": "126"}
    told = environment.probe(looks(env={**dict.fromkeys(SECRETS, "secret"), **allowed}))
    assert told == allowed


@pytest.mark.parametrize(
    "word", ["TOKEN", "KEY", "SECRET", "PASSWORD", "CREDENTIAL", "INDEX_URL", "PROXY", "AUTH"]
)
def test_no_variable_that_may_hold_a_secret_is_on_the_list(word: str) -> None:
    known = {"TOKENIZERS_PARALLELISM"}
    assert [name for name in environment.ALLOWED - known if word in name] == []
