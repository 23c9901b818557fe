"""A model of which only the number of parameters is known: what models of that size are like."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from math import log
from statistics import median
from typing import Any

import msgspec

from doctor.memory.plan import Plan
from doctor.memory.shapes import ModelShape
from doctor.memory.statics import weights_bytes
from doctor.readers.model_config import ConfigInvalid, shape_of

STATED = re.compile(r"\s*(\d+(?:\.\d+)?(?:e\d{1,2})?)\s*([kmbt])?\s*", re.IGNORECASE)
UNITS = {"k": 1e3, "m": 1e6, "b": 1e9, "t": 1e12}
SMALLEST, LARGEST = 100e6, 1e12  # below lies no language model that is tuned, beyond none that is dense
LIKE = 5  # models of nearly the size, of which each dimension is the median
NOMINAL = re.compile(r"-(\d+(?:\.\d+)?)([mb])(?=-|$)")


def of_parameters(text: str) -> ModelShape:
    """A dense model with so many parameters, "7B" or "350M", built like Llama.

    Each dimension is the median of the listed dense models nearest in size, the number of layers what then
    comes nearest to the number asked for. ``error`` is how far those models lie from this one, in NF4 with
    embeddings and head in 16 bits, and from what their own names say. Raises ConfigInvalid.
    """
    wanted = _number(text)
    like = _nearest(wanted)
    config = _config(like, wanted)
    shape = shape_of(config, text.strip(), "parameters")
    told = (
        f"Only the number of parameters is known: a model like {', '.join(model.name for model in like)}, "
        f"with {shape.layers} layers of {shape.hidden} and {shape.vocab} words.",
    )
    return msgspec.structs.replace(shape, error=_spread(shape, like), notes=told)


def _number(text: str) -> float:
    found = STATED.fullmatch(text)
    number = float(found[1]) * UNITS.get((found[2] or "").lower(), 1) if found else 0.0
    if not SMALLEST <= number <= LARGEST:
        raise ConfigInvalid(
            f"{text[:40]!r} is no number of parameters", "From 100M to 1T, such as 7B or 350M."
        )
    return number


@cache
def _dense() -> tuple[ModelShape, ...]:
    from doctor.memory.models import config_of, rows

    shapes = [shape_of(config_of(row), name, "list") for name, row in rows().items()]
    text = [shape for shape in shapes if not shape.experts and not _sees(shape)]
    return tuple(sorted(text, key=lambda shape: shape.parameters))


def _sees(shape: ModelShape) -> bool:
    return any(matrix.role == "vision" for matrix in shape.matrices)


def _nearest(wanted: float) -> list[ModelShape]:
    """Models nearest in size, on a scale of ratios; of one shape only the first."""
    ordered = sorted(_dense(), key=lambda shape: abs(log(shape.parameters / wanted)))
    found: dict[tuple[int, ...], ModelShape] = {}
    for shape in ordered:
        found.setdefault((shape.hidden, shape.layers, shape.vocab, shape.kv_heads), shape)
    return list(found.values())[:LIKE]


def _config(like: Sequence[ModelShape], wanted: float) -> dict[str, Any]:
    head_dim = _middle([shape.head_dim for shape in like], 16)
    scale = (wanted / median(shape.parameters for shape in like)) ** (
        1 / 3
    )  # beyond the list: wider and deeper
    hidden = max(round(_middle([shape.hidden for shape in like], 1) * scale / head_dim), 1) * head_dim
    shared = _middle([shape.heads // shape.kv_heads for shape in like], 1)
    heads = max(hidden // head_dim // shared, 1) * shared
    config: dict[str, Any] = {
        "model_type": "llama",
        "architectures": ["LlamaForCausalLM"],
        "hidden_size": hidden,
        "num_attention_heads": heads,
        "num_key_value_heads": heads // shared,
        "head_dim": head_dim,
        "intermediate_size": _middle(
            [round(shape.intermediate / shape.hidden * hidden) for shape in like], 128
        ),
        "vocab_size": _middle([shape.vocab for shape in like], 64),
        "tie_word_embeddings": 2 * sum(shape.tied for shape in like) > len(like),
        "max_position_embeddings": 131072,
        "hidden_act": "silu",
    }
    one = shape_of({**config, "num_hidden_layers": 1}, "one layer").parameters
    two = shape_of({**config, "num_hidden_layers": 2}, "two layers").parameters
    return {**config, "num_hidden_layers": max(round((wanted - one) / (two - one)) + 1, 1)}


def _middle(values: Sequence[int], step: int) -> int:
    return max(round(median(values) / step), 1) * step


def _spread(shape: ModelShape, like: Sequence[ModelShape]) -> float:
    plan = Plan(method="qlora", kbit_upcast=False)
    own = weights_bytes(shape, plan) / shape.parameters
    by_bytes = [abs(weights_bytes(model, plan) / model.parameters / own - 1) for model in like]
    by_name = [abs(model.parameters / nominal - 1) for model in like if (nominal := _nominal(model.name))]
    return round(max(by_bytes) + max(by_name, default=0.0), 3)


def _nominal(name: str) -> float:
    found = NOMINAL.search(name)
    return float(found[1]) * UNITS[found[2]] if found else 0.0
