"""What one measured run showed, and what it says of the prediction beside it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from doctor.fact import Fact
from doctor.memory.estimate import Estimate
from doctor.memory.plan import Plan

Outcome = Literal["ok", "out-of-memory", "failed", "hung"]
PHASES = ("load", "forward", "backward", "optimizer")


class Phase(Fact, frozen=True, kw_only=True):
    """The peaks of one phase over both steps, in bytes; None of what this device does not tell.

    On a GPU they are torch's own counters. On the CPU ``allocated_bytes`` is the size of the storages that
    live at once, ``reserved_bytes`` what the process holds of the system's memory beyond its libraries, and
    ``device_bytes`` all that it holds.
    """

    allocated_bytes: int
    alive_bytes: int  # what still lives where the phase ends, at its highest
    reserved_bytes: int | None = None
    device_bytes: int | None = None  # in use on the device, by whoever uses it
    saved_bytes: int | None = None  # what autograd saved for the backward; the CPU alone tells
    seconds: float = 0.0


class Measurement(Fact, frozen=True, kw_only=True):
    """Two steps of a plan on a real device. Phases that were not reached are absent."""

    plan: Plan
    kind: Literal["cuda", "cpu"]
    device: str  # "NVIDIA H200"; "cpu"
    outcome: Outcome
    phases: Mapping[str, Phase] = {}
    reason: str = ""  # why it is not "ok", in the words of what failed
    died_in: str = ""  # the phase in which it ended; "" before the first and of a run that is ok
    step: int = 0  # in which it ended
    frames: tuple[str, ...] = ()
    context_bytes: int | None = None  # before the first tensor; None where others' share is not known
    weights_bytes: int = 0
    adapter_bytes: int = 0
    optimizer_bytes: int = 0
    trainable_parameters: int = 0
    versions: Mapping[str, str] = {}
    driver: str = ""
    random: tuple[str, ...] = ()  # what was made up: "weights", "tokens"
    notes: tuple[str, ...] = ()
    seconds: float = 0.0

    @property
    def peak_allocated_bytes(self) -> int:
        """Of all phases that were reached."""
        return max((phase.allocated_bytes for phase in self.phases.values()), default=0)

    @property
    def peak_reserved_bytes(self) -> int:
        """Of all phases that were reached; 0 where nothing was told."""
        return max((phase.reserved_bytes or 0 for phase in self.phases.values()), default=0)

    @property
    def peak_bytes(self) -> int:
        """What the device had to have free, as ``Estimate.peak_bytes``."""
        return self.peak_reserved_bytes + (self.context_bytes or 0)


class Difference(Fact, frozen=True, kw_only=True):
    """A measured number beside the predicted one."""

    name: str  # a phase, "reserved", "context", "weights", "trainable parameters"
    measured: int
    predicted: int

    @property
    def relative(self) -> float:
        """Of the prediction against what was measured: -0.02 where 2 % were missed."""
        return self.predicted / self.measured - 1 if self.measured else 0.0


class Measured(Fact, frozen=True, kw_only=True):
    """A measurement beside its prediction, as it is told."""

    measurement: Measurement
    differences: tuple[Difference, ...] = ()
    notes: tuple[str, ...] = ()


def differences(measurement: Measurement, estimate: Estimate) -> tuple[Difference, ...]:
    """The measurement held against its prediction: peaks by phase, then what is known beyond them.

    A phase that was not measured, or that this tier does not predict, is left out.
    """
    rows = [
        (name, measurement.phases[name].allocated_bytes, estimate.phases[name])
        for name in PHASES
        if name in measurement.phases and name in estimate.phases
    ]
    if measurement.outcome == "ok":
        rows += [
            ("allocated", measurement.peak_allocated_bytes, estimate.peak_allocated_bytes),
            *_beyond(measurement, estimate),
            ("weights", measurement.weights_bytes, _part(estimate, "weights")),
            ("adapter", measurement.adapter_bytes, _part(estimate, "adapter")),
            ("optimizer states", measurement.optimizer_bytes, _part(estimate, "optimizer")),
            ("trainable parameters", measurement.trainable_parameters, estimate.trainable_parameters),
        ]
    return tuple(
        Difference(name=name, measured=measured, predicted=predicted)
        for name, measured, predicted in rows
        if measured
    )


def _beyond(measurement: Measurement, estimate: Estimate) -> list[tuple[str, int, int]]:
    """What no tensor takes. A prediction is one of CUDA's allocator, which says nothing of the CPU's heap."""
    if measurement.kind == "cpu":
        return []
    return [
        ("reserved", measurement.peak_reserved_bytes, estimate.peak_reserved_bytes),
        ("context", measurement.context_bytes or 0, estimate.context_bytes),
    ]


def _part(estimate: Estimate, name: str) -> int:
    part = estimate.parts.get(name)
    return part.amount_bytes if part else 0
