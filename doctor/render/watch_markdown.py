"""A watched run in Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from doctor.findings import Finding
from doctor.memory.usage import Run
from doctor.render.markdown_text import prose, table
from doctor.render.watch_words import heading, rows


def render(run: Run, findings: Sequence[Finding]) -> str:
    """The whole text."""
    seen = ((prose(label), prose(words)) for label, words in rows(run))
    parts = [f"# {prose(heading(run))}", table(("", "seen"), seen)]
    for finding in findings:
        parts += _finding(finding)
    return "\n\n".join(parts) + "\n"


def _finding(finding: Finding) -> Iterator[str]:
    yield f"## {finding.severity}: {prose(finding.title)}"
    if finding.why:
        yield prose(finding.why)
    if finding.evidence:
        seen = ((prose(one.subject), prose(one.seen), prose(one.wanted)) for one in finding.evidence)
        yield table(("", "seen", "wanted"), seen)
    if finding.fixes:
        yield "\n".join(f"{number}. {prose(fix.title)}" for number, fix in enumerate(finding.fixes, 1))
