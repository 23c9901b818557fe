"""transformers env, accelerate env, trl env, llamafactory-cli env, of every era."""

from __future__ import annotations

import pytest

from doctor.readers.paste import accelerate_env, llamafactory_env, transformers_env, trl_env

from .saying import blocks, told, values

TRANSFORMERS_4 = """\
Copy-and-paste the text below in your GitHub issue and FILL OUT the two last points.

- `transformers` version: 4.41.2
- Platform: Linux-5.15.0-91-generic-x86_64-with-glibc2.35
- Python version: 3.10.12
- Huggingface_hub version: 0.23.4
- Safetensors version: 0.4.3
- Accelerate version: 0.31.0
- Accelerate config: 	- compute_environment: LOCAL_MACHINE
	- distributed_type: MULTI_GPU
	- mixed_precision: bf16
	- use_cpu: False
	- debug: False
	- num_processes: 8
	- machine_rank: 0
	- num_machines: 1
	- gpu_ids: all
	- rdzv_backend: static
	- downcast_bf16: no
- PyTorch version (GPU?): 2.3.1+cu121 (True)
- Tensorflow version (GPU?): not installed (NA)
- Flax version (CPU?/GPU?/TPU?): not installed (NA)
- Jax version: not installed
- JaxLib version: not installed
- Using GPU in script?: <fill in>
- Using distributed or parallel set-up in script?: <fill in>
"""
SAID_4 = [
    ("package", "transformers", "4.41.2"),
    ("os", "", "linux"),
    ("kernel", "", "5.15.0-91-generic"),
    ("arch", "", "x86_64"),
    ("libc", "", "glibc 2.35"),
    ("python", "", "3.10.12"),
    ("package", "huggingface-hub", "0.23.4"),
    ("package", "safetensors", "0.4.3"),
    ("package", "accelerate", "0.31.0"),
    ("package", "torch", "2.3.1+cu121"),
    ("torch sees gpu", "", "yes"),
]
# Printed by transformers 5.24.0 itself.
TRANSFORMERS_5 = """\
- `transformers` version: 5.24.0
- Platform: Linux-6.18.44-fc-v769-x86_64-with-glibc2.36
- Python version: 3.11.7
- Huggingface_hub version: 2.4.0
- Safetensors version: 0.8.0
- Accelerate version: 1.15.0
- Accelerate config: 	not found
- DeepSpeed version: not installed
- PyTorch version (accelerator?): 2.13.0+cpu (NA)
- Using distributed or parallel set-up in script?: <fill in>
"""
ACCELERATE = """\
- `Accelerate` version: 1.0.1
- Platform: Linux-5.15.153.1-microsoft-standard-WSL2-x86_64-with-glibc2.35
- `accelerate` bash location: /home/u/miniconda3/envs/llm/bin/accelerate
- Python version: 3.10.14
- Numpy version: 1.26.4
- PyTorch version (GPU?): 2.4.1+cu124 (True)
- PyTorch XPU available: False
- PyTorch NPU available: False
- System RAM: 31.20 GB
- GPU type: NVIDIA GeForce RTX 4090
- `Accelerate` default config:
	- compute_environment: LOCAL_MACHINE
	- distributed_type: NO
"""
TRL = """\
- Platform: Linux-5.4.0-156-generic-x86_64-with-glibc2.31
- Python version: 3.11.9
- PyTorch version: 2.4.1
- CUDA device(s): NVIDIA H100 80GB HBM3, NVIDIA H100 80GB HBM3
- Transformers version: 4.46.0
- Accelerate version: 0.34.2
- Accelerate config: not found
- Datasets version: 3.0.1
- HF Hub version: 0.24.7
- TRL version: 0.12.0+abc1234
- bitsandbytes version: not installed
- DeepSpeed version: 0.14.4
- Diffusers version: not installed
- Liger-Kernel version: 0.3.0
- LLM-Blender version: not installed
- OpenAI version: 1.46.0
- PEFT version: 0.12.0
"""
LLAMAFACTORY = """\
root@autodl-container-40b74f9912-1ab26877:~# llamafactory-cli env
[2024-11-23 13:16:23,920] [INFO] [real_accelerator.py:219:get_accelerator] Setting ds_accelerator to cuda

- `llamafactory` version: 0.9.3.dev0
- Platform: Linux-6.8.0-59-generic-x86_64-with-glibc2.35
- Python version: 3.10.0
- PyTorch version: 2.3.0+cu121 (GPU)
- Transformers version: 4.49.0
- Datasets version: 3.2.0
- Accelerate version: 1.2.1
- PEFT version: 0.15.1
- GPU type: NVIDIA A100-SXM4-80GB
- GPU number: 2
- GPU memory: 79.25GB
- TRL version: 0.9.6
- vLLM version: 0.7.2
- Git commit: cf1087d409b2513338f9f32a33b6d95919b96d91
- Default data directory: detected
"""


def test_transformers_4() -> None:
    assert told(transformers_env, TRANSFORMERS_4) == SAID_4
    [block] = blocks(transformers_env, TRANSFORMERS_4)
    assert (block.form, block.first, block.last, block.is_whole) == ("transformers env", 3, 26, True)
    assert {one.line for one in block.statements if one.topic == "torch sees gpu"} == {20}


def test_transformers_5() -> None:
    said = told(transformers_env, TRANSFORMERS_5)
    assert said[-3:] == [
        ("absent", "deepspeed", ""),
        ("package", "torch", "2.13.0+cpu"),
        ("torch sees gpu", "", "no"),
    ]
    [gpu] = values(transformers_env, TRANSFORMERS_5.replace("+cpu (NA)", "+cu130 (CUDA)"), "torch sees gpu")
    assert gpu == "yes"


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace("- ", "* "),
        lambda text: text.replace("- ", ""),
        lambda text: text.replace("`", ""),
        lambda text: text.replace("\t", ""),
        lambda text: text.replace("\n", "\n\n"),
        lambda text: text.replace("\n", "<br>\n"),
        lambda text: text.replace("- ", "- **").replace(": ", "**: "),
        lambda text: " ".join(text.split()),
        lambda text: text.replace("\n", "  \\\n"),
    ],
)
def test_harm_changes_nothing(change) -> None:  # type: ignore[no-untyped-def]
    assert told(transformers_env, change(TRANSFORMERS_4)) == SAID_4


def test_what_was_added_by_hand() -> None:
    text = TRANSFORMERS_5 + "- `peft` version: 0.17.1\n- bitsandbytes: 0.48.0\n- GPU: 2x RTX 3090\n"
    said = told(transformers_env, text)
    assert {("package", "peft", "0.17.1"), ("package", "bitsandbytes", "0.48.0")} <= set(said)
    assert said[-2:] == [("gpu", "0", "RTX 3090"), ("gpu", "1", "RTX 3090")]


def test_an_answer_that_names_the_gpu() -> None:
    text = "- Huggingface_hub version: 0.20.1\n- Using GPU in script?: yes (A100 80GB)\n"
    assert ("gpu", "", "A100 80GB") in told(transformers_env, text)
    assert values(transformers_env, text.replace("yes (A100 80GB)", "<fill in>"), "gpu") == []


def test_not_installed_may_mean_too_old() -> None:
    text = (
        "- `transformers` version: 4.56.0\n- Huggingface_hub version: 0.34.0\n"
        "- Accelerate version: not installed\n"
        "- PyTorch version (accelerator?): not installed (NA)\n"
    )
    assert [topic for topic, _, _ in told(transformers_env, text)] == ["package", "package"]


def test_another_accelerator() -> None:
    text = (
        "- Huggingface_hub version: 0.34.0\n- PyTorch version (accelerator?): 2.8.0+xpu (XPU)\n"
        "- XPU type: Intel(R) Arc(TM) A770\n"
    )
    assert told(transformers_env, text)[-2:] == [
        ("torch sees gpu", "", "yes"),
        ("accelerator", "", "Intel(R) Arc(TM) A770"),
    ]


def test_diffusers() -> None:
    text = (
        "- 🤗 Diffusers version: 0.31.0\n- Running on Google Colab?: Yes\n"
        "- PyTorch version (GPU?): 2.5.0+cu121 (True)\n"
        "- Bitsandbytes version: not installed\n- Accelerator: NVIDIA A100-SXM4-40GB, 40960 MiB\n"
    )
    assert told(transformers_env, text) == [
        ("package", "diffusers", "0.31.0"),
        ("container", "", "colab"),
        ("package", "torch", "2.5.0+cu121"),
        ("torch sees gpu", "", "yes"),
        ("absent", "bitsandbytes", ""),
        ("gpu", "", "NVIDIA A100-SXM4-40GB"),
    ]


def test_accelerate() -> None:
    said = told(accelerate_env, ACCELERATE)
    assert said == [
        ("package", "accelerate", "1.0.1"),
        ("os", "", "linux"),
        ("kernel", "", "5.15.153.1-microsoft-standard-WSL2"),
        ("wsl", "", "yes"),
        ("arch", "", "x86_64"),
        ("libc", "", "glibc 2.35"),
        ("executable", "", "/home/u/miniconda3/envs/llm"),
        ("python", "", "3.10.14"),
        ("package", "numpy", "1.26.4"),
        ("package", "torch", "2.4.1+cu124"),
        ("torch sees gpu", "", "yes"),
        ("gpu", "", "NVIDIA GeForce RTX 4090"),
    ]
    assert told(transformers_env, ACCELERATE) == []
    newer = ACCELERATE.replace(
        "PyTorch version (GPU?): 2.4.1+cu124 (True)", "PyTorch version: 2.7.0+cpu"
    ).replace("- PyTorch XPU available: False", "- PyTorch accelerator: N/A")
    assert ("torch sees gpu", "", "no") in told(accelerate_env, newer)


def test_trl() -> None:
    said = told(trl_env, TRL)
    assert [one for one in said if one[0] in ("gpu", "torch sees gpu")] == [
        ("gpu", "0", "NVIDIA H100 80GB HBM3"),
        ("gpu", "1", "NVIDIA H100 80GB HBM3"),
        ("torch sees gpu", "", "yes"),
    ]
    assert {("package", "trl", "0.12.0+abc1234"), ("package", "liger-kernel", "0.3.0")} <= set(said)
    assert {("absent", "bitsandbytes", ""), ("absent", "diffusers", "")} <= set(said)


def test_trl_without_a_gpu() -> None:
    text = TRL.replace("NVIDIA H100 80GB HBM3, NVIDIA H100 80GB HBM3", "not available")
    said = told(trl_env, text)
    assert ("torch sees gpu", "", "no") in said
    assert ("absent", "bitsandbytes", "") not in said  # it may only be of no use to transformers
    newer = text.replace("CUDA device(s): not available", "accelerator(s): cpu")
    assert ("torch sees gpu", "", "no") in told(trl_env, newer)


def test_llamafactory() -> None:
    [block] = blocks(llamafactory_env, LLAMAFACTORY)
    assert (block.first, block.last) == (4, 18)
    said = told(llamafactory_env, LLAMAFACTORY)
    assert [one for one in said if one[0].startswith(("gpu", "torch"))] == [
        ("torch sees gpu", "", "yes"),
        ("gpu", "0", "NVIDIA A100-SXM4-80GB"),
        ("gpu", "1", "NVIDIA A100-SXM4-80GB"),
        ("gpu memory", "0", str(int(79.25 * 2**30))),
        ("gpu memory", "1", str(int(79.25 * 2**30))),
    ]
    assert {("package", "llamafactory", "0.9.3.dev0"), ("package", "vllm", "0.7.2")} <= set(said)


def test_llamafactory_without_a_gpu() -> None:
    text = "".join(
        line for line in LLAMAFACTORY.splitlines(keepends=True) if not line.startswith("- GPU")
    ).replace(" (GPU)", "")
    assert values(llamafactory_env, text, "torch sees gpu") == ["no"]


def test_each_report_is_of_one_reader() -> None:
    text = "\n".join((TRANSFORMERS_4, ACCELERATE, TRL, LLAMAFACTORY))
    readers = (transformers_env, accelerate_env, trl_env, llamafactory_env)
    assert [len(blocks(reader, text)) for reader in readers] == [1, 1, 1, 1]
