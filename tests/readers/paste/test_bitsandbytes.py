"""What each generation of bitsandbytes prints of itself."""

from __future__ import annotations

import pytest

from doctor.readers.paste import bitsandbytes

from .saying import blocks, told, values

FOLDER = "/home/someone/miniconda3/envs/llm/lib/python3.10/site-packages/bitsandbytes"
OF_0_35 = f"""\
===================================BUG REPORT===================================
Welcome to bitsandbytes. For bug reports, please submit your error trace to: https://github.com
For effortless bug reporting copy-paste your error into this form: https://docs.google.com/forms/d/e/1FAIpQ
================================================================================
{FOLDER}/cuda_setup/paths.py:93: UserWarning: /opt/lib did not contain libcudart.so as expected!
  warn(
CUDA SETUP: CUDA runtime path found: /usr/local/cuda/lib64/libcudart.so
CUDA SETUP: Highest compute capability among GPUs detected: 8.6
CUDA SETUP: Detected CUDA version 118
CUDA SETUP: Loading binary {FOLDER}/libbitsandbytes_cuda118.so...
"""
OF_0_39 = f"""\
===================================BUG REPORT===================================
Welcome to bitsandbytes. For bug reports, please run

python -m bitsandbytes

 and submit this information together with your error trace to: https://github.com/TimDettmers
================================================================================
bin {FOLDER}/libbitsandbytes_cuda117_nocublaslt.so
CUDA SETUP: CUDA runtime path found: /home/someone/miniconda3/envs/llm/lib/libcudart.so.11.0
CUDA SETUP: Highest compute capability among GPUs detected: 7.0
CUDA SETUP: Detected CUDA version 117
{FOLDER}/cuda_setup/main.py:149: UserWarning: WARNING: Compute capability < 7.5 detected!
  warn(msg)
CUDA SETUP: Required library version not found: libbitsandbytes_cuda117_nocublaslt.so.
CUDA SETUP: Defaulting to libbitsandbytes_cpu.so...
"""
OF_0_42 = f"""\
False

===================================BUG REPORT===================================
Welcome to bitsandbytes. For bug reports, please run
================================================================================
DEBUG: Possible options found for libcudart.so: {{PosixPath('/usr/local/cuda/lib64/libcudart.so')}}
CUDA SETUP: PyTorch settings found: CUDA_VERSION=118, Highest Compute Capability: 8.6.
CUDA SETUP: To manually override the PyTorch CUDA version please see:https://github.com/TimDettmers/bitsandbytes/
CUDA SETUP: Loading binary {FOLDER}/libbitsandbytes_cuda118.so...
COMPILED_WITH_CUDA = True
COMPUTE_CAPABILITIES_PER_GPU = ['8.6', '7.5']
Running a quick check that:
    + library is importable
SUCCESS!
Installation was successful!
"""
SPECS = (
    "CUDA specs: CUDASpecs(highest_compute_capability=(8, 9), cuda_version_string='121', "
    "cuda_version_tuple=(12, 1))"
)
OF_0_43 = f"""\
++++++++++++++++++++++++++ OTHER +++++++++++++++++++++++++++
{SPECS}
PyTorch settings found: CUDA_VERSION=121, Highest Compute Capability: (8, 9).
To manually override the PyTorch CUDA version please see: https://github.com/TimDettmers/bitsandbytes/blob/main/docs
Checking that the library is importable and CUDA is callable...
"""
OF_0_46 = """\
Some line before
=================== bitsandbytes v0.46.1 ===================
Platform: Linux-5.15.0-91-generic-x86_64-with-glibc2.35
  libc: glibc-2.35
Python: 3.11.7
PyTorch: 2.7.1+cu126
  CUDA: 12.6
  HIP: N/A
  XPU: N/A
Related packages:
  accelerate: 1.8.1
  diffusers: not found
  numpy: 2.2.6
============================================================
PyTorch says CUDA is not available. Possible reasons:
1. CUDA driver not installed
"""


def test_0_35() -> None:
    assert told(bitsandbytes, OF_0_35) == [
        ("library", "libcudart.so", "/usr/local/cuda/lib64/libcudart.so"),
        ("gpu capability", "", "8.6"),
        ("python", "", "3.10"),
        ("bitsandbytes library", "", "libbitsandbytes_cuda118.so"),
    ]


def test_0_39_tells_first_what_it_wants_and_last_what_it_takes() -> None:
    assert values(bitsandbytes, OF_0_39, "bitsandbytes library") == ["libbitsandbytes_cpu.so"]
    assert values(bitsandbytes, OF_0_39, "gpu capability") == ["7.0"]
    assert values(bitsandbytes, OF_0_39, "torch cuda") == []  # it asks the system, not torch


@pytest.mark.parametrize(
    "end",
    [
        "libcusparse.so.11: cannot open shared object file\nCUDA SETUP: Something unexpected happened.",
        "CUDA SETUP: Problem: The main issue seems to be that the main CUDA runtime was not detected.",
    ],
)
def test_a_library_that_could_not_be_loaded_was_not_taken(end: str) -> None:
    assert values(bitsandbytes, OF_0_35 + end, "bitsandbytes library") == []


def test_0_42_asks_torch() -> None:
    assert told(bitsandbytes, OF_0_42) == [
        ("torch cuda", "", "11.8"),
        ("gpu capability", "", "8.6"),
        ("python", "", "3.10"),
        ("gpu capability", "0", "8.6"),
        ("gpu capability", "1", "7.5"),
        ("torch sees gpu", "", "yes"),
        ("bitsandbytes library", "", "libbitsandbytes_cuda118.so"),
    ]


def test_0_43() -> None:
    said = [("torch cuda", "", "12.1"), ("torch sees gpu", "", "yes"), ("gpu capability", "", "8.9")]
    assert told(bitsandbytes, OF_0_43)[:3] == said


def test_0_46() -> None:
    table, rest = sorted(blocks(bitsandbytes, OF_0_46), key=lambda block: block.first)
    assert [(one.topic, one.name, one.value) for one in table.statements] == [
        ("package", "bitsandbytes", "0.46.1"),
        ("os", "", "linux"),
        ("kernel", "", "5.15.0-91-generic"),
        ("arch", "", "x86_64"),
        ("libc", "", "glibc 2.35"),
        ("python", "", "3.11.7"),
        ("package", "torch", "2.7.1+cu126"),
        ("torch cuda", "", "12.6"),
        ("package", "accelerate", "1.8.1"),
        ("absent", "diffusers", ""),
        ("package", "numpy", "2.2.6"),
    ]
    assert (table.first, table.last, table.is_whole) == (2, 14, True)
    assert [(one.topic, one.value) for one in rest.statements] == [("torch sees gpu", "no")]


def test_the_table_without_its_indents() -> None:
    flat = "\n".join(line.strip() for line in OF_0_46.split("\n"))
    assert told(bitsandbytes, flat) == told(bitsandbytes, OF_0_46)


def test_a_cpu_build_of_torch_and_one_for_rocm() -> None:
    cpu = OF_0_46.replace("  CUDA: 12.6", "  CUDA: N/A")
    assert values(bitsandbytes, cpu, "torch cuda") == ["none"]
    rocm = cpu.replace("  HIP: N/A", "  HIP: 6.2.41133-dd7f95766")
    assert values(bitsandbytes, rocm, "torch hip") == ["6.2.41133-dd7f95766"]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("CUDA specs: None", ("torch sees gpu", "", "no")),
        ("No CUDA, ROCm, or XPU detected; CPU library loaded successfully.", ("torch sees gpu", "", "no")),
        ("PyTorch settings found: ROCM_VERSION=62", ("torch hip", "", "6.2")),
        (
            "WARNING: BNB_CUDA_VERSION=122 environment variable detected; loading libbitsandbytes_x.so.",
            ("variable", "BNB_CUDA_VERSION", "122"),
        ),
        ("BNB_ROCM_VERSION override: 63", ("variable", "BNB_ROCM_VERSION", "63")),
        (
            SPECS.replace("'121'", "'62'").replace("(12, 1)", "(6, 2)"),
            ("torch hip", "", "6.2"),
        ),
        (
            "bin C:\\\\sd\\\\bitsandbytes\\\\libbitsandbytes_cuda116.dll",
            ("bitsandbytes library", "", "libbitsandbytes_cuda116.dll"),
        ),
    ],
)
def test_single_lines(line: str, said: tuple[str, str, str]) -> None:
    assert said in told(bitsandbytes, line)


@pytest.mark.parametrize(
    "line",
    [
        "BNB_CUDA_VERSION=XXX can be used to load a bitsandbytes version that is different",
        "Could not find the bitsandbytes CUDA binary at PosixPath('/x/libbitsandbytes_cuda130.so')",
        "bitsandbytes version 0.43.1",
        '  File "/opt/lib/python3.10/site-packages/bitsandbytes/functional.py", line 12, in <module>',
        "/opt/python3.10/site-packages/bitsandbytes/libbitsandbytes_cpu.so: undefined symbol: cget_x",
        "it was a SUCCESS! at last",
        "SUCCESS!",
    ],
)
def test_lines_that_say_nothing(line: str) -> None:
    assert told(bitsandbytes, line) == []


@pytest.mark.parametrize("text", [OF_0_35, OF_0_39, OF_0_42, OF_0_43])
def test_their_errors_stay_where_they_are(text: str) -> None:
    assert not any(block.is_whole for block in blocks(bitsandbytes, text))
