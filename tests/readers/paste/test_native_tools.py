"""nvcc, ldd, the kernel's log, and lists of devices."""

from __future__ import annotations

import pytest

from doctor.readers.paste import device_lists, kernel_log, ldd, nvcc

from .saying import blocks, told, values

NVCC = """\
nvcc: NVIDIA (R) Cuda compiler driver
Copyright (c) 2005-2024 NVIDIA Corporation
Built on Thu_Mar_28_02:18:24_PDT_2024
Cuda compilation tools, release 12.4, V12.4.131
Build cuda_12.4.r12.4/compiler.34097967_0
"""


def test_nvcc() -> None:
    [block] = blocks(nvcc, f"$ nvcc --version\n{NVCC}Segmentation fault\n")
    assert [one.value for one in block.statements] == ["12.4"]
    assert (block.first, block.last, block.is_whole) == (2, 6, True)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("nvcc: release 12.2", ["12.2"]),
        ("nvcc: release 13.0.88", ["13.0"]),
        ("nvcc: release 12", ["12"]),
        ("- nvcc --version: 11.8.89", ["11.8"]),
        ("`nvcc -V` shows V11.8.89", ["11.8"]),
        ("Cuda compilation tools, release 12.1, V12.1.66", ["12.1"]),
        ("nvcc is 12.1, torch 2.3", ["12.1"]),
        ("nvcc: command not found", []),
        ("/usr/local/cuda-12.1/bin/nvcc", []),
        ("nvcc fatal   : Unsupported gpu architecture 'compute_89'", []),
        ("building needs nvcc 12.4 or newer", []),
    ],
)
def test_one_line_of_nvcc(line: str, said: list[str]) -> None:
    assert values(nvcc, line, "toolkit") == said


LDD = """\
\tlinux-vdso.so.1 (0x00007ffd5b5f2000)
\tlibcudart.so.12 => not found
\tlibstdc++.so.6 => /lib/x86_64-linux-gnu/libstdc++.so.6 (0x00007f2c1a000000)
\t/lib64/ld-linux-x86-64.so.2 (0x00007f2c1b000000)
"""


def test_ldd() -> None:
    assert told(ldd, LDD) == [
        ("library", "libcudart.so.12", ""),
        ("library", "libstdc++.so.6", "/lib/x86_64-linux-gnu/libstdc++.so.6"),
    ]
    assert [block.is_whole for block in blocks(ldd, LDD)] == [False]


def test_the_cache_of_the_loader() -> None:
    text = "\tlibcudart.so.11.0 (libc6,x86-64) => /usr/local/cuda-11.8/lib64/libcudart.so.11.0\n"
    [block] = blocks(ldd, text)
    assert block.statements[0].value == "/usr/local/cuda-11.8/lib64/libcudart.so.11.0"
    assert block.is_whole


@pytest.mark.parametrize("text", ["a => b", "lambda x => not found", "Map<libx.so => y>"])
def test_other_arrows(text: str) -> None:
    assert blocks(ldd, text) == []


def test_xids() -> None:
    text = (
        "[ 1843.30] NVRM: Xid (PCI:0000:01:00): 79, pid=1234, name=python, GPU has fallen off the bus.\n"
        "kernel: NVRM: Xid (PCI:0000:dc:00): 45, pid=1818990, name=python3, Ch 00000001\n"
    )
    assert told(kernel_log, text) == [
        ("xid", "0000:01:00", "79 pid=1234, name=python, GPU has fallen off the bus."),
        ("xid", "0000:dc:00", "45 pid=1818990, name=python3, Ch 00000001"),
    ]
    assert [block.is_whole for block in blocks(kernel_log, text)] == [False]


def test_a_gpu_that_fell_off_the_bus_before_there_was_an_xid() -> None:
    text = (
        "[ 1843.308145] NVRM: The NVIDIA GPU 0000:b3:00.0\n"
        "               NVRM: (PCI ID: 10de:26b5) installed in this system has\n"
        "               NVRM: fallen off the bus and is not responding to commands.\n"
    )
    assert told(kernel_log, text) == [("xid", "0000:b3:00", "79 GPU has fallen off the bus")]


@pytest.mark.parametrize(
    "text",
    [
        "NVRM: API mismatch: the client has the version 535.183.01, but\n"
        "NVRM: this kernel module has the version 535.171.04.  Please\n"
        "NVRM: make sure that this kernel module and all NVIDIA driver\n",
        "NVRM: API mismatch: the client has the version 535.183.01, but#012NVRM: this kernel module has the "
        "version 535.171.04.  Please#012NVRM: make sure",
        "kernel: NVRM: API mismatch: the client 'nvidia-powerd' (pid 849)\n"
        "                               NVRM: has the version 535.183.01, but this kernel module has\n"
        "                               NVRM: the version 535.171.04.  Please make sure that this\n",
    ],
)
def test_two_versions_of_one_driver(text: str) -> None:
    assert told(kernel_log, text) == [("driver", "", "535.183.01"), ("kernel module", "", "535.171.04")]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (
            "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat Aug 19 01:15:15 UTC 2023",
            ("kernel module", "", "535.104.05"),
        ),
        (
            "NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  570.158.01  Release Build",
            ("kernel module", "", "570.158.01"),
        ),
        (
            "nvidia: version magic '5.15.0-91-generic SMP ' should be '5.15.0-97-generic SMP mod_unload '",
            ("kernel", "", "5.15.0-97-generic"),
        ),
    ],
)
def test_what_the_module_says_of_itself(line: str, said: tuple[str, str, str]) -> None:
    assert told(kernel_log, line) == [said]


ROCMINFO = """\
*******
Agent 1
*******
  Name:                    AMD Ryzen 9 7950X 16-Core Processor
  Marketing Name:          AMD Ryzen 9 7950X 16-Core Processor
*******
Agent 2
*******
  Name:                    gfx1100
  Uuid:                    GPU-cab8e3a1b2c3d4e5
  Marketing Name:          AMD Radeon RX 7900 XTX
  Vendor Name:             AMD
"""


def test_rocminfo_tells_processors_as_well() -> None:
    assert told(device_lists, ROCMINFO) == [
        ("gfx", "", "gfx1100"),
        ("accelerator", "", "AMD Radeon RX 7900 XTX"),
    ]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (
            "GPU[0]\t\t: Card series: \t\tAMD Instinct MI300X OAM",
            ("accelerator", "0", "AMD Instinct MI300X OAM"),
        ),
        ("GPU[1]          : Card Series:          AMD Radeon VII", ("accelerator", "1", "AMD Radeon VII")),
        ("GPU[0]\t\t: GFX Version: \t\tgfx90a", ("gfx", "", "gfx90a")),
        (
            "| 0000:09:00.0    AMD Instinct MI325X | 0 %      49 C   0          144/1000 W |",
            ("accelerator", "", "AMD Instinct MI325X"),
        ),
        ("      Chipset Model: Apple M2 Pro", ("accelerator", "", "Apple M2 Pro")),
        (
            "01:00.0 VGA compatible controller: NVIDIA Corporation AD102 [GeForce RTX 4090] (rev a1)",
            ("gpu", "", "GeForce RTX 4090"),
        ),
        (
            "03:00.0 3D controller [0302]: NVIDIA Corporation GA100 [A100 PCIe 40GB] [10de:20f1] (rev a1)",
            ("gpu", "", "A100 PCIe 40GB"),
        ),
        (
            "03:00.0 Display controller: Advanced Micro Devices, Inc. [AMD/ATI] Navi 31 [Radeon RX 7900 XT]",
            ("accelerator", "", "Radeon RX 7900 XT"),
        ),
    ],
)
def test_lists_of_devices(line: str, said: tuple[str, str, str]) -> None:
    assert told(device_lists, line) == [said]


@pytest.mark.parametrize(
    "line",
    [
        "GPU[0]\t\t: Card series: \t\t0x738c",
        "01:00.1 Audio device: NVIDIA Corporation AD102 [High Definition Audio]",
    ],
)
def test_what_names_no_device(line: str) -> None:
    assert told(device_lists, line) == []
