"""A plan as text to start from, in the words that the installed releases take."""

from __future__ import annotations

from collections.abc import Mapping

from doctor.matrix.api_table import table_of
from doctor.memory.plan import Plan
from doctor.memory.snippets.arguments import arguments_class, training_arguments
from doctor.memory.snippets.code import assigned
from doctor.memory.snippets.llamafactory import yaml
from doctor.memory.snippets.script import script

SPOKEN_TO = ("transformers", "peft", "trl")


def snippets(model: str, plan: Plan, versions: Mapping[str, str]) -> Mapping[str, str]:
    """Texts by what they are. ``plan`` is settled; ``versions`` are those of the target.

    ``model`` is what ``from_pretrained`` is given. Of a library that the target lacks the newest counts.
    """
    versions = {**versions, **{name: newest(name) for name in SPOKEN_TO if name not in versions}}
    found = {"Python": script(model, plan, versions)}
    if plan.loop != "bare":
        found[arguments_class(plan, versions)] = assigned("arguments", training_arguments(plan, versions))
    if plan.adapter is None:
        found["LLaMA-Factory"] = yaml(model, plan)
    return found


def newest(package: str) -> str:
    """The newest release of a library that the api tables have read."""
    table = table_of(package)
    return table.releases[-1] if table else ""
