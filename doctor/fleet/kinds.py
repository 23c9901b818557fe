"""Which nodes are of one make. A partition with other GPUs is no fault, and is compared within itself."""

from __future__ import annotations

from collections.abc import Sequence

from doctor.fleet.roll import BOTH, Member, Roll
from doctor.fleet.topics import ABSENT
from doctor.fleet.values import FIELDS

FEWEST = 3  # nodes of one make; fewer are odd ones of another
LEAST_SHARE = 0.1
_SYSTEM, _GPUS = FIELDS.index("system"), FIELDS.index("gpus")


def kinds_of(roll: Roll, members: Sequence[Member]) -> dict[str, list[Member]]:
    """The nodes by kind, the largest first; {"": all} where they are of one, or too few to tell."""
    makes: dict[str, list[Member]] = {}
    for member in members:
        makes.setdefault(make(roll, member), []).append(member)
    least = max(FEWEST, LEAST_SHARE * len(members))
    large = {name: found for name, found in makes.items() if name and len(found) >= least}
    if len(large) < 2:
        return {"": list(members)}
    in_order = sorted(large, key=lambda name: (-len(large[name]), name))
    kinds = {name: large[name] for name in in_order}
    # What is of no kind is held against the largest.
    rest = [member for name, found in makes.items() if name not in large for member in found]
    kinds[in_order[0]] = sorted(kinds[in_order[0]] + rest, key=lambda member: member.name)
    return kinds


def make(roll: Roll, member: Member) -> str:
    """Processor and GPU of a node; "" where they are not known, or its GPUs are there and do not answer."""
    system = dict(roll.values(_SYSTEM, member.groups[_SYSTEM]) or ())
    gpus = dict(roll.values(_GPUS, member.groups[_GPUS]) or ())
    model, arch = gpus.get("gpu.model", ""), system.get("machine.arch", "")
    if not (model and arch) or model.startswith(f"{ABSENT},") or BOTH in model + arch:
        return ""
    return f"{arch} without GPU" if model == ABSENT else f"{arch} with {model}"
