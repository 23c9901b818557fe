"""The set with the fewest changes to what is installed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

from packaging.requirements import Requirement

from doctor.matrix.machine import Machine
from doctor.matrix.resolver.solving import Conflict, Solution, is_known, solve

TRIED = 2  # changes beyond which staying near each installed release is good enough


def closest(
    wanted: Sequence[Requirement],
    machine: Machine,
    *,
    extra_packages: Sequence[str],
    installed: Mapping[str, str],
) -> Solution | Conflict:
    """As :func:`solve`, with the fewest changes to what is installed, if those are at most :data:`TRIED`.

    Of sets as near, and of those within that bound, one that breaks no use is taken before one that does.
    """
    near = solve(wanted, machine, extra_packages=extra_packages, preferred=installed, use_rows=True)
    if isinstance(near, Conflict):  # or the way there is longer than resolvelib is given
        near = solve(wanted, machine, extra_packages=extra_packages, use_rows=True)
    if isinstance(near, Conflict):
        return near
    kept = {name: Requirement(f"{name}=={installed[name]}") for name in near.pins if is_pin(name, installed)}
    changed = sum(near.pins[name] != installed[name].partition("+")[0] for name in kept)
    limping: Solution | None = None
    for count in range(min(changed, TRIED + 1)):
        for free in combinations(kept, count):
            pins = [pin for name, pin in kept.items() if name not in free]
            found = solve(
                [*wanted, *pins], machine, extra_packages=extra_packages, preferred=installed, use_rows=True
            )
            if isinstance(found, Solution) and not found.warnings:
                return found
            limping = limping or (found if isinstance(found, Solution) else None)
    return limping or near


def is_pin(name: str, installed: Mapping[str, str]) -> bool:
    """Is the installed release one that the tables have?"""
    return bool(installed.get(name)) and is_known(Requirement(f"{name}=={installed[name]}"))
