"""Commands, what they set and install, and what a prompt answered."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doctor.readers.paste import commands

from .saying import blocks, told, values


@pytest.mark.parametrize(
    "prompt",
    [
        "",
        "$ ",
        "!",
        "%",
        "RUN ",
        "(llm) someone@box:~/work$ ",
        "(base) root@box:/workspace# ",
        r"PS C:\work> ",
        "In [3]: !",
        "1. ",
        "sudo ",
        ">>> !",
    ],
)
def test_a_command_is_known_behind_any_prompt(prompt: str) -> None:
    said = told(commands, f"{prompt}pip install 'peft>=0.14' trl==0.12.0")
    assert ("requirement", "peft", ">=0.14") in said
    assert ("requirement", "trl", "==0.12.0") in said


@pytest.mark.parametrize(
    "line",
    [
        "Please run `pip install accelerate -U`",
        "I did pip install peft==0.14.0",
        "see: pip install peft",
        "# Solution\npip install peft==0.13.2",
    ],
)
def test_advice_is_no_command(line: str) -> None:
    assert told(commands, line) == []


@pytest.mark.parametrize(
    ("line", "topic", "value"),
    [
        ("pip install torch --index-url https://download.pytorch.org/whl/cu121", "torch cuda", "12.1"),
        ("pip install torch --index-url https://download.pytorch.org/whl/cpu", "torch cuda", "none"),
        ("pip3 install --pre torch -i https://download.pytorch.org/whl/nightly/cu128", "torch cuda", "12.8"),
        ("uv pip install torch --index-url https://download.pytorch.org/whl/rocm6.2", "torch hip", "6.2"),
        ("conda install pytorch==2.0.1 pytorch-cuda=11.8 -c pytorch -c nvidia", "torch cuda", "11.8"),
    ],
)
def test_an_index_tells_the_build_of_torch(line: str, topic: str, value: str) -> None:
    assert values(commands, line, topic) == [value]


def test_a_wheel_tells_its_release_and_its_python() -> None:
    line = "pip install ./flash_attn-2.5.8+cu122torch2.3cxx11abiFALSE-cp310-cp310-linux_x86_64.whl"
    assert told(commands, line) == [
        ("package", "flash-attn", "2.5.8+cu122torch2.3cxx11abiFALSE"),
        ("python", "", "3.10"),
    ]


def test_commands_go_on_behind_a_backslash() -> None:
    (block,) = blocks(commands, "RUN pip install \\\n    torch==2.3.0 \\\n    peft==0.11.1")
    assert (block.first, block.last, block.is_whole) == (1, 3, True)
    assert [(one.name, one.value) for one in block.statements] == [("torch", "==2.3.0"), ("peft", "==0.11.1")]


@pytest.mark.parametrize(
    "line",
    [
        "export CUDA_VISIBLE_DEVICES=1",
        "CUDA_VISIBLE_DEVICES=1 python train.py --lr 1e-4",
        "set CUDA_VISIBLE_DEVICES=1",
        "setx CUDA_VISIBLE_DEVICES 1",
        '$env:CUDA_VISIBLE_DEVICES = "1"',
        "ENV CUDA_VISIBLE_DEVICES=1",
        "ENV CUDA_VISIBLE_DEVICES 1",
        "%env CUDA_VISIBLE_DEVICES=1",
        "      CUDA_VISIBLE_DEVICES: '1'",
        'os.environ["CUDA_VISIBLE_DEVICES"] = "1"',
        "    os.environ['CUDA_VISIBLE_DEVICES']='1'  # one of them",
        'import os; os.environ.setdefault("CUDA_VISIBLE_DEVICES", "1")',
        "docker run --rm -e CUDA_VISIBLE_DEVICES=1 image bash",
        "NCCL_P2P_DISABLE=1 CUDA_VISIBLE_DEVICES=1 torchrun --nproc_per_node 2 train.py",
    ],
)
def test_a_variable_is_known_by_any_way_to_set_it(line: str) -> None:
    assert ("variable", "CUDA_VISIBLE_DEVICES", "1") in told(commands, line)


@pytest.mark.parametrize(
    "line",
    [
        "export HF_TOKEN=hf_notforyou",
        "WANDB_API_KEY=0123 python train.py",
        "HIP_VISIBLE_DEVICES=None",
        'os.environ["OPENAI_API_KEY"] = "sk-1"',
        "LEARNING_RATE=3",
    ],
)
def test_a_secret_and_what_is_not_set_stay_unread(line: str) -> None:
    assert told(commands, line) == []


def test_a_container_tells_itself() -> None:
    assert values(commands, "docker run --gpus all --shm-size=8g -it image bash", "shared memory") == [
        str(8 << 30)
    ]
    assert values(commands, "docker run --gpus all image", "container") == ["docker"]
    assert values(commands, "root@0123456789ab:/workspace# nvidia-smi", "container") == ["docker"]
    assert values(commands, "root@autodl-container:/workspace# nvidia-smi", "container") == []


def test_an_official_image_tells_what_is_in_it() -> None:
    assert told(commands, "FROM pytorch/pytorch:2.1.0-cuda11.8-cudnn8-devel") == [
        ("container", "", "docker"),
        ("package", "torch", "2.1.0"),
        ("torch cuda", "", "11.8"),
        ("toolkit", "", "11.8"),
    ]
    assert told(commands, "we use nvcr.io/nvidia/pytorch:24.03-py3 here") == [("container", "", "docker")]
    said = told(commands, "FROM nvidia/cuda:12.1.1-cudnn8-devel-ubuntu22.04")
    assert ("toolkit", "", "12.1.1") in said and ("distribution", "", "Ubuntu 22.04") in said
    assert ("python", "", "3.11") in told(commands, "FROM python:3.11-slim")
    said = told(commands, "image: rocm/pytorch:rocm6.2_ubuntu22.04_py3.10_pytorch_release_2.3.0")
    assert {("torch hip", "", "6.2"), ("package", "torch", "2.3.0"), ("python", "", "3.10")} <= set(said)


@pytest.mark.parametrize(
    "line",
    [
        '  File "/home/someone/.cache/huggingface/modules/transformers_modules/x.py", line 46, in <module>',
        "https://github.com/pytorch/pytorch/issues/1",
        "/opt/rocm/lib:/usr/local/lib",
    ],
)
def test_a_path_is_no_image(line: str) -> None:
    assert told(commands, line) == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (">>> torch.__version__\n'2.3.0+cu121'", [("package", "torch", "2.3.0+cu121")]),
        ("import torch\nprint(torch.__version__)\n# 2.3.0", [("package", "torch", "2.3.0")]),
        ("In [2]: peft.__version__\nOut[2]: '0.11.1'", [("package", "peft", "0.11.1")]),
        (">>> torch.cuda.is_available()\nFalse", [("torch sees gpu", "", "no")]),
        ("torch.cuda.is_available() returns True", [("torch sees gpu", "", "yes")]),
        ("torch.version.cuda: 12.4", [("torch cuda", "", "12.4")]),
        (">>> torch.version.cuda\n>>> torch.version.hip\n'6.2.41133'", [("torch hip", "", "6.2.41133")]),
        ("print(torch.version.cuda)\nNone", [("torch cuda", "", "none")]),
        (
            'python -c "import torch as t; '
            'print(torch.__version__, torch.version.cuda, torch.cuda.is_available())"\n2.4.1+cu124 12.4 True',
            [("package", "torch", "2.4.1+cu124"), ("torch cuda", "", "12.4"), ("torch sees gpu", "", "yes")],
        ),
        (">>> torch.cuda.get_device_name(0)\n'NVIDIA L4'", [("gpu", "0", "NVIDIA L4")]),
        (">>> torch.cuda.get_device_capability()\n(8, 9)", [("gpu capability", "0", "8.9")]),
        (
            ">>> torch.cuda.get_arch_list()\n['sm_50', 'sm_90', 'compute_90']",
            [("torch architectures", "", "sm_50 sm_90 compute_90")],
        ),
        ("$ python --version\nPython 3.10.12", [("python", "", "3.10.12")]),
        (">>> sys.version\n'3.11.7 (main, Dec  8 2023) [GCC 12]'", [("python", "", "3.11.7")]),
    ],
)
def test_the_answer_of_a_prompt_is_read(text: str, said: list[tuple[str, str, str]]) -> None:
    assert told(commands, text) == said


@pytest.mark.parametrize(
    "text",
    [
        "if torch.cuda.is_available():\n    device = 'cuda'",
        "print(torch.__version__)\nprint(torch.version.cuda)",
        ">>> torch.__version__\nTraceback (most recent call last):",
        "assert torch.__version__ >= '2.0'",
        "device = torch.cuda.get_device_name(0)\nreturn device",
    ],
)
def test_a_question_without_an_answer_says_nothing(text: str) -> None:
    assert told(commands, text) == []


@given(st.text(max_size=300))
def test_no_text_makes_it_raise(text: str) -> None:
    blocks(commands, text)


@given(
    st.sampled_from(["pip install ", "export CUDA_HOME=", "docker run ", "torch.__version__ ", "FROM "]),
    st.text(max_size=80),
)
def test_no_rest_of_a_command_makes_it_raise(start: str, rest: str) -> None:
    blocks(commands, start + rest)
