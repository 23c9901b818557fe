"""A step as pip has it, run by the target's own interpreter."""

from __future__ import annotations

from doctor.facts import Facts
from doctor.treatment.changes import name_of
from doctor.treatment.plan import Command, Step
from doctor.treatment.registrations import unregistered


def commands(step: Step, facts: Facts) -> tuple[Command, ...]:
    """The commands of a step that removes, installs or lays anew; pip itself first where it is missing."""
    interpreter = facts.interpreter
    python = interpreter.executable if interpreter else "python"
    command = (python, "-m", "pip", *verb(step, facts), *step.packages, *index(step))
    if interpreter is None or interpreter.has_pip:
        return (command,)
    return ((python, "-m", "ensurepip"), command)


def verb(step: Step, facts: Facts) -> Command:
    """What pip is told to do. Without its dependencies, what is laid anew changes nothing else."""
    if step.kind == "remove":
        return ("uninstall", "-y")
    if step.kind == "install":
        return ("install",)
    # What is not registered cannot be taken away before, and must not be looked at.
    is_lost = not {*map(name_of, step.packages)}.isdisjoint(unregistered(facts))
    return ("install", "--ignore-installed" if is_lost else "--force-reinstall", "--no-deps")


def index(step: Step) -> Command:
    """The index of these packages, where it is not pip's own."""
    return ("--index-url", step.index_url) if step.index_url and step.kind != "remove" else ()
