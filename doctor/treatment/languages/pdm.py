"""A step as a pdm project has it.

Checked against PDM 2.29 by running it on wheels of two local indexes.
"""

from __future__ import annotations

from collections.abc import Sequence

from doctor.cures import name_of
from doctor.facts import Facts
from doctor.treatment.languages import pip
from doctor.treatment.languages.sources import quoted, source_name
from doctor.treatment.plan import Command, Step


def commands(step: Step, facts: Facts) -> tuple[Command, ...]:
    """The commands of a step. What pdm has no word for, such as laying anew, is pip's."""
    return (added(step.packages),) if step.kind == "install" else pip.commands(step, facts)


def added(requirements: Sequence[str], *, lock_only: bool = False) -> Command:
    """The command that writes requirements into the project and its lock."""
    return ("pdm", "add", *(("--no-sync",) if lock_only else ()), *requirements)


def source_lines(step: Step) -> tuple[str, ...]:
    """What pyproject.toml must say first, so that these packages, and no others, come from their index."""
    names = ", ".join(quoted(name_of(one)) for one in step.packages)
    return (
        "[[tool.pdm.source]]",
        f"name = {quoted(source_name(step.index_url))}",
        f"url = {quoted(step.index_url)}",
        f"include_packages = [{names}]",
    )
