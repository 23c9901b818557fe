"""What is to be said of a config besides its sizes, and what is refused as no model's config at all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from doctor.memory.shapes import ModelShape
from doctor.readers.model_config.document import ConfigInvalid

FUSED = (
    "transformers 5 keeps the experts of a layer in one tensor, which bitsandbytes does not quantise: QLoRA "
    "leaves them in 16 bits. transformers 4 has them as linear layers, which it does quantise."
)
IN_FOUR_BITS = ("gptq", "awq")


def refuse_others(config: Mapping[str, Any], name: str) -> None:
    """Raise ConfigInvalid for a config of something else than a model."""
    if "peft_type" in config:
        base = config.get("base_model_name_or_path")
        raise ConfigInvalid(
            f"{name} describes an adapter, no model",
            f"Give its base model, {base}, and the adapter in the plan."
            if isinstance(base, str) and base
            else "Give the config.json of its base model.",
        )
    if "model_type" not in config and "_class_name" in config:
        raise ConfigInvalid(f"{name} describes a pipeline of diffusers, no language model")
    if "model_type" not in config and "tokenizer_class" in config and "architectures" not in config:
        raise ConfigInvalid(f"{name} describes a tokenizer", "Give the config.json beside it.")


def quantisation(config: Mapping[str, Any]) -> str:
    """How the files hold the weights, in the config's own word; "" for plain ones."""
    found = config.get("quantization_config")
    if not isinstance(found, Mapping):
        return ""
    method = found.get("quant_method")
    if found.get("load_in_4bit") is True or found.get("load_in_8bit") is True:
        return f"bitsandbytes-{4 if found.get('load_in_4bit') is True else 8}bit"
    return method if isinstance(method, str) and len(method) < 40 else "unknown"


def remarks(config: Mapping[str, Any], shape: ModelShape) -> Iterator[str]:
    """Sentences that an estimate of this model should carry."""
    if config.get("auto_map"):
        yield "The repository has code of its own (auto_map), which was not run: counted by its config alone."
    if any(matrix.fused for matrix in shape.matrices):
        yield FUSED
    if shape.quantised:
        yield quantised_as(shape.quantised)
    if any(matrix.role == "vision" for matrix in shape.matrices):
        yield _images(shape.image_tokens)


def _images(tokens: int) -> str:
    if tokens:
        return f"An image takes {tokens} tokens of the sequence; the encoder's own activations come on top."
    return (
        "The resolution of an image decides how many tokens of the sequence it takes; count them as sequence."
    )


def quantised_as(quantised: str) -> str:
    """What a form in which files hold weights means for a fine-tune."""
    if quantised == "bitsandbytes-4bit":
        return "The weights lie in NF4 or FP4 already: the plan for them is qlora."
    if quantised.endswith(IN_FOUR_BITS):
        return f"The weights are quantised already ({quantised}); counted as if they were loaded unquantised."
    return (
        f"The files hold the weights quantised ({quantised}); counted as what they are dequantised to, "
        "since training on them as they are is not known to work everywhere."
    )
