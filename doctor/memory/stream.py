"""What a trace tells of the life of every storage."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from doctor.fact import Fact

Phase = Literal["load", "forward", "backward", "optimizer"]


class Birth(Fact, frozen=True, kw_only=True, array_like=True):
    """One storage: its size, whose it is, and what made it."""

    size_bytes: int
    part: str  # of estimate.PARTS; "overhead" is a kernel's own temporary
    operation: int  # index in Stream.operations
    module: int  # index in Stream.modules
    layer_bytes: int = 0  # how much larger it is for each further layer, as one for all weights at once


class Segment(Fact, frozen=True, kw_only=True, array_like=True):
    """A stretch of time within one phase and one layer of the traced model (None outside of its layers).

    ``events`` are indices into ``Stream.births``: the first time one is met it is allocated, the second time
    freed. -1 is torch.cuda.empty_cache().
    """

    phase: Phase
    step: int
    layer: int | None
    events: tuple[int, ...]


class Stream(Fact, frozen=True, kw_only=True):
    """A trace of ``traced_layers`` layers of a model that has ``layers``."""

    traced_layers: int
    layers: int
    births: tuple[Birth, ...]
    segments: tuple[Segment, ...]
    operations: tuple[str, ...]
    modules: tuple[str, ...]
    trainable_parameters: int  # of the traced layers alone, and so the next
    total_parameters: int
    layer_trainable_parameters: int = 0  # of the layer that is repeated
    layer_total_parameters: int = 0
    versions: Mapping[str, str] = {}  # of the libraries that were traced
    notes: tuple[str, ...] = ()


class NotRepeating(ValueError):
    """The traced layers do not all do the same: no copy of one stands for others, and all must be traced."""
