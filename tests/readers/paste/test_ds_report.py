"""ds_report, whole, collapsed and beside other lines."""

from __future__ import annotations

from doctor.readers.paste import ds_report

from .saying import blocks, told

REPORT = """\
[2024-09-27 09:05:40,449] [INFO] [real_accelerator.py:203:get_accelerator] Setting ds_accelerator to cuda
--------------------------------------------------
DeepSpeed C++/CUDA extension op report
--------------------------------------------------
NOTE: Ops not installed will be just-in-time (JIT) compiled at
      runtime if needed. Op compatibility means that your system
      meet the required dependencies to JIT install the op.
--------------------------------------------------
JIT compiled ops requires ninja
ninja .................. [FAIL]
--------------------------------------------------
op name ................ installed .. compatible
--------------------------------------------------
 [WARNING]  async_io requires the dev libaio .so object and headers but these were not found.
async_io ............... [NO] ....... [NO]
fused_adam ............. [NO] ....... [OKAY]
stochastic_transformer . [NO] ....... [OKAY]
--------------------------------------------------
DeepSpeed general environment info:
torch install path ............... ['/opt/conda/lib/python3.10/site-packages/torch']
torch version .................... 2.3.0+cu121
deepspeed install path ........... ['/opt/conda/lib/python3.10/site-packages/deepspeed']
deepspeed info ................... 0.15.5+46d7d0d1, 46d7d0d1, patch-1
torch cuda version ............... 12.1
torch hip version ................ None
nvcc version ..................... 12.0
deepspeed wheel compiled w. ...... torch 0.0, cuda 0.0
shared memory (/dev/shm) size .... 125.77 GB
"""
SAID = [
    ("absent", "ninja", ""),
    ("executable", "", "/opt/conda/lib/python3.10/site-packages/torch"),
    ("python", "", "3.10"),
    ("package", "torch", "2.3.0+cu121"),
    ("executable", "", "/opt/conda/lib/python3.10/site-packages/deepspeed"),
    ("python", "", "3.10"),
    ("package", "deepspeed", "0.15.5+46d7d0d1"),
    ("torch cuda", "", "12.1"),
    ("toolkit", "", "12.0"),
    ("shared memory", "", str(int(125.77 * 2**30))),
]


def test_a_whole_report() -> None:
    assert told(ds_report, REPORT) == SAID
    [block] = blocks(ds_report, REPORT)
    assert (block.first, block.last) == (3, 28)


def test_collapsed() -> None:
    assert told(ds_report, " ".join(REPORT.split())) == SAID
    assert told(ds_report, REPORT.replace("....", "..")) == SAID


def test_no_toolkit_and_no_cuda() -> None:
    text = (
        "torch version .................... 2.5.1+cpu\ntorch cuda version ............... None\n"
        "torch hip version ................ None\n"
        "nvcc version .....................  [FAIL] cannot find CUDA_HOME via "
        "torch.utils.cpp_extension.CUDA_HOME=None \ndeepspeed wheel compiled w. ...... torch 2.1, cuda 12.1\n"
        "shared memory (/dev/shm) size .... 64.00 MB [WARNING] /dev/shm size might be too small\n"
    )
    assert told(ds_report, text) == [
        ("package", "torch", "2.5.1+cpu"),
        ("shared memory", "", str(64 << 20)),
        ("torch cuda", "", "none"),
    ]


def test_rocm() -> None:
    text = "torch cuda version ............... None\ntorch hip version ................ 5.1.20531-cacfa990\n"
    assert told(ds_report, text) == [("torch hip", "", "5.1.20531")]


def test_two_reports() -> None:
    first, second = blocks(ds_report, REPORT + "\n\n\nAnd on the other node:\n" + REPORT)
    assert first.last < second.first


def test_rules_and_warnings_alone_are_no_report() -> None:
    assert blocks(ds_report, "-" * 50 + "\n [WARNING]  something\n" + "-" * 50) == []
