"""collect_env of every era, whole, collapsed, cut, and what grew from it."""

from __future__ import annotations

import re

import pytest

from doctor.readers.paste import collect_env, issue_form

from .saying import blocks, told, values

OF_2019 = """\
Collecting environment information...
PyTorch version: 1.1.0
Is debug build: No
CUDA used to build PyTorch: 9.0.176

OS: Ubuntu 16.04.6 LTS
GCC version: (Ubuntu 5.4.0-6ubuntu1~16.04.11) 5.4.0 20160609
CMake version: Could not collect

Python version: 3.6
Is CUDA available: Yes
CUDA runtime version: Could not collect
GPU models and configuration:
GPU 0: GeForce GTX 1080 Ti
GPU 1: Tesla K40c

Nvidia driver version: 410.78
cuDNN version: /usr/lib/x86_64-linux-gnu/libcudnn.so.7.4.1

Versions of relevant libraries:
[pip3] numpy==1.16.3
[pip3] torch==1.1.0
[conda] blas                      1.0                         mkl
[conda] mkl                       2019.3                      199
[conda] pytorch                   1.1.0           py3.6_cuda9.0.176_cudnn7.5.1_0    pytorch
[conda] torchvision               0.2.2                      py_3    pytorch
"""

OF_TODAY = """\
Collecting environment information...
PyTorch version: 2.9.0+cu128
Is debug build: False
CUDA used to build PyTorch: 12.8
ROCM used to build PyTorch: N/A

OS: Ubuntu 22.04.5 LTS (x86_64)
GCC version: (Ubuntu 11.4.0-1ubuntu1~22.04) 11.4.0
Clang version: Could not collect
CMake version: version 3.22.1
Libc version: glibc-2.35

Python version: 3.11.13 (main, Jun  4 2025, 08:57:29) [GCC 11.4.0] (64-bit runtime)
Python platform: Linux-6.8.0-1024-aws-x86_64-with-glibc2.35
Is CUDA available: True
CUDA runtime version: 12.4.131
CUDA_MODULE_LOADING set to:
GPU models and configuration:
GPU 0: NVIDIA H100 80GB HBM3
  MIG 1g.10gb     Device  0:
GPU 1: NVIDIA H100 80GB HBM3

Nvidia driver version: 550.144.03
cuDNN version: Probably one of the following:
/usr/lib/x86_64-linux-gnu/libcudnn.so.9.1.0
/usr/lib/x86_64-linux-gnu/libcudnn_adv.so.9.1.0
Is XPU available: False
HIP runtime version: N/A
MIOpen runtime version: N/A
Is XNNPACK available: True
Caching allocator config: N/A

CPU:
Arquitectura:                        x86_64
modo(s) de operación de las CPUs:    32-bit, 64-bit
Architecture:                        x86_64
Model name:                          AMD EPYC 7R13 Processor
CPU MHz:                             2650.000
Flags:                               fpu vme de pse tsc

Versions of relevant libraries:
[pip3] numpy==1.26.4
[pip3] nvidia-cublas-cu12==12.8.4.1
[pip3] torch==2.9.0
[pip3] triton==3.5.0
[conda] Could not collect
"""

SAID_TODAY = [
    ("package", "torch", "2.9.0+cu128"),
    ("torch cuda", "", "12.8"),
    ("os", "", "linux"),
    ("arch", "", "x86_64"),
    ("distribution", "", "Ubuntu 22.04.5 LTS (x86_64)"),
    ("libc", "", "glibc 2.35"),
    ("python", "", "3.11.13"),
    ("os", "", "linux"),
    ("kernel", "", "6.8.0-1024-aws"),
    ("arch", "", "x86_64"),
    ("libc", "", "glibc 2.35"),
    ("torch sees gpu", "", "yes"),
    ("toolkit", "", "12.4"),
    ("gpu", "0", "NVIDIA H100 80GB HBM3"),
    ("gpu mig", "0", "1g.10gb"),
    ("gpu", "1", "NVIDIA H100 80GB HBM3"),
    ("driver", "", "550.144.03"),
    ("cudnn", "", "9.1.0"),
    ("package", "numpy", "1.26.4"),
    ("package", "nvidia-cublas-cu12", "12.8.4.1"),
    ("package", "torch", "2.9.0"),
    ("package", "triton", "3.5.0"),
]

# Printed by the tool of torch 2.13.0+cpu on a machine with nvcc and no GPU; the part of lscpu is left out.
WITHOUT_GPU = """\
PyTorch version: 2.13.0+cpu
Is debug build: False
CUDA used to build PyTorch: Could not collect
ROCM used to build PyTorch: N/A

OS: Debian GNU/Linux 12 (bookworm) (x86_64)
GCC version: (Debian 12.2.0-14+deb12u1) 12.2.0
Libc version: glibc-2.36

Python version: 3.11.7 (main, May  9 2026, 07:35:25) [GCC 12.2.0] (64-bit runtime)
Python platform: Linux-6.18.44-fc-v769-x86_64-with-glibc2.36
Is CUDA available: False
CUDA runtime version: 13.0.88
CUDA_MODULE_LOADING set to: N/A
GPU models and configuration: Could not collect
Nvidia driver version: Could not collect
cuDNN version: Could not collect

Versions of relevant libraries:
[pip3] Could not collect
[conda] Could not collect
"""

VLLM = """\
==============================
        System Info
==============================
OS                           : Ubuntu 22.04.5 LTS (x86_64)
Libc version                 : glibc-2.35

==============================
       PyTorch Info
==============================
PyTorch version              : 2.7.0+cu126
CUDA used to build PyTorch   : 12.6

==============================
       CUDA / GPU Info
==============================
Is CUDA available            : True
GPU models and configuration : GPU 0: NVIDIA L40S
Nvidia driver version        : 550.54.15

==============================
          CPU Info
==============================
Architecture:                         aarch64
Model name:                           AMD EPYC 7R13 Processor

==============================
Versions of relevant libraries
==============================
[pip3] transformers==4.52.4
[conda] Could not collect

==============================
         vLLM Info
==============================
ROCM Version                 : Could not collect
Neuron SDK Version           : N/A
vLLM Version                 : 0.9.1
vLLM Build Flags:
  CUDA Archs: Not Set; ROCm: Disabled; Neuron: Disabled
GPU Topology:
  GPU0	CPU Affinity	NUMA Affinity	GPU NUMA ID
GPU0	 X 	0-47	0		N/A

Legend:

  X    = Self
  SYS  = Connection traversing PCIe as well as the SMP interconnect between NUMA nodes
  NODE = Connection traversing PCIe as well as the interconnect within a NUMA node
  PHB  = Connection traversing PCIe as well as a PCIe Host Bridge (typically the CPU)

==============================
     Environment Variables
==============================
LD_LIBRARY_PATH=/usr/local/nvidia/lib:/usr/local/nvidia/lib64
CUDA_VISIBLE_DEVICES=0
HF_TOKEN=hf_abc
"""


def test_of_2019() -> None:
    said = told(collect_env, OF_2019)
    assert ("package", "torch", "1.1.0") in said and ("torch cuda", "", "9.0") in said
    assert [value for topic, _, value in said if topic == "gpu"] == ["GeForce GTX 1080 Ti", "Tesla K40c"]
    assert ("torch sees gpu", "", "yes") in said and ("cudnn", "", "7.4.1") in said
    assert ("python", "", "3.6") in said and ("driver", "", "410.78") in said
    assert ("package", "torchvision", "0.2.2") in said  # conda's row
    assert not any(topic == "toolkit" for topic, _, _ in said)


def test_of_today() -> None:
    assert told(collect_env, OF_TODAY) == SAID_TODAY


def test_lines_are_those_of_the_text() -> None:
    [block] = blocks(collect_env, "A bug.\n\n" + OF_TODAY)
    lines = ("A bug.\n\n" + OF_TODAY).split("\n")
    for one in block.statements:
        assert one.value.split(" ")[-1][:4] in lines[one.line - 1] or one.topic in ("os", "torch sees gpu")
    assert (block.first, block.is_whole) == (4, True)


@pytest.mark.parametrize(
    "change",
    [
        lambda text: "\n".join(line for line in text.split("\n") if line.strip()),  # the blank lines lost
        lambda text: re.sub(r"[ \t]{2,}", " ", text),
        lambda text: text.removeprefix("Collecting environment information...\n"),
        lambda text: "\n".join(f"{line}  " for line in text.split("\n")),
        lambda text: text.replace("[pip3]", "\\[pip3\\]"),
        lambda text: text.replace(": ", ":\n", 1).replace("Python version: ", "Python version:\n"),
    ],
)
def test_small_harm_changes_nothing(change) -> None:  # type: ignore[no-untyped-def]
    changed = [one for one in told(collect_env, change(OF_TODAY)) if one[0] != "gpu mig"]
    assert changed == [one for one in SAID_TODAY if one[0] != "gpu mig"]


def test_collapsed_into_one_line() -> None:
    collapsed = " ".join(OF_TODAY.split())
    said = told(collect_env, collapsed)
    # What lscpu wrote cannot be told from labels in one line.
    assert [one for one in said if one[0] not in ("arch", "gpu mig")] == [
        one for one in SAID_TODAY if one[0] not in ("arch", "gpu mig")
    ]


def test_cut_in_the_middle() -> None:
    tail = OF_TODAY.split("Flags:")[1]
    assert told(collect_env, tail) == SAID_TODAY[-4:]
    head = OF_TODAY.split("Is CUDA")[0]
    assert told(collect_env, head) == SAID_TODAY[:11]


def test_a_build_without_cuda() -> None:
    said = told(collect_env, WITHOUT_GPU)
    assert ("torch cuda", "", "none") in said and ("torch sees gpu", "", "no") in said
    assert ("toolkit", "", "13.0") in said  # nvcc's, whatever torch was built with
    assert not any(topic in ("gpu", "driver", "cudnn") for topic, _, _ in said)
    assert ("torch cuda", "", "none") in told(collect_env, "CUDA used to build PyTorch: None")


def test_none_beside_a_cuda_version_is_not_believed() -> None:
    text = "PyTorch version: 2.1.0+cu121\nCUDA used to build PyTorch: None\nIs CUDA available: N/A\n"
    assert told(collect_env, text) == [("package", "torch", "2.1.0+cu121")]


def test_torch_that_could_not_be_imported() -> None:
    text = (
        "PyTorch version: N/A\nCUDA used to build PyTorch: N/A\nIs CUDA available: N/A\n[pip3] torch==2.4.0\n"
    )
    assert told(collect_env, text) == [("package", "torch", "2.4.0")]


def test_rocm() -> None:
    text = (
        "PyTorch version: 2.5.1+rocm6.2\nCUDA used to build PyTorch: N/A\n"
        "ROCM used to build PyTorch: 6.2.41133-dd7f95766\nIs CUDA available: True\n"
        "GPU models and configuration: AMD Radeon RX 7900 XTX (gfx1100)\nHIP runtime version: 6.2.41133\n"
    )
    assert told(collect_env, text) == [
        ("package", "torch", "2.5.1+rocm6.2"),
        ("torch hip", "", "6.2.41133"),
        ("torch sees gpu", "", "yes"),
        ("gfx", "", "gfx1100"),
        ("accelerator", "", "AMD Radeon RX 7900 XTX (gfx1100)"),
    ]


def test_intel() -> None:
    text = (
        "Is CUDA available: False\nIs XPU available: True\nXPU used to build PyTorch: 20250101\n"
        "Intel GPU driver version:\n* libze1:\t1.21.9\nIntel GPU models onboard:\n* Intel(R) Arc(TM) B580\n"
        "Intel GPU models detected:\n"
        "* [0] _XpuDeviceProperties(name='Intel(R) Arc(TM) B580 Graphics', platform_name='Intel(R)')\n"
        "HIP runtime version: N/A\n"
    )
    said = told(collect_env, text)
    assert ("torch sees gpu", "", "yes") in said
    assert ("accelerator", "", "Intel(R) Arc(TM) B580 Graphics") in said
    assert not any(topic in ("driver", "gpu") for topic, _, _ in said)


def test_macos_and_windows() -> None:
    macos = (
        "PyTorch version: 2.3.0\nOS: macOS 14.4.1 (arm64)\nPython platform: macOS-14.4.1-arm64-arm-64bit\n"
    )
    assert values(collect_env, macos, "os") == ["darwin", "darwin"]
    assert values(collect_env, macos, "arch") == ["arm64", "arm64"]
    windows = (
        "Is debug build: False\nOS: Microsoft Windows 11 Pro (10.0.22631 64-bit)\nLibc version: N/A\n"
        "Python platform: Windows-11-10.0.22631-SP0\n"
        "GPU models and configuration: GPU 0: NVIDIA GeForce RTX 4070\n"
    )
    assert values(collect_env, windows, "os") == ["win32", "win32"]
    assert told(collect_env, windows)[-1] == ("gpu", "0", "NVIDIA GeForce RTX 4070")
    assert values(collect_env, windows, "libc") == []


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("[pip3] torch==2.1.0+cu121", [("package", "torch", "2.1.0+cu121")]),
        ("[pip] numpy (1.14.5)", [("package", "numpy", "1.14.5")]),
        ("[pip3] flash_attn==2.5.9.post1", [("package", "flash-attn", "2.5.9.post1")]),
        ("[pip3] No relevant packages", []),
        (
            "[conda] pytorch  2.1.0  py3.10_cuda11.8_cudnn8.7.0_0  pytorch",
            [("package", "torch", "2.1.0"), ("torch cuda", "", "11.8")],
        ),
        (
            "[conda] pytorch 2.4.1 cuda120_py311h25b6552_302 conda-forge",
            [("package", "torch", "2.4.1"), ("torch cuda", "", "12.0")],
        ),
        (
            "[conda] pytorch 2.3.1 cpu_mkl_py310h75865b9_101 conda-forge",
            [("package", "torch", "2.3.1"), ("torch cuda", "", "none")],
        ),
        (
            "[conda] pytorch 1.12.1 py3.9_cpu_0 pytorch",
            [("package", "torch", "1.12.1"), ("torch cuda", "", "none")],
        ),
        (
            "[conda] torch                     2.0.1                    pypi_0    pypi",
            [("package", "torch", "2.0.1")],
        ),
        ("[conda] pytorch-mutex 1.0 cuda pytorch", []),
    ],
)
def test_rows(row: str, said: list[tuple[str, str, str]]) -> None:
    assert told(collect_env, row) == said


def test_vllm() -> None:
    said = told(collect_env, VLLM)
    assert ("package", "vllm", "0.9.1") in said and ("gpu", "0", "NVIDIA L40S") in said
    assert ("driver", "", "550.54.15") in said and ("package", "transformers", "4.52.4") in said
    assert ("variable", "CUDA_VISIBLE_DEVICES", "0") in said
    assert not any(name == "HF_TOKEN" for _, name, _ in said)
    assert [value for topic, _, value in said if topic == "arch"] == ["x86_64"]  # lscpu's is not read


def test_xformers_info() -> None:
    torch = (
        "pytorch.version:                                   2.0.1+cu118\n"
        "pytorch.cuda:                                      not available\n"
        "gpu.compute_capability:                            6.0\n"
        "gpu.name:                                          Tesla P100-PCIE-16GB\n"
        "build.cuda_version:                                1108\n"
        "build.torch_version:                               2.1.0+cu118\n"
    )
    operators = "memory_efficient_attention.cutlassF:               unavailable\n" * 20
    text = f"xFormers 0.0.22.post7+cu118\n{operators}{torch}"
    assert told(collect_env, text) == [
        ("package", "xformers", "0.0.22.post7+cu118"),
        ("package", "torch", "2.0.1+cu118"),
        ("torch sees gpu", "", "no"),
        ("gpu capability", "", "6.0"),
        ("gpu", "", "Tesla P100-PCIE-16GB"),
    ]


def test_mmengine_and_sglang() -> None:
    text = (
        "sys.platform: linux\nPython: 3.8.13 (default, Mar 28 2022, 11:38:47) [GCC 7.5.0]\n"
        "CUDA available: True\n"
        "GPU 0,1: NVIDIA GeForce RTX 3090\nGPU 0,1 Compute Capability: 8.6\nCUDA_HOME: /usr/local/cuda\n"
        "NVCC: Cuda compilation tools, release 11.1, V11.1.74\nCUDA Driver Version: 535.104.05\n"
        "PyTorch: 1.9.1+cu111\n"
    )
    said = told(collect_env, text)
    assert [(name, value) for topic, name, value in said if topic == "gpu"] == [
        ("0", "NVIDIA GeForce RTX 3090"),
        ("1", "NVIDIA GeForce RTX 3090"),
    ]
    assert {("toolkit", "", "11.1"), ("driver", "", "535.104.05"), ("python", "", "3.8.13")} <= set(said)


def test_translated_and_reordered() -> None:
    text = (
        "Is CUDA available: True\n显卡型号：NVIDIA GeForce RTX 3090\n"
        "PyTorch 版本：1.13.1+cu117\n操作系统：Ubuntu 20.04\n"
    )
    said = told(collect_env, text)
    assert {("gpu", "", "NVIDIA GeForce RTX 3090"), ("package", "torch", "1.13.1+cu117")} <= set(said)
    assert ("distribution", "", "Ubuntu 20.04") in said


def test_every_key_translated() -> None:
    text = (
        "PyTorch 版本: 2.1.0+cu121\n是否调试构建: 否\n用于构建 PyTorch 的 CUDA: 12.1\n\n"
        "操作系统: Ubuntu 22.04 LTS (x86_64)\n"
        "Libc 版本: glibc-2.35\n\nPython 版本: 3.10.12\nCUDA 是否可用: 是\n"
        "CUDA 运行时版本: 11.8.89\n"
        "GPU 型号和配置: GPU 0: NVIDIA A100-SXM4-80GB\n"
        "Nvidia 驱动程序版本: 535.104.05\n\n[pip3] torch==2.1.0\n"
    )
    assert told(collect_env, text) == [
        ("package", "torch", "2.1.0+cu121"),
        ("torch cuda", "", "12.1"),
        ("os", "", "linux"),
        ("arch", "", "x86_64"),
        ("distribution", "", "Ubuntu 22.04 LTS (x86_64)"),
        ("libc", "", "glibc 2.35"),
        ("python", "", "3.10.12"),
        ("torch sees gpu", "", "yes"),
        ("toolkit", "", "11.8"),
        ("gpu", "0", "NVIDIA A100-SXM4-80GB"),
        ("driver", "", "535.104.05"),
        ("package", "torch", "2.1.0"),
    ]


def test_two_reports_stay_two() -> None:
    first, second = blocks(collect_env, OF_2019 + OF_TODAY)
    assert first.last < second.first


def test_a_list_below_a_report_that_was_cut_is_read() -> None:
    text = OF_TODAY.split("Versions of")[0] + "- transformers: 4.44.0\n"
    assert told(collect_env, text)[-1] == ("cudnn", "", "9.1.0")
    assert told(issue_form, text) == [("package", "transformers", "4.44.0")]


def test_an_error_below_is_not_swallowed() -> None:
    text = OF_TODAY + "\nTraceback (most recent call last):\n  File\nImportError: x\nPython version: 3.9\n"
    report = blocks(collect_env, text)[0]
    assert report.last == len(OF_TODAY.split("\n")) - 1  # its last row
