"""What a model is made of, read from its config.json: shapes, never weights."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal

import msgspec

from doctor.fact import Fact


class Matrix(Fact, frozen=True, kw_only=True):
    """One kind of weight, and how often a model has it."""

    name: str  # as PEFT targets it: "q_proj"; "embed_tokens", "lm_head", "norm"
    rows: int  # out_features
    columns: int = 1  # in_features
    count: int = 1  # over the whole model, experts included
    # Those of "linear", "expert" and "vision" (of an image encoder) are linear layers; "other" is a router,
    # a convolution or a lone vector, which PEFT's all-linear and bitsandbytes pass over.
    role: Literal["linear", "expert", "embedding", "head", "norm", "vision", "other"] = "linear"
    bias: bool = False
    # A stack of experts kept as one tensor: bitsandbytes and PEFT do not see it as a linear layer.
    fused: bool = False
    path: str = ""  # where it stands, "*" for a number: "model.layers.*.self_attn.q_proj"
    # A class of the model's own that derives from torch's Linear: transformers 5 does not quantise it.
    derived: bool = False
    float32: bool = False  # loaded as float32 whatever the model's type: _keep_in_fp32_modules_strict

    @property
    def parameters(self) -> int:
        """Of all ``count`` of them, with biases."""
        return self.count * self.rows * (self.columns + (1 if self.bias else 0))

    @property
    def is_linear(self) -> bool:
        """Is it a layer that PEFT's all-linear takes? The head is one too, and is left out there."""
        return self.role in ("linear", "expert", "vision") and not self.fused


class ModelShape(Fact, frozen=True, kw_only=True):
    """A model by its shapes. ``config`` is what the trace builds it from, unchanged."""

    name: str  # what the user called it: "meta-llama/Llama-2-7b-hf", "llama-2-7b", "./config.json"
    config: Mapping[str, Any]
    source: Literal["config", "cache", "list", "parameters"]
    model_type: str = ""
    layers: int
    hidden: int
    heads: int
    kv_heads: int
    head_dim: int
    intermediate: int  # of one token's way through a layer: experts per token times theirs
    vocab: int
    tied: bool = False
    matrices: tuple[Matrix, ...] = ()
    image_tokens: int = 0  # of one image at the model's own resolution
    error: float = 0.0  # relative, of the parameters: where only their number is known
    folder: str = ""  # where the config lies beside code of its own, which runs only where that is asked for
    notes: tuple[str, ...] = ()
    experts: int = 0  # of one layer; 0 of a dense model
    experts_per_token: int = 0
    quantised: str = ""  # how the weights lie in the files already: "gptq", "awq", "bitsandbytes-4bit", "fp8"

    @property
    def parameters(self) -> int:
        """All of them, tied ones once."""
        return sum(matrix.parameters for matrix in self.matrices)


# Experts of transformers 4 that have names of their own; other models name them as dense layers are named.
APART = {"mixtral": {"gate_up_proj": ("w1", "w3"), "down_proj": ("w2",)}}
PLAIN = {"gate_up_proj": ("gate_proj", "up_proj"), "down_proj": ("down_proj",)}
ALWAYS_FUSED = ("gpt_oss",)  # in transformers 4 too


def unfused(shape: ModelShape) -> ModelShape:
    """The same model as transformers 4 has it: experts and routers are linear layers of their own.

    It quantises classes that derive from Linear, as Falcon's, too.
    """
    plain = [msgspec.structs.replace(matrix, derived=False) for matrix in shape.matrices]
    if shape.model_type in ALWAYS_FUSED or not any(matrix.fused for matrix in plain):
        return msgspec.structs.replace(shape, matrices=tuple(plain))
    apart = [one for matrix in plain for one in _apart(matrix, APART.get(shape.model_type, PLAIN))]
    if shape.model_type == "mixtral":
        apart = [_moved(matrix, "mlp", "block_sparse_moe") for matrix in apart]
    return msgspec.structs.replace(shape, matrices=tuple(apart))


def _moved(matrix: Matrix, old: str, new: str) -> Matrix:
    return msgspec.structs.replace(matrix, path=matrix.path.replace(f".{old}.", f".{new}."))


def _apart(matrix: Matrix, names: Mapping[str, tuple[str, ...]]) -> Iterator[Matrix]:
    home, _, last = matrix.path.rpartition(".")
    if last == "gate" and matrix.role == "other":
        yield msgspec.structs.replace(matrix, role="linear", float32=False)
    elif not matrix.fused:
        yield matrix
    else:
        parts = names[matrix.name]
        for name in parts:
            path, rows = f"{home}.*.{name}", matrix.rows // len(parts)
            yield msgspec.structs.replace(matrix, name=name, rows=rows, path=path, fused=False)
