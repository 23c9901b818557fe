"""Which packages of a step are conda's and which came as wheels: each is changed by what put it there.

conda's own advice for environments with both: conda first, pip after it and never on conda's packages.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from doctor.cures import name_of
from doctor.facts import Facts
from doctor.stack import STACK
from doctor.treatment.languages import conda
from doctor.treatment.plan import Step

Part = Step | None


def parted(step: Step, facts: Facts, wants_conda: bool) -> tuple[Part, Part]:
    """The part of a step for conda, and the part for an installer of wheels.

    ``wants_conda``: in a target that is no conda environment, say it for conda all the same.
    """
    in_conda = is_conda(facts)

    def is_condas(requirement: str) -> bool:
        if not conda.has(requirement, step.index_url):
            return False
        return owned_by_conda(facts, name_of(requirement)) if in_conda else wants_conda

    return part(step, is_condas), part(step, lambda one: not is_condas(one))


def part(step: Step, belongs: Callable[[str], bool]) -> Part:
    """A step with the packages that belong to one side; None where there are none."""
    packages = tuple(one for one in step.packages if belongs(one))
    return msgspec.structs.replace(step, packages=packages) if packages else None


def owned_by_conda(facts: Facts, package: str) -> bool:
    """Did conda put a package there? A newcomer follows the libraries of the stack that are there."""
    installed = facts.packages.installed if facts.packages else {}
    known = installed.get(package)
    if known and known.installer:
        return known.installer == "conda"
    made_by = [installed[name].installer for name in STACK if name in installed]
    if not made_by:
        made_by = [one.installer for one in installed.values()]
    return made_by.count("conda") > len(made_by) / 2


def is_conda(facts: Facts) -> bool:
    """Is the target a conda environment?"""
    return facts.interpreter is not None and facts.interpreter.kind == "conda"
