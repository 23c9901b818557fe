"""All that ``fit`` says of one plan: what the renderers tell and what JSON promises."""

from __future__ import annotations

from collections.abc import Mapping

from doctor.fact import Fact
from doctor.memory.estimate import Device, Estimate, Tier, Verdict
from doctor.memory.measured import Measured
from doctor.memory.plan import Plan
from doctor.memory.shapes import ModelShape


class Model(Fact, frozen=True, kw_only=True):
    """The model as an answer names it: its shape without the config."""

    name: str
    model_type: str = ""
    source: str
    layers: int
    hidden: int
    vocab: int
    parameters: int
    error: float = 0.0
    notes: tuple[str, ...] = ()

    @classmethod
    def of(cls, shape: ModelShape) -> Model:
        """The summary of a shape."""
        return cls(
            name=shape.name,
            model_type=shape.model_type,
            source=shape.source,
            layers=shape.layers,
            hidden=shape.hidden,
            vocab=shape.vocab,
            parameters=shape.parameters,
            error=shape.error,
            notes=shape.notes,
        )


class Saving(Fact, frozen=True, kw_only=True):
    """What a lever does to one plan. ``saves_bytes`` may be negative."""

    name: str
    title: str
    cost: str
    plan: Plan
    saves_bytes: int
    peak_bytes: int  # of the changed plan
    verdict: Verdict
    tier: Tier  # by which the difference was estimated
    noticeable: bool = True


class Best(Fact, frozen=True, kw_only=True):
    """The best plan that fits, or none and why."""

    estimate: Estimate | None
    reasons: tuple[str, ...] = ()  # what had to be given up for it, or why there is none
    nearest: Estimate | None = None  # where there is none: the smallest plan that was tried


class Cell(Fact, frozen=True, kw_only=True):
    """One point of the table; no peak and ``reason`` where none could be estimated."""

    sequence_length: int
    batch_size: int
    peak_bytes: int | None = None
    verdict: Verdict = "unknown"
    reason: str = ""


class Answer(Fact, frozen=True, kw_only=True):
    """One estimate, what it is held against, and the advice that follows."""

    model: Model
    estimate: Estimate
    device: Device
    verdict: Verdict
    searched: bool = False  # the plan is the best that was found, not one that was asked for
    tiers: Mapping[str, Verdict] = {}  # by the size of a GPU, "12 GB"; where no device is known
    advice: tuple[Saving, ...] = ()
    best: Best | None = None
    table: tuple[Cell, ...] = ()
    snippets: Mapping[str, str] = {}  # by what they are: "python", "training_arguments", "llamafactory"
    measured: Measured | None = None  # by fit --measure, beside the estimate
    notes: tuple[str, ...] = ()
