"""The sizes that a config states, by the words in which families are described."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from doctor.readers.model_config.document import ConfigInvalid

# The names by which configs call a size; the first one is transformers' own.
KEYS: Mapping[str, tuple[str, ...]] = {
    "hidden": ("hidden_size", "n_embd", "n_embed", "d_model"),
    "layers": ("num_hidden_layers", "n_layer", "num_layers", "n_layers", "depth"),
    "heads": ("num_attention_heads", "n_head", "n_heads", "num_heads"),
    "kv_heads": ("num_key_value_heads", "num_kv_heads", "multi_query_group_num"),
    "head_dim": ("head_dim", "kv_channels"),
    "intermediate": ("intermediate_size", "n_inner", "ffn_dim", "ffn_hidden_size"),
    "vocab": ("vocab_size", "padded_vocab_size"),
    "positions": ("max_position_embeddings", "n_positions", "n_ctx", "num_position_embeddings"),
    "word_embedding": ("word_embed_proj_dim",),
    "experts": ("num_local_experts", "num_experts", "n_routed_experts"),
    "experts_per_token": ("num_experts_per_tok", "num_experts_per_token"),
    "shared_experts": ("n_shared_experts",),
    "expert_width": ("moe_intermediate_size",),
    "shared_width": ("shared_expert_intermediate_size",),
    "q_lora_rank": ("q_lora_rank",),
    "kv_lora_rank": ("kv_lora_rank",),
    "qk_nope": ("qk_nope_head_dim",),
    "qk_rope": ("qk_rope_head_dim",),
    "v_head_dim": ("v_head_dim",),
    # Of image encoders.
    "width": ("embed_dim",),
    "ratio": ("mlp_ratio",),
    "out": ("out_hidden_size",),
    "channels": ("num_channels", "in_channels", "in_chans"),
    "image": ("image_size",),
    "patch": ("patch_size",),
    "patch_frames": ("temporal_patch_size",),
    "merge": ("spatial_merge_size",),
}
# A size beyond these is a mistake or a lie. The largest that are published: hidden 20480, intermediate 65536,
# 160 layers, 256 heads, 1024 experts, a vocabulary of a million words, 10 million positions.
BOUNDS: Mapping[str, int] = {"layers": 10_000, "heads": 16_384, "experts": 65_536, "positions": 1 << 30}
BOUND = 1 << 24


def stated(config: Mapping[str, Any], word: str, default: Any = None) -> int | None:
    """The size that a config states under any name of a word; the default where it states none, or null.

    Raises ConfigInvalid where what it states cannot be a size.
    """
    for key in KEYS[word]:
        if config.get(key) is not None:
            return _checked(config[key], key, BOUNDS.get(word, BOUND))
    return None if default is None else int(default)


def flag(config: Mapping[str, Any], key: str, default: bool) -> bool:
    """A switch of a config. Raises ConfigInvalid where it is neither on nor off."""
    value = config.get(key)
    if value is None:
        return default
    if not isinstance(value, bool):
        raise ConfigInvalid(f"{key} is {_short(value)}, where true or false is meant")
    return value


def _checked(value: Any, key: str, bound: int) -> int:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool):
        raise ConfigInvalid(f"{key} is {_short(value)}, where a whole number is meant")
    if value < 1:
        raise ConfigInvalid(f"{key} is {_short(value)}: a model has at least one")
    if value > bound:
        raise ConfigInvalid(f"{key} is {_short(value)}: no model comes near it, the limit here is {bound}")
    return value


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:37]}..."
