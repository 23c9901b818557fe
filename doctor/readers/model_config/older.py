"""Architectures of the years before Llama, which name their matrices each in its own way."""

from __future__ import annotations

from collections.abc import Mapping

from doctor.readers.model_config.families import EMBEDDING, FINAL_NORM, HEAD, TWO_NORMS, attention
from doctor.readers.model_config.weights import Family, Weight


def norm(path: str, times: str = "layers", when: str = "yes", width: str = "hidden") -> Weight:
    """A LayerNorm: a weight and a bias."""
    return Weight(path, width, times=times, bias="yes", role="norm", when=when)


def plain(at: str, up: str, down: str, bias: str = "yes", derived: bool = False) -> tuple[Weight, Weight]:
    """A feed-forward of two matrices."""
    return (
        Weight(at + up, "intermediate", "hidden", bias=bias, derived=derived),
        Weight(at + down, "hidden", "intermediate", bias=bias, derived=derived),
    )


def together(
    at: str, bias: str = "yes", rows: str = "3*heads*head_dim", derived: bool = False
) -> tuple[Weight, Weight]:
    """Queries, keys and values in one matrix, and the output."""
    return (
        Weight(at + "query_key_value", rows, "hidden", bias=bias, derived=derived),
        Weight(at + "dense", "hidden", "heads*head_dim", bias=bias, derived=derived),
    )


TIED = {"tie_word_embeddings": True}
LAYERS, GLM_LAYERS = "transformer.h.*.", "transformer.encoder.layers.*."
WORDS = Weight("transformer.word_embeddings", "vocab", "hidden", "1", role="embedding")
FOURFOLD = {"intermediate": "4*hidden"}
GPT2 = Family(
    (
        Weight("transformer.wte", "vocab", "hidden", "1", role="embedding"),
        Weight("transformer.wpe", "positions", "hidden", "1", role="embedding"),
        norm(LAYERS + "ln_1"),
        Weight(LAYERS + "attn.c_attn", "3*hidden", "hidden", bias="yes"),
        Weight(LAYERS + "attn.c_proj", "hidden", "hidden", bias="yes"),
        norm(LAYERS + "ln_2"),
        *plain(LAYERS + "mlp.", "c_fc", "c_proj"),
        norm("transformer.ln_f", "1"),
        HEAD,
    ),
    {**TIED, "n_positions": 1024, "vocab_size": 50257},
    FOURFOLD,
)
GPT_NEOX = Family(
    (
        Weight("gpt_neox.embed_in", "vocab", "hidden", "1", role="embedding"),
        norm("gpt_neox.layers.*.input_layernorm"),
        norm("gpt_neox.layers.*.post_attention_layernorm"),
        *together("gpt_neox.layers.*.attention.", "attention_bias"),
        *plain("gpt_neox.layers.*.mlp.", "dense_h_to_4h", "dense_4h_to_h"),
        norm("gpt_neox.final_layer_norm", "1"),
        HEAD,  # embed_out in transformers 4
    ),
    {"attention_bias": True},
)
BLOOM = Family(
    (
        WORDS,
        norm("transformer.word_embeddings_layernorm", "1"),
        norm(LAYERS + "input_layernorm"),
        norm(LAYERS + "post_attention_layernorm"),
        *together(LAYERS + "self_attention."),
        *plain(LAYERS + "mlp.", "dense_h_to_4h", "dense_4h_to_h"),
        norm("transformer.ln_f", "1"),
        HEAD,
    ),
    TIED,
    FOURFOLD,
)
FALCON = Family(
    (
        WORDS,
        *together(LAYERS + "self_attention.", "bias", "heads*head_dim+2*kv_heads*head_dim", derived=True),
        *plain(LAYERS + "mlp.", "dense_h_to_4h", "dense_4h_to_h", "bias", derived=True),
        norm(LAYERS + "ln_attn", when="new_decoder_architecture"),
        norm(LAYERS + "ln_mlp", when="new_decoder_architecture"),
        norm(LAYERS + "input_layernorm", when="!new_decoder_architecture"),
        norm(LAYERS + "post_attention_layernorm", when="serial"),
        norm("transformer.ln_f", "1"),
        HEAD,
    ),
    {**TIED, "multi_query": True, "parallel_attn": True, "vocab_size": 65024},
    FOURFOLD,
)
OPT = Family(
    (
        Weight("model.decoder.embed_tokens", "vocab", "word_embedding", "1", role="embedding"),
        # OPT counts positions from 2: modeling_opt.py, OPTLearnedPositionalEmbedding
        Weight("model.decoder.embed_positions", "positions+2", "hidden", "1", role="embedding"),
        Weight("model.decoder.project_in", "hidden", "word_embedding", "1", when="projected"),
        Weight("model.decoder.project_out", "word_embedding", "hidden", "1", when="projected"),
        *(
            Weight(f"model.decoder.layers.*.self_attn.{name}", "hidden", "hidden", bias="enable_bias")
            for name in ("q_proj", "k_proj", "v_proj", "out_proj")
        ),
        norm("model.decoder.layers.*.self_attn_layer_norm"),
        *plain("model.decoder.layers.*.", "fc1", "fc2", "enable_bias"),
        norm("model.decoder.layers.*.final_layer_norm"),
        norm("model.decoder.final_layer_norm", "1", when="do_layer_norm_before"),
        Weight("lm_head", "vocab", "word_embedding", "1", role="head", when="!tied"),
    ),
    {**TIED, "enable_bias": True, "do_layer_norm_before": True},
    {"word_embedding": "hidden"},
)
PHI = Family(
    (
        EMBEDDING,
        *attention("yes", "yes", "dense"),
        norm("model.layers.*.self_attn.q_layernorm", when="qk_layernorm", width="head_dim"),
        norm("model.layers.*.self_attn.k_layernorm", when="qk_layernorm", width="head_dim"),
        *plain("model.layers.*.mlp.", "fc1", "fc2"),
        norm("model.layers.*.input_layernorm"),
        norm("model.final_layernorm", "1"),
        HEAD._replace(bias="yes"),
    )
)
STARCODER2 = Family(
    (
        EMBEDDING,
        *attention("use_bias", "use_bias"),
        *plain("model.layers.*.mlp.", "c_fc", "c_proj", "use_bias"),
        *(weight._replace(bias="yes") for weight in (*TWO_NORMS, FINAL_NORM)),
        HEAD,
    ),
    {**TIED, "use_bias": True},
)
CHATGLM = Family(  # the code of ChatGLM2, ChatGLM3 and GLM-4 in their own repositories: modeling_chatglm.py
    (
        Weight("transformer.embedding.word_embeddings", "vocab", "hidden", "1", role="embedding"),
        Weight(GLM_LAYERS + "input_layernorm", "hidden", role="norm"),
        Weight(
            GLM_LAYERS + "self_attention.query_key_value",
            "heads*head_dim+2*kv_heads*head_dim",
            "hidden",
            bias="add_qkv_bias",
        ),
        Weight(GLM_LAYERS + "self_attention.dense", "hidden", "heads*head_dim", bias="add_bias_linear"),
        Weight(GLM_LAYERS + "post_attention_layernorm", "hidden", role="norm"),
        Weight(GLM_LAYERS + "mlp.dense_h_to_4h", "2*intermediate", "hidden", bias="add_bias_linear"),
        Weight(GLM_LAYERS + "mlp.dense_4h_to_h", "hidden", "intermediate", bias="add_bias_linear"),
        Weight("transformer.encoder.final_layernorm", "hidden", times="1", role="norm"),
        Weight("transformer.output_layer", "vocab", "hidden", "1", role="head"),
    )
)

OLDER: Mapping[str, Family] = {
    "gpt2": GPT2,
    "gpt_neox": GPT_NEOX,
    "bloom": BLOOM,
    "chatglm": CHATGLM,
    "falcon": FALCON,
    "opt": OPT,
    "phi": PHI,
    "starcoder2": STARCODER2,
}
