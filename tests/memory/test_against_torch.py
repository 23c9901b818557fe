"""Every count held against what transformers, PEFT, torch and bitsandbytes really make of tiny models."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from readers.model_config.tiny import CONFIGS, SIZES

from doctor.memory.models import config_of, rows
from doctor.memory.plan import OPTIMIZERS, Plan
from doctor.memory.shapes import Matrix, ModelShape
from doctor.memory.statics import count
from doctor.memory.validity import PlanInvalid
from doctor.readers.model_config import read, shape_of
from memory.real import answers

pytestmark = pytest.mark.environments

ADAPTERS: tuple[dict[str, Any], ...] = (
    {"r": 4, "target_modules": "all-linear"},
    {"r": 4},
    {
        "r": 8,
        "target_modules": ["q_proj", "v_proj", "down_proj", "dense", "c_attn", "query_key_value"],
        "use_dora": True,
    },
    {
        "r": 8,
        "target_modules": ["q_proj", "qkv_proj", "query_key_value", "c_attn"],
        "modules_to_save": ["lm_head", "embed_tokens", "norm"],
    },
    {
        "r": 8,
        "target_modules": r".*(q_proj|c_attn|query_key_value|qkv_proj)",
        "rank_pattern": {"layers.1.self_attn.q_proj": 2},
    },
    {"r": 3, "target_modules": ["q_proj", "o_proj", "lm_head", "embed_tokens", "wte"], "bias": "all"},
    {"r": 2, "target_modules": ["o_proj", "c_attn", "query_key_value"], "layers_to_transform": [0, 2]},
    {
        "r": 2,
        "target_modules": ["q_proj"],
        "target_parameters": ["mlp.experts.gate_up_proj"],
        "exclude_modules": ["layers.0.self_attn.q_proj"],
    },
    {"r": 2, "target_modules": ["fc1", "proj", "qkv", "up_proj"]},
)
WIDE = {
    "model_type": "llama",
    "num_hidden_layers": 2,
    "hidden_size": 256,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "intermediate_size": 700,
    "vocab_size": 900,
}
IDS = {"pad_token_id": 0, "bos_token_id": 0, "eos_token_id": 0}
QUANTISED = {
    **{kind: {**SIZES, **IDS, "model_type": kind} for kind in ("llama", "qwen2", "gemma", "phi3", "mixtral")},
    **{kind: {**CONFIGS[kind], **IDS} for kind in ("falcon", "opt", "gpt2", "deepseek_v3")},
}


def named(shape: ModelShape) -> dict[str, int]:
    """Elements by the names that torch gives to parameters."""
    found: dict[str, int] = {}
    for matrix in shape.matrices:
        path = re.sub(r"\.\d+(?=\.|$)", ".*", matrix.path)
        bare = matrix.fused or path.endswith(("sinks", "_weight"))
        key = path if bare else f"{path}.weight"
        found[key] = found.get(key, 0) + matrix.count * matrix.rows * matrix.columns
        if matrix.bias:
            key = f"{path}{'_' if matrix.fused else '.'}bias"
            found[key] = found.get(key, 0) + matrix.count * matrix.rows
    return found


def test_every_parameter_of_every_family_is_there_under_its_name(base_python: str) -> None:
    for (name, config), real in zip(
        CONFIGS.items(), answers(base_python, [("parameters", c) for c in CONFIGS.values()]), strict=True
    ):
        assert named(read(json.dumps(config), name)) == real, name


def test_every_model_of_the_list_is_built_as_counted(base_python: str) -> None:
    configs = {name: shortened(config_of(row)) for name, row in rows().items()}
    questions = [("parameters", config) for config in configs.values()]
    for (name, config), real in zip(configs.items(), answers(base_python, questions), strict=True):
        assert named(shape_of(config, name)) == real, name


def shortened(config: Mapping[str, Any]) -> dict[str, Any]:
    """With four layers, enough for those that differ: DeepSeek's first three are dense."""
    if "text_config" in config:
        return {**config, "text_config": shortened(config["text_config"])}
    return {**config, "num_hidden_layers": 4}


def test_adapters_are_as_large_as_pefts(base_python: str) -> None:
    cases = [(name, how) for name in CONFIGS for how in ADAPTERS]
    questions = [("adapter", CONFIGS[name], how) for name, how in cases]
    for (name, how), real in zip(cases, answers(base_python, questions), strict=True):
        shape = read(json.dumps(CONFIGS[name]), name)
        assert adapter_of(shape, how) == (None if isinstance(real, dict) else real), (name, how, real)


def adapter_of(shape: ModelShape, how: Mapping[str, Any]) -> list[int] | None:
    """Parameters and bytes; None where no adapter fits, as where PEFT raises."""
    try:
        found = count(shape, Plan(method="lora", adapter=how))
    except PlanInvalid:
        return None
    return [found.trainable_parameters, found.adapter_bytes]


def test_states_are_as_large_as_the_optimizers(base_python: str) -> None:
    cases = [(name, method) for name in OPTIMIZERS for method in ("lora", "full")]
    questions = [("optimizer", WIDE, name, method) for name, method in cases]
    shape = read(json.dumps(WIDE), "wide")
    for (name, method), real in zip(cases, answers(base_python, questions), strict=True):
        saved = ("embed_tokens",) if method == "lora" else ()
        plan = Plan(method=method, rank=8, optimizer=name, modules_to_save=saved, loop="bare")  # type: ignore[arg-type]
        assert count(shape, plan).optimizer_bytes == real, (name, method)


def test_quantised_weights_are_as_large_as_those_of_bitsandbytes(base_python: str) -> None:
    cases = [
        (name, double, upcast) for name in QUANTISED for double in (True, False) for upcast in (True, False)
    ]
    questions = [("quantised", QUANTISED[name], double, upcast) for name, double, upcast in cases]
    for (name, double, upcast), real in zip(cases, answers(base_python, questions), strict=True):
        shape = read(json.dumps(QUANTISED[name]), name)
        first = next(matrices_with_names(shape))
        plan = Plan(double_quant=double, kbit_upcast=upcast, target_modules=(first.name,))
        assert count(shape, plan).weights_bytes == real, (name, double, upcast)


def matrices_with_names(shape: ModelShape) -> Iterator[Matrix]:
    return (matrix for matrix in shape.matrices if matrix.is_linear)
