"""A config held against the description of its family."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from doctor.memory.shapes import Matrix, ModelShape
from doctor.readers.model_config.catalogue import FAMILIES
from doctor.readers.model_config.document import ConfigInvalid, mapping_of
from doctor.readers.model_config.numbers import numbers_of
from doctor.readers.model_config.remarks import quantisation, refuse_others, remarks
from doctor.readers.model_config.sizes import flag, stated
from doctor.readers.model_config.vision import SEEING, Seeing
from doctor.readers.model_config.weights import Family, Numbers, matrices

Source = Literal["config", "cache", "list", "parameters"]
COMMON = ("hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size", "vocab_size")
UNKNOWN = (
    "The architecture {} is not known here: counted as if it were built like Llama, whose sizes it states. "
    "A trace with the installed transformers counts it exactly."
)
TEXT_ALONE = (
    "The architecture {} is not known here: its text part, {}, is counted, and what is beside that is not. "
    "A trace with the installed transformers counts all of it."
)
# A feed-forward without a gate has two matrices of three, and three are two thirds of a model: a fifth less.
UNKNOWN_ERROR = 0.25


def read(text: str, name: str) -> ModelShape:
    """The shape that a config.json describes. Raises ConfigInvalid, which says what is wrong with it."""
    config, notes = mapping_of(text, name)
    return shape_of(config, name, notes=notes)


def shape_of(
    config: Mapping[str, Any], name: str, source: Source = "config", notes: tuple[str, ...] = ()
) -> ModelShape:
    """The same for a config that is parsed already. Raises ConfigInvalid."""
    refuse_others(config, name)
    model_type = config.get("model_type")
    if not isinstance(model_type, str) or not model_type:
        raise ConfigInvalid(f"{name} has no model_type", "Give the config.json that transformers loads.")
    seeing = SEEING.get(model_type)
    text = _text_part(config)
    family, doubt = _family(model_type, seeing, text)
    numbers = numbers_of(text, family, _tied(config, text, family))
    shape = ModelShape(
        name=name,
        config=config,
        source=source,
        model_type=model_type,
        matrices=_all(config, family, numbers, seeing),
        quantised=quantisation(config),
        image_tokens=_image_tokens(config, seeing),
        **_outline(family, numbers),
    )
    said = (*notes, *((doubt,) if doubt else ()), *remarks(config, shape))
    return msgspec.structs.replace(shape, notes=said, error=UNKNOWN_ERROR if doubt else 0.0)


def _text_part(config: Mapping[str, Any]) -> Mapping[str, Any]:
    """The config of the text part: nested in newer configs, the whole in older ones."""
    text = config.get("text_config")
    if text is None:
        return config
    if not isinstance(text, Mapping):
        raise ConfigInvalid("text_config is no object")
    return text


def _family(model_type: str, seeing: Seeing | None, text: Mapping[str, Any]) -> tuple[Family, str]:
    """The description that holds, and a sentence of doubt where it is only the likeliest."""
    known = seeing.text if seeing else model_type
    if known in FAMILIES:
        return FAMILIES[known], ""
    own = text.get("model_type")
    if isinstance(own, str) and own in FAMILIES:
        return FAMILIES[own], TEXT_ALONE.format(model_type[:60], own)
    missing = [key for key in COMMON if text.get(key) is None]
    if missing:
        raise ConfigInvalid(
            f"the architecture {model_type[:60]} is unknown here, and its config lacks {', '.join(missing)}",
            "Known are " + ", ".join(sorted({*FAMILIES, *SEEING})) + ".",
        )
    return FAMILIES["llama"], UNKNOWN.format(model_type[:60])


def _tied(config: Mapping[str, Any], text: Mapping[str, Any], family: Family) -> bool:
    """Do embedding and head share their weight? The outer config decides where it says anything."""
    default = family.defaults.get("tie_word_embeddings", False)
    return flag(config, "tie_word_embeddings", flag(text, "tie_word_embeddings", default))


def _all(
    config: Mapping[str, Any], family: Family, numbers: Numbers, seeing: Seeing | None
) -> tuple[Matrix, ...]:
    own = tuple(matrices(family.weights, numbers))
    if seeing is None:
        return own
    inside = tuple(
        msgspec.structs.replace(matrix, path=matrix.path.replace("model.", "model.language_model.", 1))
        for matrix in own
    )
    return (*_tower(config, seeing, numbers), *inside)


def _tower(config: Mapping[str, Any], seeing: Seeing, numbers: Numbers) -> tuple[Matrix, ...]:
    sight = config.get("vision_config", {})
    if not isinstance(sight, Mapping):
        raise ConfigInvalid("vision_config is no object")
    own = numbers_of(sight, seeing.tower)
    sizes = {**own.sizes, "text_hidden": numbers.of("hidden")}
    if {"image", "patch"} <= set(sizes):
        sizes["patches"] = (sizes["image"] // sizes["patch"]) ** 2
    if stated(config, "merge"):
        sizes["merge"] = stated(config, "merge", 1) or 1
    return tuple(matrices(seeing.tower.weights, Numbers(sizes, own.switches)))


def _image_tokens(config: Mapping[str, Any], seeing: Seeing | None) -> int:
    if seeing is None or not seeing.image_tokens:
        return 0
    found = config.get(seeing.image_tokens, 256)  # Gemma3Config's own default
    return found if isinstance(found, int) and 0 < found < 1 << 20 else 0


def _outline(family: Family, numbers: Numbers) -> dict[str, Any]:
    """The sizes that estimates speak of."""
    words = ("layers", "hidden", "heads", "kv_heads", "head_dim", "vocab")
    experts = numbers.sizes.get("experts", 0) if "expert" in {weight.role for weight in family.weights} else 0
    return {
        **{word: numbers.of(word) for word in words},
        "intermediate": numbers.of(family.per_token),
        "tied": numbers.on("tied"),
        "experts": experts,
        "experts_per_token": numbers.of("experts_per_token") if experts else 0,
    }
