"""Dense architectures, as transformers builds them: modeling_<model_type>.py of transformers 4.40 to 5.24."""

from __future__ import annotations

from collections.abc import Mapping

from doctor.readers.model_config.weights import Family, Weight

EMBEDDING = Weight("model.embed_tokens", "vocab", "hidden", "1", role="embedding")
HEAD = Weight("lm_head", "vocab", "hidden", "1", role="head", when="!tied")
FINAL_NORM = Weight("model.norm", "hidden", times="1", role="norm")
ENDS = (EMBEDDING, FINAL_NORM, HEAD)
TWO_NORMS = (
    Weight("model.layers.*.input_layernorm", "hidden", role="norm"),
    Weight("model.layers.*.post_attention_layernorm", "hidden", role="norm"),
)
FOUR_NORMS = (
    *TWO_NORMS,
    Weight("model.layers.*.pre_feedforward_layernorm", "hidden", role="norm"),
    Weight("model.layers.*.post_feedforward_layernorm", "hidden", role="norm"),
)
HEAD_NORMS = (
    Weight("model.layers.*.self_attn.q_norm", "head_dim", role="norm"),
    Weight("model.layers.*.self_attn.k_norm", "head_dim", role="norm"),
)


def attention(inputs: str = "", output: str = "", out: str = "o_proj") -> tuple[Weight, ...]:
    """Queries, keys, values and output, each a matrix of its own; switches of their biases."""
    inner = "model.layers.*.self_attn."
    return (
        Weight(inner + "q_proj", "heads*head_dim", "hidden", bias=inputs),
        Weight(inner + "k_proj", "kv_heads*head_dim", "hidden", bias=inputs),
        Weight(inner + "v_proj", "kv_heads*head_dim", "hidden", bias=inputs),
        Weight(inner + out, "hidden", "heads*head_dim", bias=output),
    )


def gated(
    width: str = "intermediate", bias: str = "", at: str = "mlp", times: str = "layers"
) -> tuple[Weight, ...]:
    """A gated feed-forward of three matrices."""
    inner = f"model.layers.*.{at}."
    return (
        Weight(inner + "gate_proj", width, "hidden", times, bias),
        Weight(inner + "up_proj", width, "hidden", times, bias),
        Weight(inner + "down_proj", "hidden", width, times, bias),
    )


GATED_TOGETHER = (
    Weight("model.layers.*.mlp.gate_up_proj", "2*intermediate", "hidden"),
    Weight("model.layers.*.mlp.down_proj", "hidden", "intermediate"),
)
SEPARATE = attention("attention_bias", "attention_bias")
LLAMA = Family((*ENDS, *SEPARATE, *gated(bias="mlp_bias"), *TWO_NORMS))
QWEN2 = Family((*ENDS, *attention("yes"), *gated(), *TWO_NORMS))
QWEN3 = Family((*ENDS, *SEPARATE, *HEAD_NORMS, *gated(), *TWO_NORMS), {"head_dim": 128})
TIED = {"tie_word_embeddings": True}
GEMMA = Family((*ENDS, *SEPARATE, *gated(), *TWO_NORMS), {**TIED, "head_dim": 256})
GEMMA2 = Family((*ENDS, *SEPARATE, *gated(), *FOUR_NORMS), {**TIED, "head_dim": 256})
GEMMA3 = Family(
    (*ENDS, *SEPARATE, *HEAD_NORMS, *gated(), *FOUR_NORMS),
    {
        **TIED,
        "head_dim": 256,
        "vocab_size": 262208,
        "num_attention_heads": 8,
        "num_key_value_heads": 4,
    },
)
PHI3 = Family(
    (
        *ENDS,
        Weight("model.layers.*.self_attn.qkv_proj", "heads*head_dim+2*kv_heads*head_dim", "hidden"),
        Weight("model.layers.*.self_attn.o_proj", "hidden", "heads*head_dim"),
        *GATED_TOGETHER,
        *TWO_NORMS,
    )
)
GLM = Family((*ENDS, *attention("attention_bias"), *GATED_TOGETHER, *TWO_NORMS), {"head_dim": 128})
GLM4 = Family(
    (
        *GLM.weights,
        Weight("model.layers.*.post_self_attn_layernorm", "hidden", role="norm"),
        Weight("model.layers.*.post_mlp_layernorm", "hidden", role="norm"),
    ),
    {"head_dim": 128},
)
OLMO2 = Family(
    (
        *ENDS,
        *SEPARATE,
        Weight("model.layers.*.self_attn.q_norm", "heads*head_dim", role="norm"),
        Weight("model.layers.*.self_attn.k_norm", "kv_heads*head_dim", role="norm"),
        *gated(),
        Weight("model.layers.*.post_attention_layernorm", "hidden", role="norm"),
        Weight("model.layers.*.post_feedforward_layernorm", "hidden", role="norm"),
    )
)
COHERE = Family(
    (*ENDS, *SEPARATE, *gated(), Weight("model.layers.*.input_layernorm", "hidden", role="norm")),
    TIED,
)
OLMO = Family((EMBEDDING, HEAD, *SEPARATE, *gated()))  # its norms have no weights
EXAONE4 = Family((*ENDS, *attention(), *HEAD_NORMS, *gated(), *FOUR_NORMS[1::2]))
SEED_OSS = Family(
    (*ENDS, *attention("attention_bias", "attention_out_bias"), *gated(bias="mlp_bias"), *TWO_NORMS),
    {"attention_bias": True, "head_dim": 128},
)
ERNIE = Family((*ENDS, *attention("use_bias", "use_bias"), *gated(bias="use_bias"), *TWO_NORMS), TIED)
HUNYUAN = Family(
    (
        *ENDS,
        *SEPARATE,
        Weight("model.layers.*.self_attn.query_layernorm", "head_dim", role="norm"),
        Weight("model.layers.*.self_attn.key_layernorm", "head_dim", role="norm"),
        *gated(),
        *TWO_NORMS,
    )
)
STABLELM = Family(
    (
        EMBEDDING,
        *attention("use_qkv_bias"),
        *gated(),
        *(weight._replace(bias="yes") for weight in (*TWO_NORMS, FINAL_NORM)),
        HEAD,
    )
)

DENSE: Mapping[str, Family] = {
    "llama": LLAMA,
    "Yi": LLAMA,  # the repositories' own code, before Yi took up Llama's
    "mistral": Family((*ENDS, *attention(), *gated(), *TWO_NORMS), {"num_key_value_heads": 8}),
    "qwen2": QWEN2,
    "qwen3": QWEN3,
    "gemma": GEMMA,
    "gemma2": GEMMA2,
    "gemma3_text": GEMMA3,
    "phi3": PHI3,
    "glm": GLM,
    "glm4": GLM4,
    "olmo2": OLMO2,
    "granite": LLAMA,
    "smollm3": Family(LLAMA.weights, TIED),
    "cohere": COHERE,
    "cohere2": COHERE,
    "olmo": OLMO,
    "exaone4": EXAONE4,
    "seed_oss": SEED_OSS,
    "ernie4_5": ERNIE,
    "hunyuan_v1_dense": HUNYUAN,
    "stablelm": STABLELM,
    "ministral": Family((*ENDS, *attention(), *gated(), *TWO_NORMS)),
}
