"""The next smaller model of a family, from the list that is shipped."""

from __future__ import annotations

from doctor.memory import models
from doctor.memory.shapes import ModelShape

CLEARLY = 0.8  # of the parameters: less of a difference saves nothing
SAME_TOKENIZER = 0.01  # by how much vocabularies of one family differ, which are padded to round sizes


def next_smaller(shape: ModelShape) -> ModelShape | None:
    """The largest clearly smaller model of the same architecture and vocabulary; those of its name first."""
    kind = shape.model_type
    same = [name for name, row in models.rows().items() if row["config"]["model_type"] == kind]
    family = [other for name in same if (other := models.listed(name)) and _shares_vocabulary(shape, other)]
    smaller = [other for other in family if other.parameters < CLEARLY * shape.parameters]
    return max(smaller, key=lambda other: (_shared_name(shape, other), other.parameters), default=None)


def _shares_vocabulary(shape: ModelShape, other: ModelShape) -> bool:
    return abs(other.vocab - shape.vocab) <= SAME_TOKENIZER * shape.vocab


def _shared_name(shape: ModelShape, other: ModelShape) -> int:
    """How many letters of "qwen2.5", of "qwen2.5-7b", the model's own name has as well: all or none."""
    family = models.normalised(other.name.rpartition("-")[0])
    return len(family) if family in models.normalised(shape.name) else 0
