"""The families: a config of each whose sizes share no factor, and which plans are traced of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any, NamedTuple

from doctor.memory.plan import Plan

# Heads are 3 * 5, keys 3, so that hidden, a multiple of heads, and both widths differ.
SIZES = {"b": 13, "s": 272, "h": 285, "n": 15, "j": 3, "d": 44, "i": 191, "v": 1511, "r": 7}
LAYERS = 4
TARGETS, PAIR = (("all-linear",), ("q_proj", "k_proj", "v_proj", "o_proj")), ("q_proj", "v_proj")
FUSED_TARGETS = (("all-linear",), ("qkv_proj", "o_proj"))
# The last is looked at where attention is given float32, which it casts.
KERNELS = (
    ("sdpa", "bfloat16"),
    ("eager", "bfloat16"),
    ("eager", "float16"),
    ("flash_attention_2", "bfloat16"),
)


class FamilySource(NamedTuple):
    """How a family is traced."""

    architecture: str
    model_types: tuple[str, ...]  # that run the same operations; the first is traced
    further: Mapping[str, Any] = {}  # keys of its config
    targets: tuple[tuple[str, ...], ...] = TARGETS
    experts: tuple[int, int] = (0, 0)  # of a layer, of a token
    fused: str = "sdpa"  # the attention that makes no square matrix
    is_whole: bool = False  # all kinds are traced, not only those that most people have


MOE = {"num_experts": 23, "num_experts_per_tok": 5, "moe_intermediate_size": 191}
FAMILIES = {
    "llama": FamilySource(
        "LlamaForCausalLM", ("llama", "mistral", "qwen2", "yi"), targets=(*TARGETS, PAIR), is_whole=True
    ),
    "qwen3": FamilySource("Qwen3ForCausalLM", ("qwen3",)),
    "gemma2": FamilySource(
        "Gemma2ForCausalLM", ("gemma2",), {"sliding_window": 4096}, fused="flash_attention_2"
    ),
    "gemma3": FamilySource("Gemma3ForCausalLM", ("gemma3_text", "gemma3"), {"sliding_window": 1024}),
    "phi3": FamilySource("Phi3ForCausalLM", ("phi3", "phi4"), {"pad_token_id": 0}, FUSED_TARGETS),
    "glm4": FamilySource("Glm4ForCausalLM", ("glm4", "glm"), {"pad_token_id": 0}),
    "mixtral": FamilySource(
        "MixtralForCausalLM",
        ("mixtral",),
        {"num_local_experts": 23, "num_experts_per_tok": 5},
        TARGETS,
        (23, 5),
    ),
    "qwen3_moe": FamilySource("Qwen3MoeForCausalLM", ("qwen3_moe",), MOE, TARGETS, (23, 5)),
}


def config(name: str) -> dict[str, Any]:
    """The config of a family's traced model."""
    source = FAMILIES[name]
    return {
        "model_type": source.model_types[0],
        "architectures": [source.architecture],
        "hidden_size": SIZES["h"],
        "intermediate_size": SIZES["i"],
        "num_hidden_layers": LAYERS,
        "num_attention_heads": SIZES["n"],
        "num_key_value_heads": SIZES["j"],
        "head_dim": SIZES["d"],
        "vocab_size": SIZES["v"],
        "tie_word_embeddings": False,
        "max_position_embeddings": 131072,
        **source.further,
    }


def plans(name: str) -> Iterator[Plan]:
    """Every plan that is traced of a family, of the batch and the rank in SIZES."""
    source = FAMILIES[name]
    settings = product(PRECISIONS, KERNELS, (0.0, 0.1), (True, False))
    for method, (attention, low_type), dropout, checkpointing in settings:
        for low, loop, upcast, low_adapter in PRECISIONS[method]:
            for targets in source.targets if method != "full" else (("all-linear",),):
                plan = Plan(
                    method=method,
                    attention=attention,
                    dtype=low_type if low else "float32",
                    lora_dropout=dropout,
                    gradient_checkpointing=checkpointing,
                    loop=loop,
                    kbit_upcast=upcast,
                    adapter_dtype="bfloat16" if low_adapter else "float32",
                    target_modules=targets,
                    rank=SIZES["r"],
                    batch_size=SIZES["b"],
                    sequence_length=SIZES["s"],
                    fused_loss=False,
                    reentrant=False,
                )
                if source.is_whole or is_usual(plan, source.fused):
                    yield plan


def is_usual(plan: Plan, fused: str) -> bool:
    """What is traced of every family: bfloat16, and an adapter of 16 bits only where TRL makes it so."""
    adapter = plan.adapter_dtype == "float32" or plan.method == "qlora"
    return plan.attention in (fused, "eager") and adapter and plan.dtype == "bfloat16"


# Weights in 16 bits, loop, upcast, adapter in 16 bits.
PRECISIONS = {
    "lora": (
        (True, "bare", False, False),
        (True, "trainer", False, False),
        (True, "trainer", False, True),
        (False, "bare", False, False),
        (False, "trainer", False, False),
    ),
    "qlora": (
        (True, "bare", False, False),
        (True, "bare", True, False),
        (True, "trainer", False, False),
        (True, "trainer", True, False),
        (True, "trainer", False, True),
    ),
    "full": (
        (True, "bare", False, False),
        (True, "trainer", False, False),
        (False, "bare", False, False),
        (False, "trainer", False, False),
    ),
}
