"""A step as uv has it: ``uv pip`` on the target, and ``uv add`` for the project that it belongs to.

Checked against uv 0.13 by running it on wheels of two local indexes.
"""

from __future__ import annotations

from collections.abc import Sequence

from doctor.cures import name_of
from doctor.facts import Facts
from doctor.treatment.languages import pip
from doctor.treatment.languages.sources import quoted, source_name
from doctor.treatment.plan import Command, Step


def commands(step: Step, facts: Facts) -> tuple[Command, ...]:
    """The command of a step that removes, installs or lays anew."""
    python = facts.interpreter.executable if facts.interpreter else "python"
    if step.kind == "remove":
        return (("uv", "pip", "uninstall", "--python", python, *step.packages),)
    names = [name_of(one) for one in step.packages]
    flags = tuple(word for name in names for word in ("--reinstall-package", name))
    anew = (*flags, "--no-deps") if step.kind == "anew" else ()
    return (("uv", "pip", "install", "--python", python, *anew, *step.packages, *pip.index(step)),)


def added(requirements: Sequence[str]) -> Command:
    """The command that writes requirements into the project and its lock, and leaves the environment."""
    return ("uv", "add", "--no-sync", *requirements)


def source_lines(step: Step) -> tuple[str, ...]:
    """What pyproject.toml must say so that these packages, and no others, come from their index.

    ``uv add --index`` alone would ask that index for every package: first of all indexes, it wins.
    """
    name = source_name(step.index_url)
    index = ("[[tool.uv.index]]", f"name = {quoted(name)}", f"url = {quoted(step.index_url)}")
    sources = (f"{name_of(one)} = {{ index = {quoted(name)} }}" for one in step.packages)
    return (*index, "explicit = true", "[tool.uv.sources]", *sources)
