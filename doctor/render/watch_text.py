"""A watched run for a terminal, after its end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from doctor.findings import Finding
from doctor.memory.usage import Run
from doctor.render.layout import PAINT_OF_MARK, Layout
from doctor.render.watch_words import MARKS, heading, main_curve, rows, sparkline

COLUMN = 18
SPARK = 60
MOST_FIXES = 8  # the rest stands in the other forms


def render(run: Run, findings: Sequence[Finding], layout: Layout) -> str:
    """All lines, with a newline at the end."""
    lines = ["", *layout.wrap(heading(run), 0, "strong")]
    curve, ceiling = main_curve(run)
    width = min(SPARK, (layout.width or 80) - COLUMN - 1)
    spark = sparkline(curve, width, ceiling, unicode=layout.unicode)
    if spark:
        lines.append(layout.heading("over time", COLUMN) + spark)
    for label, words in rows(run):
        lines += layout.labelled(label, words, COLUMN)
    for finding in findings:
        lines += ["", *_finding(finding, layout)]
    return "\n".join(lines) + "\n"


def _finding(finding: Finding, layout: Layout) -> Iterator[str]:
    mark = MARKS[finding.severity]
    painted = layout.paint(layout.mark(mark), PAINT_OF_MARK[mark])
    first, *rest = layout.wrap(finding.title, 8)
    yield f"{painted}  {first[8:]}"
    yield from rest
    if finding.why:
        yield from layout.wrap(finding.why, 8, "dim")
    for evidence in finding.evidence:
        wanted = f" (wanted: {evidence.wanted})" if evidence.wanted else ""
        yield from layout.wrap(f"{evidence.subject}: {evidence.seen}{wanted}", 8)
    for number, fix in enumerate(finding.fixes[:MOST_FIXES], 1):
        yield from layout.wrap(f"{number}. {fix.title}", 8)
    if len(finding.fixes) > MOST_FIXES:
        yield from layout.wrap(
            f"... and {len(finding.fixes) - MOST_FIXES} more, in --output FILE.html", 8, "dim"
        )
