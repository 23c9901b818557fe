"""Strings of platform.platform(), names of systems, GPUs and amounts of memory."""

from __future__ import annotations

import pytest

from doctor.readers.paste.devices import bytes_of, is_gpu_name, of_gpus
from doctor.readers.paste.platforms import of_libc, of_platform, of_system


def pairs(said) -> list[tuple[str, str]]:  # type: ignore[no-untyped-def]
    return [(one.topic, one.value) for one in said]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "Linux-5.15.153.1-microsoft-standard-WSL2-x86_64-with-glibc2.35",
            "os linux, kernel 5.15.153.1-microsoft-standard-WSL2, wsl yes, arch x86_64, libc glibc 2.35",
        ),
        (
            "Linux-4.18.0-477.27.1.el8_8.x86_64-x86_64-with-glibc2.28",
            "os linux, kernel 4.18.0-477.27.1.el8_8.x86_64, arch x86_64, libc glibc 2.28, "
            "distribution Red Hat Enterprise Linux 8 or a relative",
        ),
        # A container with another libc: the kernel tells of the host alone.
        (
            "Linux-4.18.0-477.27.1.el8_8.x86_64-x86_64-with-glibc2.35",
            "os linux, kernel 4.18.0-477.27.1.el8_8.x86_64, arch x86_64, libc glibc 2.35",
        ),
        (
            "Linux-3.10.0-1160.el7.x86_64-x86_64-with-centos-7.9.2009-Core",
            "os linux, kernel 3.10.0-1160.el7.x86_64, arch x86_64, distribution centos 7.9",
        ),
        (
            "Linux-5.10.104-tegra-aarch64-with-glibc2.31",
            "os linux, kernel 5.10.104-tegra, arch aarch64, libc glibc 2.31",
        ),
        ("Linux-6.1.85+-x86_64-with-glibc2.35", "os linux, kernel 6.1.85+, arch x86_64, libc glibc 2.35"),
        (
            "Linux-5.10.205-195.804.amzn2.x86_64-x86_64-with-glibc2.26",
            "os linux, kernel 5.10.205-195.804.amzn2.x86_64, arch x86_64, libc glibc 2.26, "
            "distribution Amazon Linux 2",
        ),
        ("Windows-10-10.0.19045-SP0", "os win32, distribution Windows 10.0.19045"),
        ("macOS-14.4.1-arm64-arm-64bit", "os darwin, arch arm64, distribution macOS 14.4.1"),
        ("macOS-15.1-arm64-arm-64bit-Mach-O", "os darwin, arch arm64, distribution macOS 15.1"),
        ("Darwin-20.6.0-x86_64-i386-64bit", "os darwin, arch x86_64"),
        ("Linux", ""),
    ],
)
def test_platform_strings(text: str, said: str) -> None:
    assert ", ".join(f"{topic} {value}" for topic, value in pairs(of_platform(text))) == said


@pytest.mark.parametrize(
    ("text", "system"),
    [
        ("Ubuntu 22.04.3 LTS (x86_64)", "linux"),
        ("CentOS Linux 7 (Core) (x86_64)", "linux"),
        ("Microsoft Windows 11 家庭中文版", "win32"),
        ("Майкрософт Windows 10 Pro", "win32"),
        ("win10", "win32"),
        ("Mac OSX 10.15.6 (x86_64)", "darwin"),
        ("macOS Sonoma 14.2", "darwin"),
        ("Windows 11, WSL2 (Ubuntu 22.04)", "linux"),
        ("linux (aarch64)", "linux"),
        ("Linux and Windows", None),
        ("yes", None),
    ],
)
def test_systems(text: str, system: str | None) -> None:
    said = dict(pairs(of_system(text)))
    assert said.get("os") == system
    assert ("wsl" in said) == ("WSL" in text)


@pytest.mark.parametrize(
    "text", ["glibc-2.35", "ldd (Ubuntu GLIBC 2.35-0ubuntu3) 2.35", "GLIBC 2.35", "2.35"]
)
def test_libc(text: str) -> None:
    assert pairs(of_libc(text)) == [("libc", "glibc 2.35")]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("NVIDIA A100-SXM4-80GB (UUID: GPU-1b2c)", [("gpu", "NVIDIA A100-SXM4-80GB")]),
        ("8 x H100", [("gpu", "H100")] * 8),
        ("4卡 A800", [("gpu", "A800")] * 4),
        ("RTX 3090 (x2)", [("gpu", "RTX 3090")] * 2),
        ("99x T4", [("gpu", "T4")] * 16),
        ("NVIDIA A100-SXM4-80GB MIG 3g.40gb", [("gpu mig", "3g.40gb"), ("gpu", "NVIDIA A100-SXM4-80GB")]),
        (
            "AMD Instinct MI300X (gfx942:sramecc+:xnack-)",
            [("gfx", "gfx942"), ("accelerator", "AMD Instinct MI300X (gfx942:sramecc+:xnack-)")],
        ),
        ("Intel(R) Arc(TM) B580 Graphics", [("accelerator", "Intel(R) Arc(TM) B580 Graphics")]),
        ("Ascend910B3", [("accelerator", "Ascend910B3")]),
        ("No CUDA", []),
        ("Could not collect", []),
        ("yes", []),
    ],
)
def test_gpus(text: str, said: list[tuple[str, str]]) -> None:
    assert pairs(of_gpus(text)) == said


def test_a_machine_in_the_words_of_its_owner() -> None:
    text = "AMD Ryzen 5 5600X, GeForce 3060 12GB, 32GB RAM"
    assert pairs(of_gpus(text, named=False)) == [("gpu", "GeForce 3060 12GB")]
    assert pairs(of_gpus("Intel Xeon + 2x A100", named=False)) == [("gpu", "A100")] * 2
    assert pairs(of_gpus("Apple M2 with 16GB", named=False)) == [("accelerator", "Apple M2")]
    assert pairs(of_gpus("Intel(R) Core(TM) i7", named=False)) == []


def test_names_and_amounts() -> None:
    assert all(map(is_gpu_name, ("a single 4090", "2080 Ti", "V100", "NVIDIA GB10", "L40S", "GTX 1650")))
    assert not any(map(is_gpu_name, ("python 3.10", "step 1000", "yes", "CPU only", "24GB")))
    assert bytes_of("23.69GB") == int(23.69 * 2**30) and bytes_of("81920MiB") == 80 << 30
    assert bytes_of("many") is None
