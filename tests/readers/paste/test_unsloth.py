"""The banner of unsloth through the years."""

from __future__ import annotations

import pytest

from doctor.readers.paste import unsloth

from .saying import blocks, told, values

OF_2025 = r"""
==((====))==  Unsloth 2025.3.14: Fast Llama patching. Transformers: 4.49.0. vLLM: 0.7.3.
   \\   /|    NVIDIA GeForce RTX 4090. Num GPUs = 1. Max memory: 23.621 GB. Platform: Linux.
O^O/ \_/ \    Torch: 2.5.1+cu124. CUDA: 8.9. CUDA Toolkit: 12.4. Triton: 3.1.0
\        /    Bfloat16 = TRUE. FA [Xformers = 0.0.28.post3. FA2 = False]
 "-____-"     Free license: http://github.com/unslothai/unsloth
Unsloth: Fast downloading is enabled - ignore downloading bars which are red colored!
"""
SAYS_2025 = [
    ("package", "unsloth", "2025.3.14"),
    ("package", "transformers", "4.49.0"),
    ("package", "vllm", "0.7.3"),
    ("os", "", "linux"),
    ("gpu", "", "NVIDIA GeForce RTX 4090"),
    ("gpu memory", "", str(round(23.621 * 2**30))),
    ("package", "torch", "2.5.1+cu124"),
    ("package", "triton", "3.1.0"),
    ("gpu capability", "", "8.9"),
    ("torch cuda", "", "12.4"),
    ("package", "xformers", "0.0.28.post3"),
]
OF_2024 = r"""
==((====))==  Unsloth: Fast Llama patching release 2024.5
   \\   /|    GPU: Tesla V100-SXM2-32GB. Max memory: 31.749 GB. Platform = Linux.
O^O/ \_/ \    Pytorch: 2.3.0. CUDA = 7.0. CUDA Toolkit = 11.8.
\        /    Bfloat16 = FALSE. Xformers = 0.0.26.post1. FA = False.
 "-____-"     Free Apache license: http://github.com/unslothai/unsloth
"""
OF_2023 = r"""
==((====))==  Unsloth: Fast Llama patching release 2023.12
   \\   /|    GPU: NVIDIA A100-SXM4-40GB. Max memory: 39.564 GB
O^O/ \_/ \    CUDA capability = 8.0. Xformers = 0.0.22.post7. FA = True.
\        /    Pytorch version: 2.1.0+cu118. CUDA Toolkit = 11.8
 "-____-"     bfloat16 = TRUE. Platform = Linux
"""
ROCM = r"""
==((====))==  Unsloth 2026.4.4: Fast Qwen3 patching. Transformers: 4.57.6.
   \\   /|    AMD Instinct MI300X VF. Num GPUs = 1. Max memory: 191.688 GB. Platform: Linux.
O^O/ \_/ \    Torch: 2.10.0+rocm7.1. ROCm Toolkit: 7.1.25424. Triton: 3.6.0
\        /    Bfloat16 = TRUE. FA [Xformers = None. FA2 = False]
 "-____-"     Free license: http://github.com/unslothai/unsloth
"""


def test_the_banner_of_2025() -> None:
    assert told(unsloth, OF_2025) == SAYS_2025
    [block] = blocks(unsloth, OF_2025)
    assert (block.first, block.last, block.is_whole) == (2, 6, True)


def test_without_the_sloth() -> None:
    drawn = ("==((====))==", "\\\\   /|", "O^O/ \\_/ \\", "\\        /", '"-____-"')
    text = OF_2025
    for part in drawn:
        text = text.replace(part, "")
    assert told(unsloth, "\n".join(line.strip() for line in text.split("\n"))) == SAYS_2025


def test_the_banner_of_2024() -> None:
    assert told(unsloth, OF_2024) == [
        ("package", "unsloth", "2024.5"),
        ("os", "", "linux"),
        ("gpu", "", "Tesla V100-SXM2-32GB"),
        ("gpu memory", "", str(round(31.749 * 2**30))),
        ("package", "torch", "2.3.0"),
        ("gpu capability", "", "7.0"),
        ("torch cuda", "", "11.8"),
        ("package", "xformers", "0.0.26.post1"),
    ]


def test_the_first_banner() -> None:
    said = told(unsloth, OF_2023)
    assert ("package", "unsloth", "2023.12") in said and ("package", "torch", "2.1.0+cu118") in said
    assert ("gpu capability", "", "8.0") in said and ("torch cuda", "", "11.8") in said
    assert ("os", "", "linux") in said and ("gpu", "", "NVIDIA A100-SXM4-40GB") in said


def test_on_rocm() -> None:
    said = told(unsloth, ROCM)
    assert ("accelerator", "", "AMD Instinct MI300X VF") in said and ("torch hip", "", "7.1.25424") in said
    assert not values(unsloth, ROCM, "gpu") and not values(unsloth, ROCM, "torch cuda")
    assert ("package", "xformers", "None") not in said


def test_windows() -> None:
    assert values(unsloth, OF_2025.replace("Platform: Linux", "Platform: Windows"), "os") == ["win32"]


def test_the_banner_of_the_training_says_nothing() -> None:
    text = (
        "==((====))==  Unsloth - 2x faster free finetuning | Num GPUs used = 1\n"
        "   \\\\   /|    Num examples = 51,760 | Num Epochs = 1 | Total steps = 60\n"
    )
    assert blocks(unsloth, text) == []


def test_the_line_that_patches() -> None:
    line = "Unsloth 2024.8 patched 32 layers with 32 QKV layers, 32 O layers and 32 MLP layers."
    assert told(unsloth, line) == [("package", "unsloth", "2024.8")]


@pytest.mark.parametrize("lines", range(1, 6))
def test_a_banner_that_an_error_interrupts(lines: int) -> None:
    text = "\n".join([*OF_2025.strip().split("\n")[:lines], "Traceback (most recent call last):", "  File"])
    [block] = blocks(unsloth, text)
    assert block.last == lines
