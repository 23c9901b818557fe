"""The coefficients of the formula tier: what is alive at the moments that may be the highest.

One file a family, ``compat_matrix/memory/FAMILY.json``, written by ``scripts/derive_memory_formula.py`` from
traces of the family's own model class. An amount is a sum of terms as "39th 19ti": 39 bytes for each token
and hidden channel, and so on; the letters are in :class:`Letters`.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Mapping
from functools import cache
from math import prod
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec

import compat_matrix
from doctor.memory.formula_kinds import Kind
from doctor.memory.shapes import ModelShape

FOLDER = Path(compat_matrix.__file__).parent / "memory"
# Added to the error for a model whose family was not traced, and for a plan whose kind was not: about as far
# as those that were traced lie apart.
NEAREST, NEAREST_MIXTURE = "llama", "mixtral"
OTHER_FAMILY, OTHER_KIND = 0.15, 0.05
Part = Literal["activations", "logits", "gradients", "overhead"]
Amounts = dict[Part, str]


class Letters(msgspec.Struct, frozen=True, kw_only=True):
    """What the letters of a term stand for."""

    t: int  # tokens of a micro-batch
    s: int  # tokens of a sequence
    b: int  # sequences
    h: int  # hidden size
    q: int  # width of the queries of all heads
    k: int  # width of the keys of all heads
    n: int  # heads
    j: int  # heads of keys
    d: int  # width of a head
    i: int  # intermediate size, of all experts that a token takes
    v: int  # vocabulary
    r: int  # rank
    e: int  # experts
    x: int  # experts of a token
    w: int  # intermediate size of one expert


class Moment(msgspec.Struct, frozen=True, array_like=True):
    """What is alive at a moment, beside weights, adapter and states of the optimizer."""

    phase: Literal["forward", "backward"]
    layer: Literal["first", "last", ""]  # that runs; "" outside of the layers, about the loss
    operation: str
    once: Amounts
    each: Amounts  # for each layer but three


class Family(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What one file holds."""

    traced: datetime.date
    versions: Mapping[str, str]
    model_types: tuple[str, ...]  # that run the same operations; the first was traced
    # Of peaks of models and plans that were not derived from: how far they are from those of the trace.
    plans: int = 0
    median: float = 0.0
    error: float = 0.0  # the largest
    between: float = 0.0  # the largest of plans whose targets count as a larger set of those that were traced
    kinds: Mapping[str, tuple[Moment, ...]] = {}


TERM = re.compile(r"([0-9.]+)([a-z]*)")


def amount_bytes(text: str, letters: Letters) -> float:
    """The value of "39th 19ti"."""
    terms = (
        float(size) * prod(getattr(letters, letter) for letter in term) for size, term in TERM.findall(text)
    )
    return float(sum(terms))


@cache
def family(name: str) -> Family:
    """The coefficients of one family."""
    return msgspec.json.decode((FOLDER / f"{name}.json").read_bytes(), type=Family)


class Coefficients(NamedTuple):
    """The moments of one kind, and how far they may be off."""

    moments: tuple[Moment, ...]
    error: float
    notes: tuple[str, ...]


def coefficients(shape: ModelShape, kind: Kind, *, is_traced_set: bool) -> Coefficients:
    """Those of the model's family and of the kind, or of what is nearest to them."""
    own, notes = family_of(shape.model_type), []
    if not is_traced_set:
        notes.append("this set of target modules counts as the next larger one of those that were traced")
    for name in dict.fromkeys((own or (NEAREST_MIXTURE if shape.experts else NEAREST), NEAREST)):
        known = family(name)
        # A family that few plans were drawn of is taken to be no better than the one of which most were.
        errors = [(one.error, one.between) for one in (known, family(NEAREST))]
        error = max(pair[0] if is_traced_set else max(pair) for pair in errors)
        for nearest, missing in kind.nearest():
            if nearest.key not in known.kinds:
                continue
            if name != own:
                error += OTHER_FAMILY
                what = shape.model_type or "this model"
                notes.append(f"no formula was derived for {what} and such a plan: that of {name} stands in")
            if missing:
                error += OTHER_KIND
                notes.append(f"the formula leaves out {missing}")
            return Coefficients(known.kinds[nearest.key], error, tuple(notes))
    raise LookupError(f"no kind is near {kind.key}")


@cache
def index() -> Mapping[str, str]:
    """The family of each model type."""
    return msgspec.json.decode((FOLDER / "families.json").read_bytes(), type=dict[str, str])


def family_of(model_type: str) -> str | None:
    """The family that runs the operations of a model type, None where none was traced."""
    return index().get(model_type)
