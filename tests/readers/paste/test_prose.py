"""What people write in their own words, and what of it is no statement."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doctor.readers.paste import prose
from doctor.readers.paste.names import ALIASES, PACKAGES, WORDS

from .saying import blocks, told, values


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (
            "torch 2.3 on a 3060, driver 535, python3.10",
            {"package": "2.3", "gpu": "3060", "driver": "535", "python": "3.10"},
        ),
        ("python == 3.8.10", {"python": "3.8.10"}),
        ("Py 3.11 and bnb 0.43", {"python": "3.11", "package": "0.43"}),
        ("**PyTorch**: `2.4.1`", {"package": "2.4.1"}),
        ("| torch | 2.3.0 |", {"package": "2.3.0"}),
        ("- torch            2.3.0", {"package": "2.3.0"}),
        ("flash attention version is 2.5.8", {"package": "2.5.8"}),
        ("transformers=4.38.2安装后报错", {"package": "4.38.2"}),
        ("nvcc: release 11.8", {"toolkit": "11.8"}),
        ("nvcc --version says 12.1", {"toolkit": "12.1"}),
        ("CUDA toolkit 12.4", {"toolkit": "12.4"}),
        ("I have CUDA 12.1 here", {"cuda": "12.1"}),
        ("Driver Version: 525.105.17", {"driver": "525.105.17"}),
        ("驱动 535.104.05", {"driver": "535.104.05"}),
        ("nvidia-smi says CUDA Version: 12.4", {"driver cuda": "12.4"}),
        ("cuDNN 8.9.2", {"cudnn": "8.9.2"}),
        ("torch2.1.0 cuda12.1", {"package": "2.1.0", "torch cuda": "12.1"}),
        ("pytorch 2.1.0 (CUDA 12.1)", {"package": "2.1.0", "torch cuda": "12.1"}),
        ("torch 2.1 with cu118 wheels", {"package": "2.1", "torch cuda": "11.8"}),
        ("PyTorch 2.1.0 (CPU only)", {"package": "2.1.0", "torch cuda": "none"}),
        ("cuda available: False", {"torch sees gpu": "no"}),
        ("It runs on Windows 11", {"os": "win32"}),
        ("on Ubuntu 22.04 LTS", {"os": "linux"}),
        ("an aarch64 board", {"arch": "aarch64"}),
        ("Running under WSL2 on Windows 11", {"os": "linux", "wsl": "yes"}),
        ("Inside a docker container.", {"container": "docker"}),
        ("在容器里训练", {"container": "docker"}),
        ("a Colab notebook", {"container": "colab"}),
        ("I'm on an M2 Max Mac", {"accelerator": "Apple M2 Max", "os": "darwin", "arch": "arm64"}),
        ("MacBook Pro M1", {"accelerator": "Apple M1", "os": "darwin", "arch": "arm64"}),
        ("a Radeon RX 7900 XTX", {"accelerator": "Radeon RX 7900 XTX"}),
        ("an Intel Arc A770", {"accelerator": "Intel Arc A770"}),
        ("my card is gfx1100", {"gfx": "gfx1100"}),
        ("with CUDA_VISIBLE_DEVICES=0,1", {"variable": "0"}),
    ],
)
def test_a_line_states(line: str, said: dict[str, str]) -> None:
    found = {topic: value for topic, _, value in told(prose, line) if topic != "distribution"}
    assert found == said


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("8xA100 80GB", ["A100 80GB"] * 8),
        ("2 x RTX 4090", ["RTX 4090"] * 2),
        ("4*V100 32G", ["V100 32G"] * 4),
        ("Kaggle T4 x2", ["T4"] * 2),
        ("dual RTX 3090", ["RTX 3090"] * 2),
        ("双卡 3090 Ti", ["3090 Ti"] * 2),
        ("two A6000s", ["A6000"] * 2),
        ("RTX3060 12G", ["RTX3060 12G"]),
        ("a GTX 980 Ti", ["GTX 980 Ti"]),
        ("my 3090", ["3090"]),
        ("显卡是3090,驱动是535", ["3090"]),
        ("Tesla-V100-SXM2-32GB", ["Tesla-V100-SXM2-32GB"]),
        ("NVIDIA GeForce RTX 4060 Ti", ["NVIDIA GeForce RTX 4060 Ti"]),
        ("RTX 6000 Ada", ["RTX 6000 Ada"]),
        ("I'm fine-tuning Llama-3.1-8B with LoRA r=16 on 2x RTX 4090 (24GB)", ["RTX 4090 (24GB)"] * 2),
        ("DGX Spark (GB10)", ["DGX Spark", "GB10"]),
        ("Jetson AGX Orin", ["Jetson AGX Orin"]),
        ("V100 and A100", ["V100", "A100"]),
        ("RTX 4000 series doesn't support it", []),
        ("step 4090 of 5090", []),
        ("t4 = x.t4()", []),
        ("Qwen2-7B has 32 layers", []),
        ("line 2080: the end", []),
    ],
)
def test_gpus_are_known_by_their_names(line: str, names: list[str]) -> None:
    assert values(prose, line, "gpu") == names


def test_memory_behind_a_gpu_is_its_own() -> None:
    assert ("gpu memory", "", str(12 << 30)) in told(prose, "RTX 3060 (12 GB)")
    assert ("gpu memory", "1", str(80 << 30)) in told(prose, "2xA100 80GB")


@pytest.mark.parametrize(
    "line",
    [
        "I think CUDA 12.9 is needed",
        "works with transformers 4.38 but not 4.40",
        "torch==2.6.0+cu126 (after)",
        "I upgraded to transformers 4.50",
        "You need torch 2.4.0, transformers 4.45.0",
        "please downgrade to peft 0.13.2",
        "peft 0.13.2 works",
        "trl 0.9.6 is required",
        "transformers 4.40 or newer",
        "torch 2.3+ is fine",
        "if torch 2.6.0 is there",
        "torch>=2.4.0",
        "transformers: 4.40.0 -> 4.41.0",
        "torch 2.1 - 2.4",
        "Failed to build flash-attn 2.8.0",
        "The detected CUDA was used to compile PyTorch (11.7)",
        "tried on an A100",
        "not in docker container",
        "please set NCCL_P2P_DISABLE=1",
        "accelerate 2.5 times",
        "https://github.com/pytorch/pytorch/releases/tag/torch-2.3.0",
        "## Windows 11",
        "- [ ] Windows 11",
        '  File "/opt/torch-2.3.0/x.py", line 3, in torch 2.3.0',
        "pip install torch==2.3.0",
        "Collecting torch==2.3.0",
    ],
)
def test_a_wish_an_attempt_or_a_comparison_is_no_statement(line: str) -> None:
    said = [one for one in told(prose, line) if one[0] != "cuda"]
    assert said == []


@pytest.mark.parametrize(
    ("line", "version"),
    [
        ("Training does not start, torch 2.3.0", "2.3.0"),
        ("It does not work with torch 2.3.0", "2.3.0"),
        ("This error occurs on torch 2.3.0", "2.3.0"),
        ("I tried everything, torch 2.3.0", "2.3.0"),
        ("I'm fine-tuning with torch 2.3.0", "2.3.0"),
        ("I am not able to load a model in 4-bit with torch 2.3.0", "2.3.0"),
        ("I have no idea why torch 2.3.0 stops", "2.3.0"),
        ("After installing unsloth my torch is 2.3.0+cpu", "2.3.0+cpu"),
        ("the latest torch (2.3.0) stops as well", "2.3.0"),
        ("Versions from pip list: torch 2.3.0", "2.3.0"),
        ("an extension that was built against torch 2.3.0", None),
        ("It worked before. Now I have torch 2.3.0", "2.3.0"),
        ("(you have 2.3.0+cpu) is not what PyTorch 2.1.2+cu121 wants", None),
        ("    PyTorch 2.1.2+cu121 with CUDA 1201 (you have 2.3.0+cpu)", "2.3.0+cpu"),
    ],
)
def test_what_fails_is_stated_all_the_same(line: str, version: str | None) -> None:
    assert values(prose, line, "package") == ([version] if version else [])


PHRASES = (
    *("{name} {version}", "{name}=={version}", "{name}: {version}", "- {name} version: {version}"),
    *(
        "{name} version {version}",
        "using {name} v{version} here",
        "`{name}` = `{version}`",
        "|{name}|{version}|",
    ),
    *("{name}-{version}", "{name} ({version})", "my {name} is {version}."),
)
RELEASES = st.builds(
    "{}.{}.{}{}".format,
    st.integers(0, 3),
    st.integers(0, 59),
    st.integers(0, 9),
    st.sampled_from(["", ".post1", ".dev0", "rc1", "+cu121", ".dev20250310+cu128", "a0+07cecf4168.nv24.05"]),
)


@given(st.sampled_from(PHRASES), st.sampled_from([*PACKAGES, *ALIASES]), RELEASES)
def test_a_version_is_read_back_from_any_phrase(phrase: str, name: str, version: str) -> None:
    found = told(prose, phrase.format(name=name, version=version))
    expected = "python" if name == "python" else ALIASES.get(name, name)
    assert ("package", expected, version) in found or name in WORDS


@given(st.sampled_from(PHRASES), st.sampled_from(PACKAGES), RELEASES)
def test_a_name_in_other_spelling_is_the_same(phrase: str, name: str, version: str) -> None:
    if name in WORDS:
        return
    spelled = name.replace("-", "_").title()
    assert ("package", name, version) in told(prose, phrase.format(name=spelled, version=version))


@given(st.text(max_size=300))
def test_no_text_makes_it_raise(text: str) -> None:
    blocks(prose, text)


@given(
    st.lists(
        st.sampled_from("torch 2.3 A100 x2 not on GPU: CUDA 12.1 driver ( ) | = works 3090 Windows".split()),
        max_size=40,
    )
)
def test_words_in_any_order_do_not_make_it_raise(words: list[str]) -> None:
    blocks(prose, " ".join(words))
