"""Targets that must not be changed, and what is told in place of the steps that would. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from doctor.facts import Facts
from doctor.treatment.plan import Refusal, Step


def refusal(facts: Facts) -> Refusal | None:
    """Why the target must not be changed, with the command that makes an environment beside it."""
    interpreter = facts.interpreter
    if interpreter is None:
        return Refusal("its interpreter does not answer", (("lora-doctor", "check", "--all-environments"),))
    way_out = (("lora-doctor", "fix", "--python", interpreter.executable, "--new-venv", ".venv"),)
    if interpreter.externally_managed:
        return Refusal("this Python belongs to the system, whose package manager looks after it", way_out)
    if not interpreter.writable:
        return Refusal("you may not write into it", way_out)
    return None


def beside(steps: Sequence[Step], forbidden: Refusal) -> Step:
    """What stands for all that would change a target which must not be changed."""
    cures = dict.fromkeys(id for step in steps if step.is_applied for id in step.cures)
    return Step(
        title="Leave this Python as it is, and make a cured environment beside it",
        kind="hand",
        scope="environment",
        cures=tuple(cures),
        commands=forbidden.commands,
    )
