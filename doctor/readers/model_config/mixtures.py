"""Architectures with experts. ``fused`` as in transformers 5; ``shapes.unfused`` tells of transformers 4."""

from __future__ import annotations

from collections.abc import Mapping

from doctor.readers.model_config.families import (
    ENDS,
    HEAD_NORMS,
    SEPARATE,
    TWO_NORMS,
    attention,
    gated,
)
from doctor.readers.model_config.weights import Family, Weight

MLP = "model.layers.*.mlp."


def experts(width: str, router: str = "gate", bias: str = "", float32: bool = False) -> tuple[Weight, ...]:
    """A router, and the experts of each layer that has some, every one of them resident."""
    each = "moe_layers*experts"
    return (
        Weight(MLP + router, "experts", "hidden", "moe_layers", bias, "other", float32=float32),
        Weight(MLP + "experts.gate_up_proj", f"2*{width}", "hidden", each, bias, "expert", fused=True),
        Weight(MLP + "experts.down_proj", "hidden", width, each, bias, "expert", fused=True),
    )


LATENT_ATTENTION = (  # MLA: the caches of keys and values are compressed
    Weight("model.layers.*.self_attn.q_proj", "heads*qk_nope+heads*qk_rope", "hidden", when="!q_lora"),
    Weight(
        "model.layers.*.self_attn.q_a_proj", "q_lora_rank", "hidden", bias="attention_bias", when="q_lora"
    ),
    Weight("model.layers.*.self_attn.q_a_layernorm", "q_lora_rank", role="norm", when="q_lora"),
    Weight("model.layers.*.self_attn.q_b_proj", "heads*qk_nope+heads*qk_rope", "q_lora_rank", when="q_lora"),
    Weight(
        "model.layers.*.self_attn.kv_a_proj_with_mqa", "kv_lora_rank+qk_rope", "hidden", bias="attention_bias"
    ),
    Weight("model.layers.*.self_attn.kv_a_layernorm", "kv_lora_rank", role="norm"),
    Weight("model.layers.*.self_attn.kv_b_proj", "heads*qk_nope+heads*v_head_dim", "kv_lora_rank"),
    Weight("model.layers.*.self_attn.o_proj", "hidden", "heads*v_head_dim", bias="attention_bias"),
)
DEEPSEEK = Family(
    (
        *ENDS,
        *LATENT_ATTENTION,
        *gated(times="dense_layers"),
        *experts("expert_width", float32=True),
        *gated("shared_experts*expert_width", at="mlp.shared_experts", times="moe_layers"),
        *TWO_NORMS,
    ),
    {
        "q_lora_rank": 1536,
        "kv_lora_rank": 512,
        "qk_nope_head_dim": 128,
        "qk_rope_head_dim": 64,
        "v_head_dim": 128,
    },
    {"head_dim": "qk_nope+qk_rope"},
    per_token="experts_per_token*expert_width+shared_experts*expert_width",
)

MIXTURES: Mapping[str, Family] = {
    "mixtral": Family(
        (*ENDS, *attention(), *experts("intermediate"), *TWO_NORMS),
        {"num_key_value_heads": 8, "num_local_experts": 8, "num_experts_per_tok": 2},
        per_token="experts_per_token*intermediate",
    ),
    "qwen2_moe": Family(
        (
            *ENDS,
            *attention("qkv_bias"),
            *gated(times="dense_layers"),
            *experts("expert_width"),
            *gated("shared_width", at="mlp.shared_expert", times="moe_layers"),
            Weight(MLP + "shared_expert_gate", "1", "hidden", "moe_layers"),
            *TWO_NORMS,
        ),
        {
            "num_experts": 60,
            "num_experts_per_tok": 4,
            "moe_intermediate_size": 1408,
            "shared_expert_intermediate_size": 5632,
            "qkv_bias": True,
        },
        per_token="experts_per_token*expert_width+shared_width",
    ),
    "qwen3_moe": Family(
        (
            *ENDS,
            *SEPARATE,
            *HEAD_NORMS,
            *gated(times="dense_layers"),
            *experts("expert_width"),
            *TWO_NORMS,
        ),
        {"num_experts": 128, "num_experts_per_tok": 8, "moe_intermediate_size": 768},
        per_token="experts_per_token*expert_width",
    ),
    "deepseek_v2": DEEPSEEK,
    "deepseek_v3": DEEPSEEK,
    "glm4_moe": Family(
        (
            *ENDS,
            *attention("attention_bias"),
            *(weight._replace(when="use_qk_norm") for weight in HEAD_NORMS),
            *gated(times="dense_layers"),
            *experts("expert_width", float32=True),
            *gated("shared_experts*expert_width", at="mlp.shared_experts", times="moe_layers"),
            *TWO_NORMS,
        ),
        {
            "n_routed_experts": 128,
            "n_shared_experts": 1,
            "num_experts_per_tok": 8,
            "first_k_dense_replace": 1,
        },
        per_token="experts_per_token*expert_width+shared_experts*expert_width",
    ),
    "gpt_oss": Family(
        (
            *ENDS,
            *attention("attention_bias", "attention_bias"),
            Weight("model.layers.*.self_attn.sinks", "heads", role="other"),
            *experts("intermediate", "router", "yes"),
            *TWO_NORMS,
        ),
        {"head_dim": 64, "attention_bias": True, "num_local_experts": 128, "num_experts_per_tok": 4},
        per_token="experts_per_token*intermediate",
    ),
}
