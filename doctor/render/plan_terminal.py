"""A plan as text for people: its steps in their order, what each cures, and the one command to run next."""

from __future__ import annotations

from collections.abc import Iterator

from doctor.plain import one_line
from doctor.render.layout import Layout, Paint
from doctor.render.shell import command_line
from doctor.treatment.plan import Plan, Step

COLUMN = 12  # where what follows a label begins


def render(
    plan: Plan,
    next_command: tuple[str, ...] = (),
    *,
    width: int | None = None,
    color: bool = False,
    unicode: bool = False,
    windows: bool = False,
) -> str:
    """The whole plan. ``next_command`` carries it out, where something can be."""
    layout = Layout(width, color, unicode)
    lines = [
        *layout.wrap(heading(plan), 0, "strong"),
        *(line for number in range(1, len(plan.steps) + 1) for line in _step(plan, number, layout, windows)),
        *_listed("Why these releases", plan.because, layout),
        *_listed("Not cured", [f"{one.id}: {one.title}; {one.why}" for one in plan.uncured], layout),
        *_end(plan, next_command, layout, windows),
    ]
    return "\n".join(lines) + "\n"


def heading(plan: Plan) -> str:
    """ "Plan for ~/train/.venv/bin/python: 2 steps"."""
    count = len(plan.steps)
    if not count:
        return f"Plan for {plan.target}: nothing to do"
    return f"Plan for {plan.target}: {count} step{'s' if count > 1 else ''}"


def status(step: Step) -> str:
    """Who does the step, and whether the installer agreed to it."""
    if not step.is_applied:
        return "by hand"
    if step.verified is None:
        return ""
    return "verified" if step.verified else "not verified"


def _step(plan: Plan, number: int, layout: Layout, windows: bool) -> Iterator[str]:
    step = plan.steps[number - 1]
    mark = status(step)
    yield ""
    yield from numbered(number, step.title + (f" ({mark})" if mark else ""), layout)
    for label, id in zip(["cures", *[""] * len(step.cures)], step.cures, strict=False):
        title = plan.titles.get(id, "")
        yield from layout.labelled(label, f"{id}: {title}" if title else id, COLUMN)
    if step.said:
        yield from layout.labelled("said", step.said, COLUMN, "warn")
    if step.place:
        yield from layout.labelled("in", step.place, COLUMN)
    shown = [command_line(command, windows=windows) for command in step.commands]
    for label, line in zip(["run", *[""] * len(shown)], shown, strict=False):
        yield layout.heading(label, COLUMN) + layout.paint(layout.clean(line), "command")
    for label, line in zip(["write", *[""] * len(step.lines)], step.lines, strict=False):
        yield layout.heading(label, COLUMN) + layout.paint(layout.clean(line), "command")


def numbered(number: int, title: str, layout: Layout) -> Iterator[str]:
    """A title behind its number."""
    first, *rest = layout.wrap(title, 3, "strong")
    yield from (f"{number}. {first[3:]}" if number < 10 else f"{number} {first[3:]}", *rest)


def _end(plan: Plan, next_command: tuple[str, ...], layout: Layout, windows: bool) -> Iterator[str]:
    if plan.refusal:
        yield ""
        yield from layout.wrap(f"It cannot be applied here: {one_line(plan.refusal.why)}.", 0, "bad")
        told = [command for step in plan.steps for command in step.commands]
        for command in (one for one in plan.refusal.commands if one not in told):
            yield "  " + layout.paint(layout.clean(command_line(command, windows=windows)), "command")
    elif next_command:
        yield ""
        yield from layout.wrap("Carry it out, with a way back:", 0)
        yield "  " + layout.paint(layout.clean(command_line(next_command, windows=windows)), "command")


def _listed(title: str, sentences: list[str] | tuple[str, ...], layout: Layout) -> Iterator[str]:
    paint: Paint = "strong"
    if sentences:
        yield from ("", layout.paint(title, paint))
        for sentence in sentences:
            first, *rest = layout.wrap(sentence, 4)
            yield from ("  - " + first[4:], *rest)
