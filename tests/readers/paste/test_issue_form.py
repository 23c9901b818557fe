"""What people fill in by hand."""

from __future__ import annotations

import pytest

from doctor.readers.paste import issue_form

from .saying import blocks, told, values

Said = tuple[str, str, str]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("### Python version\n\n3.10.12\n", [("python", "", "3.10.12")]),
        ("### Python Version\n\n_No response_\n\n### GPU\n\nRTX 3090\n", [("gpu", "", "RTX 3090")]),
        (
            "### 🖥️ Operating System *\n\nWindows 11\n",
            [("os", "", "win32"), ("distribution", "", "Windows 11")],
        ),
        ("### PyTorch version (e.g. 2.0)\n\n`2.4.1+cu124`\n", [("package", "torch", "2.4.1+cu124")]),
        ("**Transformers version**\n4.46.0.dev0\n", [("package", "transformers", "4.46.0.dev0")]),
        ("### PEFT Version\n\nlatest\n", [("package", "peft", "")]),
        ("### bitsandbytes version\n\nnot installed\n", [("absent", "bitsandbytes", "")]),
        ("### OS\n\n- [ ] Windows\n- [x] Linux\n- [ ] macOS\n", [("os", "", "linux")]),
        ("### OS\n\n- [x] Windows\n- [X] Linux\n", []),  # on both: which of them this report is, nobody knows
        ("### OS\n\nLinux, Windows\n", []),
        ("### Which Operating Systems are you using?\n\n- [ ] Linux\n- [X] macOS\n", [("os", "", "darwin")]),
        ("### What is your Python version?\n\n3.12\n", [("python", "", "3.12")]),
        ("### Which version of PEFT do you use?\n\n0.17.1\n", [("package", "peft", "0.17.1")]),
        ("### Checklist\n\n- [x] I use Python: 3.10 or newer\n", []),
        ("### Problem with GPU\n\nRTX 3090\n", []),
        ("### GPU\n\n### Python version\n\n3.11\n", [("python", "", "3.11")]),
        ("### 显卡型号\n\nNVIDIA A800-SXM4-80GB\n", [("gpu", "", "NVIDIA A800-SXM4-80GB")]),
        ("### 操作系统\n\n麒麟 V10\n", [("os", "", "linux"), ("distribution", "", "麒麟 V10")]),
    ],
)
def test_fields(text: str, said: list[Said]) -> None:
    assert told(issue_form, text) == said


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("- OS: Ubuntu 22.04", [("os", "", "linux"), ("distribution", "", "Ubuntu 22.04")]),
        ("- OS: [e.g. Ubuntu 22.04]", []),
        ("* OS [e.g. Linux]: Linux", [("os", "", "linux")]),
        ("**GPU:** RTX 4090", [("gpu", "", "RTX 4090")]),
        ("GPU: 2x NVIDIA A100 80GB", [("gpu", "0", "NVIDIA A100 80GB"), ("gpu", "1", "NVIDIA A100 80GB")]),
        ("GPU: H100 x 2", [("gpu", "0", "H100"), ("gpu", "1", "H100")]),
        ("GPU: A100x2", [("gpu", "0", "A100"), ("gpu", "1", "A100")]),
        ("GPU: 3090", [("gpu", "", "3090")]),
        ("GPU: 24GB", []),
        ("GPU: works on a 3090, fails on a 5090", []),
        ("GPU: none", []),
        ("GPU: AMD Radeon RX 6600", [("accelerator", "", "AMD Radeon RX 6600")]),
        ("Device: Apple M2 Max", [("accelerator", "", "Apple M2 Max")]),
        ("VRAM: 24GB", [("gpu memory", "", str(24 << 30))]),
        ("CUDA version: 12.1", [("cuda", "", "12.1")]),
        ("CUDA Version: release 11.8, V11.8.89", [("toolkit", "", "11.8")]),
        ("nvidia-smi CUDA Version: 12.4", [("driver cuda", "", "12.4")]),
        ("CUDA version (driver): 12.4", [("driver cuda", "", "12.4")]),
        (
            "OS: Linux-5.4.0-x86_64-with-glibc2.31",
            [
                ("os", "", "linux"),
                ("kernel", "", "5.4.0"),
                ("arch", "", "x86_64"),
                ("libc", "", "glibc 2.31"),
            ],
        ),
        ("GPU:\nNVIDIA RTX A6000", [("gpu", "", "NVIDIA RTX A6000")]),
        ("GPU:\n\nWhen I start it, nothing happens", []),
        ("Py-Torch: 2.1.0", [("package", "torch", "2.1.0")]),
        ("torch的版本: 2.1.0", [("package", "torch", "2.1.0")]),
        ("CUDA version (nvcc): 12.4", [("toolkit", "", "12.4")]),
        ("CUDA (`python -c 'import torch; print(torch.version.cuda)'`): 12.1", [("torch cuda", "", "12.1")]),
        (
            '- CUDA Support (`python -c "import torch; print(torch.cuda.is_available())"`) :True',
            [("torch sees gpu", "", "yes")],
        ),
        ("torch.version.cuda: 11.7", [("torch cuda", "", "11.7")]),
        ("torch.cuda.is_available(): False", [("torch sees gpu", "", "no")]),
        ("torch.cuda.is_available(): True", [("torch sees gpu", "", "yes")]),
        (
            "torch.cuda.get_arch_list(): ['sm_80', 'compute_90']",
            [("torch architectures", "", "sm_80 compute_90")],
        ),
        (
            "Driver Version: 450.80.02   CUDA Version: 11.0",
            [("driver", "", "450.80.02"), ("driver cuda", "", "11.0")],
        ),
        ("PyTorch: torch 2.1.0", [("package", "torch", "2.1.0")]),
        ("- Flash Attention: 2.5.8", [("package", "flash-attn", "2.5.8")]),
        ("transformers: v4.40.1", [("package", "transformers", "4.40.1")]),
        ("transformers: main branch", [("package", "transformers", "")]),
        ("peft: not installed", [("absent", "peft", "")]),
        ("Python: >= 3.8", []),
        ("Python: 3.8, 3.9", []),
        ("torch: 2.1 or 2.2", []),
        (
            "Platform: WSL2 Ubuntu 22.04",
            [("os", "", "linux"), ("wsl", "", "yes"), ("distribution", "", "WSL2 Ubuntu 22.04")],
        ),
        ("OS: Google Colab", [("os", "", "linux"), ("container", "", "colab")]),
        (
            "Kernel: 5.15.153.1-microsoft-standard-WSL2",
            [("kernel", "", "5.15.153.1-microsoft-standard-WSL2"), ("wsl", "", "yes")],
        ),
        ("- PyTorch 版本：2.1.0+cu121", [("package", "torch", "2.1.0+cu121")]),
        ("- Python版本: 3.10", [("python", "", "3.10")]),
        ("- 显卡：4张 RTX 4090", [("gpu", str(index), "RTX 4090") for index in range(4)]),
        ("- 驱动版本：535.104", [("driver", "", "535.104")]),
        ("transformers: 4.40 works fine", []),
        ("[INFO] GPU: RTX 3090", []),
        ("Torch: 2.6.0+cu126. CUDA: 8.9. CUDA Toolkit: 12.6. Triton: 3.2.0", []),
        ("System: You are a helpful assistant", []),
        ("device: cuda:0", []),
    ],
)
def test_lists(text: str, said: list[Said]) -> None:
    assert told(issue_form, text) == said
    assert told(issue_form, f"The bug.\n\n{text}\nand more prose") == said


def test_a_table() -> None:
    text = (
        "| Package | Version |\n|---|:---:|\n| **torch** | `2.3.1+cu121` |\n| GPU | A100 |\n| 备注 | 无 |\n"
    )
    assert told(issue_form, text) == [("package", "torch", "2.3.1+cu121"), ("gpu", "", "A100")]
    [block] = blocks(issue_form, text)
    assert (block.first, block.last, block.is_whole) == (3, 4, False)
    assert [one.line for one in block.statements] == [3, 4]


def test_a_table_across() -> None:
    text = "torch | peft | 显卡\n--- | --- | ---\n2.3.1 | 0.11.1 | RTX 3090\n"
    assert told(issue_form, text) == [
        ("package", "torch", "2.3.1"),
        ("package", "peft", "0.11.1"),
        ("gpu", "", "RTX 3090"),
    ]


def test_tables_of_several_environments_say_nothing() -> None:
    across = "| torch | peft |\n|---|---|\n| 2.3.1 | 0.11.1 |\n| 2.4.0 | 0.12.0 |\n"
    down = "| Package | Version |\n|---|---|\n| torch | 2.3.1 |\n| torch | 2.4.0 |\n"
    wide = "| Package | Works | Fails |\n|---|---|---|\n| torch | 2.3.1 | 2.4.0 |\n"
    # A table across with rows that are not one is read as neither.
    assert values(issue_form, down, "package") == values(issue_form, wide, "package") == []
    assert values(issue_form, across, "package") == []


def test_what_stands_under_another_environment() -> None:
    assert told(issue_form, "### Works with\n\n- torch: 2.3.1\n- Python: 3.10\n") == []
    assert told(issue_form, "Works with:\n- torch: 2.3.1\n") == []
    assert told(issue_form, "### Environment\n\n- torch: 2.3.1\n") == [("package", "torch", "2.3.1")]
    assert told(issue_form, "### Fix\n\n### Python version\n\n3.10\n") == [("python", "", "3.10")]
