"""A report as the answer to an issue, and as its labels.

What stands in the paste is hostile: it is quoted as code, calls nobody and links nowhere.
"""

from __future__ import annotations

from collections.abc import Iterator

from doctor.findings import Finding, Fix, Question, Report
from doctor.render.markdown_text import clipped, code, fenced, prose
from doctor.render.shell import command_line

LIMIT = 1_500  # characters of one text
SHOWN = 3  # possible causes, lines of evidence, fixes
OPENING = {
    "confirmed": "The cause",
    "likely": "The likely cause",
    "possible": "One possible cause",
}
UNKNOWN = (
    "No known cause was recognised in this text. That says nothing of the environment: an error that is not "
    "known is not a clean bill."
)
OWN_CODE = ("script/", "workload/")


def render(report: Report) -> str:
    """The comment, in Markdown: the cause, the way out, what is missing to be sure."""
    parts = list(causes(report)) or [UNKNOWN]
    parts += list(asked(report))
    parts.append(
        f"<sub>Written from the text alone by lora-doctor {prose(report.tool_version)} (matrix of "
        f"{prose(report.matrix_reviewed)}). `lora-doctor check` on the machine itself sees more.</sub>"
    )
    return "\n\n".join(parts) + "\n"


def causes(report: Report) -> Iterator[str]:
    """The cause in full; of several that are possible each in short."""
    told = [one for one in report.findings if one.severity != "note"]
    if not told:
        return
    windows = report.facts.system is not None and report.facts.system.os == "win32"
    first = told[0]
    shown = [one for one in told if one.confidence == "possible"][:SHOWN] if is_open(first) else [first]
    for finding in shown:
        yield from cause(finding, windows)
    if not is_open(first) and first.id.startswith(OWN_CODE):
        yield "Nothing in the text speaks against the environment itself."


def is_open(finding: Finding) -> bool:
    """Is it one cause among several?"""
    return finding.confidence == "possible"


def cause(finding: Finding, windows: bool) -> Iterator[str]:
    """One cause: what it is, where it shows, why, and the way out."""
    yield f"**{OPENING[finding.confidence]}: {text(finding.title)}** ({code(finding.id)})"
    yield "\n".join(evidence(finding))
    if finding.why:
        yield text(finding.why)
    for number, fix in enumerate(finding.fixes[:2]):
        yield from cured("Or" if number else "Fix", fix, windows)


def evidence(finding: Finding) -> Iterator[str]:
    """What was seen, a line each."""
    for one in finding.evidence[: SHOWN + 2]:
        seen = [code(clipped(one.seen, LIMIT))] if one.seen else []
        wanted = [f"wanted {code(clipped(one.wanted, LIMIT))}"] if one.wanted else []
        where = f" ({text(one.where)})" if one.where else ""
        yield f"- {text(one.subject)}: {', '.join(seen + wanted)}{where}"
    for one in finding.against[:SHOWN]:
        yield f"- against it: {text(one.subject)} {code(clipped(one.seen, LIMIT))}"


def cured(label: str, fix: Fix, windows: bool) -> Iterator[str]:
    """One way out."""
    yield f"{label}: {text(fix.title)}"
    lines = [clipped(command_line(command, windows=windows), LIMIT) for command in fix.commands]
    if lines:
        yield fenced("\n".join(lines), "bat" if windows else "sh")


def asked(report: Report) -> Iterator[str]:
    """What would make it sure."""
    if report.questions:
        yield "To be sure, please answer:" if report.primary else "Please add:"
        yield "\n".join(line for question in report.questions for line in one_question(question))


def one_question(question: Question) -> Iterator[str]:
    """A question with what answers it."""
    yield f"- {text(question.text)}"
    for command in question.commands:
        yield f"  {code(command_line(command))}"


def text(words: str) -> str:
    """Running text that is not too long."""
    return prose(clipped(words, LIMIT))


def labels(report: Report) -> str:
    """The labels, one a line: whose fault it is, the subject, and whether something must be asked."""
    return "".join(f"{label}\n" for label in labels_of(report))


def labels_of(report: Report) -> Iterator[str]:
    """The labels of a report."""
    first = next((one for one in report.findings if one.id == report.primary), None)
    sure = first is not None and first.confidence != "possible"
    if first is not None and sure:
        yield "not environment" if first.id.startswith(OWN_CODE) else "environment"
        yield f"cause: {first.id.split('/')[0]}"
    if report.questions and not sure:
        yield "needs info"
