"""A plan from a file of this machine: plan.toml, YAML of a training tool, or the training script itself."""

from __future__ import annotations

import os
from collections.abc import Mapping

from doctor.host import Host
from doctor.memory.plan import Asked
from doctor.memory.validity import PlanInvalid, validated

SCRIPTS, DOCUMENTS = (".py", ".ipynb"), (".toml", ".yaml", ".yml")


class PlanUnread(Exception):
    """A file that states no plan; ``hint`` says what to do."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.hint = hint


def asked_in(host: Host, path: str, versions: Mapping[str, str]) -> Asked:
    """The plan that a file states, for these versions of its target. Raises :class:`PlanUnread`."""
    from doctor.readers import Unreadable

    path = os.path.expanduser(path)
    if not path.lower().endswith((*SCRIPTS, *DOCUMENTS)):
        raise PlanUnread(
            f"{path} is no plan by its name", f"name a file that ends in {', '.join(SCRIPTS + DOCUMENTS)}"
        )
    text = host.read_text(path)
    if text is None:
        raise PlanUnread(f"{path} cannot be read", "name a plan.toml, a YAML file or a training script")
    try:
        return read(text, path, versions)
    except Unreadable as error:
        raise PlanUnread(f"{path}: {error}", "docs/plan.md shows what a plan says") from error
    except PlanInvalid as error:
        raise PlanUnread(f"{path}: {error}", error.hint) from error


def read(text: str, name: str, versions: Mapping[str, str]) -> Asked:
    """The plan in a text, by its name. Raises Unreadable or PlanInvalid."""
    if name.lower().endswith(SCRIPTS):
        from doctor.memory.scripted import of_script
        from doctor.readers.script import read_script

        return of_script(read_script(text, name), versions)
    from doctor.readers import plan as documents

    asked = documents.read(text, name)
    return Asked(model=asked.model, plan=validated(asked.plan), stated=asked.stated, assumed=asked.assumed)
