"""Findings as workflow commands of GitHub Actions, which mark the lines of a pull request.

Reference: https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands
"""

from __future__ import annotations

from doctor.findings import Finding, Report
from doctor.plain import one_line
from doctor.render.places import place_of

LEVELS = {"error": "error", "warning": "warning", "note": "notice"}


def render(report: Report) -> str:
    """One command a line; a file that could not be read is an error."""
    lines = [command(finding, report) for finding in report.findings]
    for gap in report.gaps:
        if gap.kind == "failed":
            name = one_property(report.subject.name)
            lines.append(f"::error file={name},title=cannot be read::{data(gap.reason)}")
    return "".join(f"{line}\n" for line in lines)


def command(finding: Finding, report: Report) -> str:
    """A finding as an annotation: title, reason and way out."""
    place = place_of(finding, report)
    where = f"file={one_property(place.file)}"
    where += f",line={place.line}" if place.line else ""
    where += f",col={place.column}" if place.column else ""
    doubt = "" if finding.confidence == "confirmed" else f" ({finding.confidence})"
    parts = [one_line(finding.title) + doubt]
    parts += [f"breaks: {', '.join(finding.breaks)}"] if finding.breaks else []
    parts += [f"fix: {one_line(finding.fixes[0].title)}"] if finding.fixes else []
    title = one_property(finding.id)
    return f"::{LEVELS[finding.severity]} {where},title={title}::{data(chr(10).join(parts))}"


def data(text: str) -> str:
    """Text of a message: what would end it is written as GitHub reads it back."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def one_property(text: str) -> str:
    """Text of a property, which also ends at a colon or comma."""
    return data(one_line(text)).replace(":", "%3A").replace(",", "%2C")
