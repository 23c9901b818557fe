"""Reports of pastes as text for people: the cause, what speaks for it, what to do, what to ask."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from doctor.findings import Finding, Question, Report
from doctor.render.describe import plural
from doctor.render.details import block
from doctor.render.layout import Layout
from doctor.render.shell import command_line
from doctor.render.terminal import PAINT_OF_VERDICT

NOTHING = "No cause is known for this text. That says nothing of the environment."
SHOWN = 3  # findings in full; the rest by name


def render(
    reports: Sequence[Report], *, width: int | None = None, color: bool = False, unicode: bool = False
) -> str:
    """One paste in full; of many a line each."""
    layout = Layout(width, color, unicode)
    if len(reports) == 1:
        return "\n".join(in_full(reports[0], layout)) + "\n"
    lines = [line for report in reports for line in layout.wrap(in_brief(report), 0)]
    known = sum(report.primary is not None for report in reports)
    return "\n".join([*lines, f"{plural(len(reports), 'paste')}, of {known} a cause is known"]) + "\n"


def in_brief(report: Report) -> str:
    """ "#12: torch/cpu-only-build (likely): This torch has no CUDA"."""
    first = cause_of(report)
    if first is None:
        return f"{report.subject.name}: {report.verdict}, no cause known"
    doubt = "" if first.confidence == "confirmed" else f" ({first.confidence})"
    return f"{report.subject.name}: {first.id}{doubt}: {first.title}"


def cause_of(report: Report) -> Finding | None:
    """The finding whose repair comes first."""
    return next((one for one in report.findings if one.id == report.primary), None)


def in_full(report: Report, layout: Layout) -> Iterator[str]:
    """The findings, the most telling first, then what would make it sure."""
    windows = report.facts.system is not None and report.facts.system.os == "win32"
    failed = [gap.reason for gap in report.gaps if gap.about == "paste"]
    if failed:
        yield from layout.wrap(f"{report.subject.name}: {failed[0]}", 0, "bad")
        return
    yield from layout.wrap(standing(report), 0, PAINT_OF_VERDICT[report.verdict])
    for finding in report.findings[:SHOWN]:
        yield ""
        yield from block(finding, layout, windows=windows)
    for finding in report.findings[SHOWN:]:
        yield from layout.wrap(f"also {finding.id}: {finding.title}", 2, "dim")
    if report.questions:
        yield ""
        yield from asked(report.questions, layout, windows)


def standing(report: Report) -> str:
    """The first line: how sure the cause is."""
    first = cause_of(report)
    if first is None:
        return NOTHING if report.verdict == "undetermined" else "Nothing in this text speaks of a fault."
    if first.id.startswith(("script/", "workload/")):
        return "The environment is not at fault; the script or the plan is."
    words = {
        "confirmed": "The cause",
        "likely": "The likely cause",
        "possible": "Several causes are possible, first",
    }
    return f"{words[first.confidence]}: {first.id}"


def asked(questions: Sequence[Question], layout: Layout, windows: bool) -> Iterator[str]:
    """What to ask, with the commands that answer it."""
    yield layout.paint("To be sure", "strong")
    for question in questions:
        yield from layout.wrap(question.text, 2)
        for command in question.commands:
            line = layout.clean(command_line(command, windows=windows))
            yield f"    {layout.paint(line, 'command')}"
