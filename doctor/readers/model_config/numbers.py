"""The sizes and switches of one config, given or derived, and held against each other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from doctor.readers.model_config.document import ConfigInvalid
from doctor.readers.model_config.sizes import KEYS, flag, stated
from doctor.readers.model_config.weights import Family, Numbers


def numbers_of(config: Mapping[str, Any], family: Family, tied: bool | None = None) -> Numbers:
    """What the words of a family stand for in a config of its own. Raises ConfigInvalid.

    ``tied`` is what the config around a nested one says of the head.
    """
    switches = dict(_switches(config, family))
    if tied is not None:
        switches["tied"] = tied
    sizes = dict(_stated(config, family))
    _falcon_heads(config, sizes, switches)
    _derive(sizes, family)
    marked = config.get("deepstack_visual_indexes")
    sizes["deepstack"] = len(marked) if isinstance(marked, list) else 0
    switches["q_lora"] = "q_lora_rank" in sizes
    switches["projected"] = sizes.get("word_embedding") != sizes.get("hidden")
    if "layers" in sizes:
        sizes["moe_layers"] = sum(_sparse(config, index) for index in range(sizes["layers"]))
        sizes["dense_layers"] = sizes["layers"] - sizes["moe_layers"]
    return Numbers(sizes, switches)


def _stated(config: Mapping[str, Any], family: Family) -> Iterator[tuple[str, int]]:
    for word, keys in KEYS.items():
        default = next((family.defaults[key] for key in keys if key in family.defaults), None)
        asked = any(key in config for key in keys)  # null is an answer: transformers then takes no default
        size = stated(config, word, None if asked else default)
        if size is not None:
            yield word, size


def _switches(config: Mapping[str, Any], family: Family) -> Iterator[tuple[str, bool]]:
    named = {switch.lstrip("!") for weight in family.weights for switch in (weight.bias, weight.when)}
    for key in named | {"multi_query", "parallel_attn", "new_decoder_architecture"} - {"", "yes", "tied"}:
        yield key, flag(config, key, family.defaults.get(key, False))
    yield "tied", flag(config, "tie_word_embeddings", family.defaults.get("tie_word_embeddings", False))


def _falcon_heads(config: Mapping[str, Any], sizes: dict[str, int], switches: dict[str, bool]) -> None:
    """Falcon shares one head of keys unless it is of the new architecture, whatever num_kv_heads says."""
    switches["serial"] = not switches["parallel_attn"] and not switches["new_decoder_architecture"]
    if config.get("model_type") == "falcon" and not switches["new_decoder_architecture"]:
        sizes.pop("kv_heads", None)
        if switches["multi_query"]:
            sizes["kv_heads"] = 1


def _derive(sizes: dict[str, int], family: Family) -> None:
    if "heads" in sizes:
        sizes.setdefault("kv_heads", sizes["heads"])
    for word, expression in family.derived.items():
        if word not in sizes:
            sizes[word] = Numbers(sizes, {}).of(expression)
    if not {"hidden", "heads"} <= set(sizes):
        return
    if "head_dim" not in sizes:
        if sizes["hidden"] % sizes["heads"]:
            raise ConfigInvalid(
                f"{sizes['heads']} attention heads do not divide a hidden size of {sizes['hidden']}",
                "State head_dim, or correct num_attention_heads or hidden_size.",
            )
        sizes["head_dim"] = sizes["hidden"] // sizes["heads"]
    if sizes["heads"] % sizes["kv_heads"]:
        raise ConfigInvalid(
            f"{sizes['kv_heads']} key-value heads do not divide {sizes['heads']} attention heads",
            "Correct num_key_value_heads or num_attention_heads.",
        )


def _sparse(config: Mapping[str, Any], index: int) -> bool:
    """Has this layer experts? As Qwen (decoder_sparse_step, mlp_only_layers) and DeepSeek say it."""
    dense = config.get("mlp_only_layers")
    first, step = config.get("first_k_dense_replace"), config.get("decoder_sparse_step")
    if isinstance(dense, list) and index in dense:
        return False
    if isinstance(first, int) and index < first:
        return False
    return not (isinstance(step, int) and step > 0 and (index + 1) % step)
