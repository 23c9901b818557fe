"""Candidate peaks of a trace: what is alive at each local maximum, in terms."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from doctor.memory.stream import Stream

from .symbols import Form, Symbols, UnknownSize

COUNTED_EXACTLY = {"weights", "adapter", "optimizer"}
WORKSPACE = "workspace"  # in the name of the operation: constants of the GPU, which the table of kernels has
Amount = tuple[str, str, bool]  # part, term, whether each repeated layer has it


class Alive(NamedTuple):
    """What is alive at one moment beside what ``statics`` counts."""

    phase: str
    layer: int | None
    operation: str
    amounts: dict[Amount, float]  # bytes of one term


def highs(stream: Stream, symbols: Symbols) -> Iterator[Alive]:
    """The local maxima of the last step, in the first layer, in the last and outside of the layers.

    Between them a layer stands for all that are left. What it hands to the next one is alive once, not once a
    layer, so the layer that stands for them is no neighbour of one that is looked at: the one before the last
    two in forward, the one before the last in backward.
    """
    depth = stream.traced_layers
    standing = {("forward", depth - 3), ("backward", depth - 2)}
    last = max(segment.step for segment in stream.segments)
    forms: dict[int, Form] = {}
    alive: dict[Amount, float] = {}
    is_repeated: dict[int, bool] = {}  # of those that are there
    rising: Alive | None = None
    for segment in stream.segments:
        seen = segment.step == last and segment.layer in (None, 0, depth - 1)
        runs = segment.phase in ("forward", "backward")  # loading and the optimizer have rules of their own
        for event in segment.events:
            if event in is_repeated:
                if rising is not None:
                    yield rising
                    rising = None
                change(alive, stream.births[event].part, forms[event], is_repeated.pop(event), -1)
                continue
            birth = stream.births[event]
            operation = stream.operations[birth.operation]
            if not runs or birth.part in COUNTED_EXACTLY or WORKSPACE in operation:
                continue
            is_repeated[event] = (segment.phase, segment.layer) in standing
            forms[event] = form_of(stream, event, symbols)
            change(alive, birth.part, forms[event], is_repeated[event], 1)
            rising = Alive(segment.phase, segment.layer, operation, dict(alive)) if seen else None


def form_of(stream: Stream, event: int, symbols: Symbols) -> Form:
    """The terms of one storage, or an error that names what made it."""
    birth = stream.births[event]
    try:
        return symbols.form(birth.size_bytes)
    except UnknownSize as unknown:
        made = f"{stream.operations[birth.operation]} in {stream.modules[birth.module] or 'no module'}"
        raise UnknownSize(f"{birth.size_bytes} bytes of {made} ({birth.part}) are no term") from unknown


def change(alive: dict[Amount, float], part: str, form: Form, is_repeated: bool, sign: int) -> None:
    """Add a storage to what is alive, or take it off."""
    for term, size in form.items():
        amount = (part, term, is_repeated)
        alive[amount] = alive.get(amount, 0.0) + sign * size
        if not alive[amount]:
            del alive[amount]


def window(moment: Alive) -> tuple[str, bool]:
    """The stretch of time to which a moment belongs: a phase, and whether a layer runs."""
    return moment.phase, moment.layer is not None
