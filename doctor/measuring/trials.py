"""Trials of a search: each a measurement in a child of its own, so that the device is left clean."""

from __future__ import annotations

import msgspec

from doctor.host import Host
from doctor.measuring.limits import bound_bytes
from doctor.measuring.run import measure
from doctor.memory.bisection import GRID, Run, Trial
from doctor.memory.estimate import Device
from doctor.memory.plan import Plan
from doctor.memory.shapes import ModelShape
from doctor.target import Target

TRIAL_LIMIT_S = 300.0  # of one phase of a trial
MOST_LENGTH = 131072  # of a model whose config names no bound
LENGTHS = ("max_position_embeddings", "n_positions", "max_sequence_length", "seq_length")


def trials_of(
    host: Host, target: Target, shape: ModelShape, plan: Plan, device: Device, limit_bytes: int | None = None
) -> Run:
    """What runs one trial of a settled plan: (batch size, sequence length) to how it ended."""

    def run(batch_size: int, length: int) -> Trial:
        tried = msgspec.structs.replace(plan, batch_size=batch_size, sequence_length=length, accumulation=1)
        bound = bound_bytes(device, limit_bytes)
        seen = measure(host, target, shape, tried, device, limit_bytes=bound, phase_limit_s=TRIAL_LIMIT_S)
        return Trial(
            batch_size=batch_size,
            sequence_length=length,
            outcome=seen.outcome,
            peak_bytes=seen.peak_bytes,
            seconds=seen.seconds,
            reason=seen.reason,
        )

    return run


def most_length(shape: ModelShape) -> int:
    """The longest sequence that the model's positions allow, on the grid."""
    told = [shape.config.get(name) for name in LENGTHS]
    whole = [number for number in told if isinstance(number, int) and number >= GRID]
    return (whole[0] if whole else MOST_LENGTH) // GRID * GRID
