"""A step as a poetry project has it.

Checked against Poetry 2.5 by running it on wheels of two local indexes.
"""

from __future__ import annotations

from collections.abc import Sequence

from doctor.facts import Facts
from doctor.treatment.languages import pip
from doctor.treatment.languages.sources import source_name
from doctor.treatment.plan import Command, Step


def commands(step: Step, facts: Facts) -> tuple[Command, ...]:
    """The commands of a step. What poetry has no word for, such as laying anew, is pip's."""
    if step.kind != "install":
        return pip.commands(step, facts)
    return (*source(step), added(step.packages, step.index_url))


def added(requirements: Sequence[str], index_url: str = "", *, lock_only: bool = False) -> Command:
    """The command that writes requirements into the project and its lock."""
    origin = ("--source", source_name(index_url)) if index_url else ()
    return ("poetry", "add", *(("--lock",) if lock_only else ()), *origin, *requirements)


def source(step: Step) -> tuple[Command, ...]:
    """The command that names an index, asked for nothing but what names it; it may be given twice."""
    if not step.index_url:
        return ()
    return (("poetry", "source", "add", "--priority=explicit", source_name(step.index_url), step.index_url),)
