"""What an estimate says, whichever tier it comes from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from doctor.fact import Fact
from doctor.memory.plan import Plan

Source = Literal["exact", "traced", "assumed", "measured"]
Tier = Literal["formula", "trace", "measured"]
PARTS = ("weights", "adapter", "gradients", "optimizer", "activations", "logits", "overhead")


class Part(Fact, frozen=True, kw_only=True):
    """One share of the peak, and how it is known: counted, seen in a trace, or taken from a table."""

    amount_bytes: int
    source: Source


class Moment(Fact, frozen=True, kw_only=True):
    """When the peak of what is allocated is reached."""

    phase: Literal["load", "forward", "backward", "optimizer"]
    operation: str = ""  # "aten._log_softmax_backward_data"; "" where the tier does not know
    module: str = ""  # "model.layers.3.mlp", "lm_head", "loss"


class Held(Fact, frozen=True, kw_only=True):
    """What one kind of operation made and what is alive at the peak; a "*" in ``module`` is each layer."""

    part: str
    operation: str  # "aten.mm"
    module: str  # "model.layers.*.mlp"
    count: int
    amount_bytes: int


class Estimate(Fact, frozen=True, kw_only=True):
    """The bill of one plan. ``parts`` add up to ``peak_bytes``, in the order of ``PARTS``.

    ``overhead`` is whatever is no tensor of the model's run: workspaces, what the allocator holds beyond what
    is allocated, and the context of the driver.
    """

    plan: Plan
    tier: Tier
    parts: Mapping[str, Part]
    peak_allocated_bytes: int
    peak_reserved_bytes: int
    context_bytes: int  # what CUDA takes on the device before the first tensor
    error: float  # relative, to either side of peak_bytes: 0.05
    moment: Moment
    trainable_parameters: int
    total_parameters: int  # without the adapter, as a model card counts
    # Peaks of what is allocated, by phase: {"load": ..., "forward": ..., "backward": ..., "optimizer": ...}
    phases: Mapping[str, int] = {}
    notes: tuple[str, ...] = ()  # sentences: what the estimate had to assume
    # Of a trace: phase, allocated and reserved bytes, the highest of each of some hundred stretches.
    timeline: tuple[tuple[str, int, int], ...] = ()
    largest: tuple[Held, ...] = ()  # of a trace: what holds most at the peak, the largest first
    calibrated_bytes: int = 0  # of peak_reserved_bytes: what earlier measurements on this machine added

    @property
    def peak_bytes(self) -> int:
        """What the device must have free."""
        return self.peak_reserved_bytes + self.context_bytes


Verdict = Literal["fits", "tight", "does-not-fit", "unknown"]


class Device(Fact, frozen=True, kw_only=True):
    """What a plan is held against. None where nothing tells."""

    name: str = ""  # "RTX 3060"
    compute_capability: str = ""  # "8.6"
    total_bytes: int | None = None
    free_bytes: int | None = None  # what other programs left; of a described GPU the total
    others: Mapping[str, int] = {}  # who holds the rest: {"python (pid 4711)": 3221225472}
    kind: Literal["cuda", "cpu"] = "cuda"
    driver: str = ""  # "550.54.14"
    index: int | None = None  # as the driver counts; of a GPU of this machine
