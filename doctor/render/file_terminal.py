"""Reports of files as text for people: which file, what it asks for, what breaks, what to change."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from doctor.facts import Packages
from doctor.findings import Finding, Report
from doctor.render.describe import plural
from doctor.render.details import block
from doctor.render.layout import Layout
from doctor.render.terminal import PAINT_OF_VERDICT
from doctor.render.verdict import by_gravity
from doctor.stack import STACK

WORDS = {
    "healthy": "No fault known",
    "impaired": "Impaired",
    "broken": "Broken",
    "undetermined": "Not judged",
}


def render(
    reports: Sequence[Report], *, width: int | None = None, color: bool = False, unicode: bool = False
) -> str:
    """Every report, then the count where there are several."""
    layout = Layout(width, color, unicode)
    brief = len(reports) > 1
    lines = [line for report in reports for line in told(report, layout, brief)]
    if len(reports) > 1:
        broken = sum(any(one.severity == "error" for one in report.findings) for report in reports)
        unread = sum(report.verdict == "undetermined" for report in reports)
        parts = [plural(len(reports), "file"), f"{broken} with errors"]
        lines.append(", ".join([*parts, *([f"{unread} not judged"] if unread else [])]))
    elif lines and not lines[-1]:
        lines.pop()
    return "\n".join(lines) + "\n"


def told(report: Report, layout: Layout, brief: bool) -> list[str]:
    """A file and the blank line after it; of many, those without a fault take one line."""
    if brief and not report.findings and report.verdict == "healthy" and not left_out(report):
        return layout.wrap(f"{report.subject.name}: {standing(report)}", 0, "ok")
    return [*one_file(report, layout), ""]


def one_file(report: Report, layout: Layout) -> list[str]:
    """One file: what was read of it, the findings, how it stands."""
    lines = layout.wrap(report.subject.name, 0, "strong")
    lines += [line for text in summary(report) for line in layout.wrap(text, 2, "dim")]
    before = ""
    for finding in by_gravity(report):
        gap = [] if before == finding.severity == "note" else [""]
        lines += [*gap, *block(within(finding, report.subject.name), layout)]
        before = finding.severity
    has_errors = any(one.severity == "error" for one in report.findings)
    paint = "bad" if has_errors else PAINT_OF_VERDICT[report.verdict]
    return [*lines, "", *layout.wrap(standing(report), 0, paint)]


def within(finding: Finding, file: str) -> Finding:
    """A finding whose places need not name the file that is told of."""
    evidence = tuple(
        msgspec.structs.replace(one, where=f"line {one.where[len(file) + 1 :]}")
        if one.where.startswith(f"{file}:") and one.where[len(file) + 1 :].isdigit()
        else one
        for one in finding.evidence
    )
    return msgspec.structs.replace(finding, evidence=evidence)


def summary(report: Report) -> list[str]:
    """What the file was read as and held against, or why it was not."""
    failed = [gap.reason for gap in report.gaps if gap.kind == "failed"]
    if failed:
        return failed
    facts = report.facts
    python = f"Python {facts.interpreter.version}" if facts.interpreter else ""
    system = f"{facts.system.os} {facts.system.arch}" if facts.system else ""
    where = ", ".join(part for part in (python, system) if part)
    held = [gap.reason for gap in report.gaps if gap.about == "versions"]
    held += [f"left out: {reason}" for reason in left_out(report)]
    if facts.packages is None:
        return [*held, where]
    # What a package without a table of releases requires may pin another release of the stack.
    is_open = facts.packages.is_partial and not facts.packages.conflicts and report.subject.kind != "script"
    unknown = ["what its other packages bring in is not known"] if is_open else []
    return [*held, f"{taken(facts.packages)} ({where})", *unknown]


def left_out(report: Report) -> list[str]:
    """The parts of a script that were not judged, and why."""
    about_script = report.subject.kind == "script"
    return [gap.reason for gap in report.gaps if about_script and gap.about == "script"]


def taken(packages: Packages) -> str:
    """The versions of the stack, and whether the file or an installer chose them."""
    versions = [(name, packages.installed[name].version) for name in STACK if name in packages.installed]
    told = ", ".join(f"{name} {version}" for name, version in versions) or "nothing of the stack"
    if packages.conflicts or packages.wanted is None:
        return told
    pinned = {one.name for one in packages.wanted.requirements if one.specifier.startswith("==")}
    return told if all(name in pinned for name, _ in versions) else f"an installer would take {told}"


def standing(report: Report) -> str:
    """The last line: "Broken: 1 error, 2 warnings."."""
    counts = [
        plural(count, severity)
        for severity in ("error", "warning")
        if (count := sum(one.severity == severity for one in report.findings))
    ]
    word = WORDS[report.verdict]
    if report.subject.kind == "script" and counts:
        word = "This script does not go with these versions" if "error" in counts[0] else "Odd"
    return f"{word}: {', '.join(counts)}." if counts else f"{word}."
