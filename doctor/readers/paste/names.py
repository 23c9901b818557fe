"""Names of packages as people write them, the shape of a version, and what is no name but a path."""

from __future__ import annotations

import re

# What a report on a fine-tune tells of, by the names of the index; "-" stands for "-", "_", " " or nothing.
PACKAGES = tuple(
    """
    accelerate adapters aiohttp ale-py apex auto-gptq autoawq auto-round autotrain-advanced awq axolotl
    bitsandbytes boto3 causal-conv1d compressed-tensors cut-cross-entropy cupy-cuda12x datasets deepspeed
    diffusers dill einops evaluate fastapi flash-attn flash-linear-attention fsspec fire galore-torch gguf
    gptqmodel gradio grpcio hf-transfer hf-xet hqq huggingface-hub intel-extension-for-pytorch ipython jax
    jaxlib jinja2 kernels keras lightning liger-kernel lion-pytorch llama-cpp-python llama-recipes
    llamafactory llmcompressor lm-eval lm-format-enforcer lmdeploy loralib mamba-ssm mergekit mistral-common
    mkl ml-dtypes modelscope mpi4py ms-swift multiprocess numba numpy onnx onnxruntime openai openrlhf
    opencv-python opentelemetry-api optimum optimum-quanto outlines packaging pandas peft pillow pip
    protobuf psutil pyarrow pydantic pytorch-lightning pytorch-triton pytorch-triton-rocm pyyaml quanto
    qwen-vl-utils ray regex requests rich s3fs safetensors scikit-learn scipy sentence-transformers
    sentencepiece setfit setuptools sglang shtab spacy spqr tensorboard tensorboardx tensorflow tf-keras
    tiktoken timm tokenizers torch torch-npu torch-xla torchao torchaudio torchdata torchmetrics torchtext
    torchtune torchvision torchx tqdm trackio transformer-engine transformers transformers-stream-generator
    triton triton-windows trl tyro typer typing-extensions unsloth unsloth-zoo urllib3 verl vllm
    vllm-flash-attn wandb wheel xformers xgrammar xtuner zstandard
    """.split()
)
# What people write in place of a name of the index.
ALIASES = {
    "pytorch": "torch",
    "bnb": "bitsandbytes",
    "bits-and-bytes": "bitsandbytes",
    "flash-attention": "flash-attn",
    "flash-attention-2": "flash-attn",
    "flashattention": "flash-attn",
    "flashattn": "flash-attn",
    "llama-factory": "llamafactory",
    "hf-transformers": "transformers",
    "huggingface-transformers": "transformers",
    "hugging-face-transformers": "transformers",
    "hf-hub": "huggingface-hub",
    "hugging-face-hub": "huggingface-hub",
    "hub": "huggingface-hub",
    "deep-speed": "deepspeed",
    "lightning-ai": "lightning",
    "sklearn": "scikit-learn",
    "pil": "pillow",
    "transformer": "transformers",
    "autogptq": "auto-gptq",
    "gptq-model": "gptqmodel",
    "liger": "liger-kernel",
    "swift": "ms-swift",
}
CANONICAL = {**{name: name for name in PACKAGES}, **ALIASES}
# Names that are words of any language as well: a version behind them counts only as "name==version".
WORDS = frozenset(
    """accelerate adapters evaluate fire hub kernels lightning outlines packaging rich ray swift
    transformer""".split()
)

# "2.6.0+cu124", "2.7.0.dev20250310+cu128", "2.4.0a0+07cecf4168.nv24.05", "0.46.0rc1", "2.7.4.post1".
VERSION = (
    r"\d{1,4}(?:\.\d{1,8}){1,4}(?:(?:[._-]?(?:dev|post|rc|alpha|beta)|\.?[ab])\d{0,10}){0,2}"
    r"(?:\+[A-Za-z0-9]{1,40}(?:[._-][A-Za-z0-9]{1,40}){0,4})?"
)


def spelled(name: str) -> str:
    """A pattern for a name in any of its spellings."""
    return re.escape(name).replace(r"\-", "[-_ ]?")


# The longest first: "torch" must not be found in "torchvision".
NAME = "|".join(spelled(name) for name in sorted(CANONICAL, key=len, reverse=True))


def canonical(written: str) -> str:
    """The name on the index, "" for one that is none of these: "flash-attn" of "Flash Attention"."""
    plain = re.sub(r"[-_. ]+", "-", written.strip().lower())
    return CANONICAL.get(plain) or JOINED.get(plain.replace("-", ""), "")


JOINED = {name.replace("-", ""): true for name, true in CANONICAL.items()}
