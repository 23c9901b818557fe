"""Text that is meant to break a reader: no reader raises, and none needs more than one pass."""

from __future__ import annotations

from importlib import import_module

import pytest
from hypothesis import given
from hypothesis import strategies as st

from .saying import blocks

READERS = ("nvidia_smi", "device_lists", "nvcc", "kernel_log", "ldd", "bitsandbytes", "unsloth", "own")
# What a line must hold for the patterns to look at it, and what they look for behind it.
BAITS = (
    *(
        "NVIDIA-SMI 470.57.02 Driver Version: ",
        "| 0 Tesla ",
        "0 N/A N/A 1 C ",
        "| N/A 38C 1MiB / ",
        "GPU 0: ",
        "[0] A",
    ),
    *(
        "==============NVSMI LOG==============",
        "Driver Version : ",
        "GPU 00000000:01:00.0",
        "nvidia-smi --query-gpu=",
    ),
    *(
        "name, memory.total [MiB]",
        "NVIDIA A, 1 MiB",
        "NVIDIA ",
        "nvcc --version: is says shows ",
        "libc.so.6 (libc6) => /",
    ),
    *(
        "NVRM: Xid (PCI:0000:01:00): ",
        "NVRM: API mismatch: the client ",
        "version magic '",
        "bin libbitsandbytes_cuda",
    ),
    *(
        "Highest compute capability: (",
        "CUDASpecs(",
        "==((====))==  Unsloth 2025.1: Fast X patching. Torch: 2.",
        "GPU[0] : ",
    ),
    *(
        '{"schema": 1, "tool_version": "", "facts": {',
        "[ok] gpu 2 x A",
        "| torch | ok | 2.",
        "Examining x (Python 3.",
        "[[{",
    ),
    *("1.", " ", "\t", "|", ", ", "9", "a", ".", "(", '"', "\\", "\u202e", "\0", "\ufffd", ": ", "=", "-"),
)


@pytest.mark.parametrize("name", READERS)
@given(text=st.lists(st.sampled_from(BAITS) | st.text(max_size=5) | st.just("\n"), max_size=60).map("".join))
def test_no_text_raises(name: str, text: str) -> None:
    blocks(import_module(f"doctor.readers.paste.{name}"), text)


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize("bait", BAITS)
def test_long_lines_end(name: str, bait: str) -> None:
    reader = import_module(f"doctor.readers.paste.{name}")
    for text in (bait * 20_000, bait + " " * 200_000, bait + "9" * 200_000, f"{bait}\n" * 2_000):
        blocks(reader, text)
