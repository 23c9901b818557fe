"""Which of the user's pins stand in the way of a set, and what there would be without them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from packaging.requirements import Requirement

from doctor.matrix.machine import Machine
from doctor.matrix.resolver.solving import Conflict, Solution, solve


def blame(
    wanted: Sequence[Requirement], machine: Machine, *, extra_packages: Sequence[str]
) -> tuple[Conflict, tuple[str, ...]]:
    """Why there is no set: the reasons for the fewest pins that conflict, and what dropping each gives."""

    def outcome(pins: Sequence[Requirement]) -> Solution | Conflict:
        return solve(pins, machine, extra_packages=extra_packages, use_rows=True)

    core = list(wanted)
    for pin in wanted:
        rest = [one for one in core if one is not pin]
        if isinstance(outcome(rest), Conflict):
            core = rest
    conflict = outcome(core)
    assert isinstance(conflict, Conflict)
    return conflict, tuple(ways_out(core, wanted, outcome))


def ways_out(core: list[Requirement], wanted: Sequence[Requirement], outcome: object) -> Iterator[str]:
    """What each pin costs."""
    assert callable(outcome)
    for pin in core:
        found = outcome([one for one in wanted if one is not pin])
        if isinstance(found, Solution):
            other = found.pins.get(pin.name)
            instead = f", with {pin.name} {other}" if other else ""
            yield f"drop {pin}: then there is a set{instead}"
