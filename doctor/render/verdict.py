"""The last line of a report and the first of an issue: how it stands, and what was not judged."""

from __future__ import annotations

from collections.abc import Sequence

from doctor.facts import Facts, Gap
from doctor.findings import SEVERITIES, Finding, Report
from doctor.render.describe import listed, plural
from doctor.render.lines import Line, lines_of, mark

_WORDS = {
    "healthy": "Healthy",
    "impaired": "Impaired",
    "broken": "Broken",
    "undetermined": "Not enough was seen to judge",
}
_ARTICLES = {"torch": "torch", "bitsandbytes": "bitsandbytes", "packages": "the packages", "gpu": "the GPU"}


def verdict(report: Report) -> str:
    """One line: "Broken: 1 error, 2 warnings. First: peft/too-old-for-transformers."."""
    faults = counted(report)
    parts = [f"{word(report)}: {faults}." if faults else f"{word(report)}."]
    if report.primary:
        parts.append(f"First: {report.primary}.")
    unseen = open_subjects(report)
    if unseen and report.verdict != "broken":
        parts.append(f"Not judged: {unseen}.")
    return " ".join(parts)


def counted(report: Report) -> str:
    """How many errors and warnings: "1 error, 2 warnings"; "" where there are none."""
    return ", ".join(
        plural(count, severity)
        for severity in SEVERITIES[:2]
        if (count := sum(finding.severity == severity for finding in report.findings))
    )


def word(report: Report) -> str:
    """The verdict in a word; where nothing was imported, "healthy" would claim too much."""
    if report.verdict == "healthy" and any(
        gap.about == "trial" and gap.kind == "not-asked" for gap in report.gaps
    ):
        return "No fault found in what is installed, and nothing was imported"
    return _WORDS[report.verdict]


# Fields of Facts whose names tell a reader nothing.
_PLAIN_NAMES = {
    "driver_signs": "signs of a driver",
    "cuda_driver": "libcuda's answer",
    "torch_runtime": "torch's import",
    "bitsandbytes_runtime": "bitsandbytes' import",
}


def unasked_rules(report: Report) -> str:
    """Rules that lacked facts, in one line; "" where there are none."""
    if not report.not_judged:
        return ""
    missing = {field for rule in report.not_judged for field in rule.missing}
    fields = [field for field in Facts.__struct_fields__ if field in missing] or sorted(missing)
    names = listed([plain_name(field) for field in fields])
    return f"{plural(len(report.not_judged), 'rule')} could not be asked, for want of {names}."


def plain_name(field: str) -> str:
    """A field of Facts in words for a reader."""
    return _PLAIN_NAMES.get(field, field)


def by_gravity(report: Report) -> list[Finding]:
    """The findings, the root cause first, then errors, warnings and notes, each in the report's order."""
    return sorted(report.findings, key=lambda one: (one.id != report.primary, SEVERITIES.index(one.severity)))


def is_worth_a_line(line: Line, report: Report) -> bool:
    """A pasted log or a requirements file says nothing of most subjects."""
    if report.subject.kind in ("live", "node"):
        return True
    return mark(line, report.facts, report.findings) != "?" or any(
        getattr(report.facts, field) is not None for field in line.fields
    )


def open_subjects(report: Report) -> str:
    """The subjects whose mark is "?", those with a common reason together."""
    unseen = [
        line for line in lines_of(report.facts) if is_worth_a_line(line, report) and _is_open(line, report)
    ]
    names: dict[str, list[str]] = {}
    for line in unseen:
        if line.title == "driver" and _has_no_gpu(report.facts):
            continue  # where no GPU is, no driver is missed
        if line.title == "cuda versions":
            continue  # driver and torch are named by themselves
        names.setdefault(_because(line, report.facts), []).append(
            _ARTICLES.get(line.title, f"the {line.title}")
        )
    return "; ".join(f"{listed(subjects)}{because}" for because, subjects in names.items())


def _is_open(line: Line, report: Report) -> bool:
    return mark(line, report.facts, report.findings) == "?"


def _has_no_gpu(facts: Facts) -> bool:
    gap = _gap(("gpus",), facts.gaps)
    return facts.gpus == () or (gap is not None and gap.kind == "not-applicable")


def _because(line: Line, facts: Facts) -> str:
    if line.title == "gpu" and _has_no_gpu(facts):
        return ", since none is seen here"
    gap = _gap(line.fields, facts.gaps)
    return ", not asked for" if gap and gap.kind == "not-asked" else ""


def _gap(fields: Sequence[str], gaps: Sequence[Gap]) -> Gap | None:
    return next((gap for gap in gaps if gap.about in fields), None)
