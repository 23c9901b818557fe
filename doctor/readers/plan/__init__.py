"""A plan that a file states: plan.toml in our names or Hugging Face's, YAML of LLaMA-Factory or axolotl.

Values keep their line, so that a complaint can name it. What the file does not say is what its tool takes.
"""

from __future__ import annotations

from doctor.memory.plan import Asked, Plan, patterned
from doctor.readers import Unreadable
from doctor.readers.plan.dialects import dialect_of
from doctor.readers.plan.settings import Settings
from doctor.readers.plan.words import refuse_misspelt, taken

__all__ = ["read"]


def read(text: str, name: str) -> Asked:
    """The plan in the text of a file, TOML or YAML by its name. Raises :class:`Unreadable`."""
    is_yaml = name.lower().endswith((".yaml", ".yml"))
    settings = Settings.of_yaml(text) if is_yaml else Settings.of_toml(text)
    dialect = dialect_of(settings)
    if not is_yaml:
        refuse_misspelt(settings)
    found, model = taken(settings)
    if not found and not model:
        raise Unreadable("it names nothing of a plan: no model, batch_size, sequence_length or the like")
    left_out = {field: value for field, value in dialect.defaults.items() if field not in found}
    stated, told = tuple(found), dialect.told(left_out, found.get("method", ""))
    pattern = found.pop("target_modules") if isinstance(found.get("target_modules"), str) else ""
    plan = Plan(**{**left_out, **found})
    plan = patterned(plan, pattern) if pattern else plan
    return Asked(model=model, plan=plan, stated=stated, assumed=told)
