"""A plan for an issue or a chat."""

from __future__ import annotations

from collections.abc import Iterator

from doctor.render import markdown_text
from doctor.render.plan_terminal import heading, status
from doctor.render.shell import command_line
from doctor.treatment.plan import Plan, Step


def render(plan: Plan) -> str:
    """Markdown: a numbered step each, with its commands in a fence."""
    parts = [f"**{markdown_text.prose(heading(plan))}**", ""]
    for number, step in enumerate(plan.steps, 1):
        parts += _step(number, step)
    parts += [f"- Not cured: `{one.id}`: {markdown_text.prose(one.title)}" for one in plan.uncured]
    if plan.refusal:
        parts.append(f"It cannot be applied here: {markdown_text.prose(plan.refusal.why)}.")
    return "\n".join(parts) + "\n"


def _step(number: int, step: Step) -> Iterator[str]:
    mark = status(step)
    cures = ", ".join(f"`{id}`" for id in step.cures)
    title = markdown_text.prose(step.title) + (f" ({mark})" if mark else "")
    yield f"{number}. {title}" + (f" — cures {cures}" if cures else "")
    lines = [*(command_line(command) for command in step.commands), *step.lines]
    if lines:
        yield ""
        yield markdown_text.fenced("\n".join(lines), "sh")
    yield ""
