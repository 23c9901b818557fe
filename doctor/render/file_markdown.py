"""Reports of files as Markdown: a section for each file."""

from __future__ import annotations

from collections.abc import Sequence

from doctor.findings import Report
from doctor.render.file_terminal import standing, summary
from doctor.render.markdown import findings
from doctor.render.markdown_text import clipped, code, prose

LIMIT = 60_000  # characters of all sections; GitHub refuses an issue of more than 65,536
NAME_LIMIT = 300


def render(reports: Sequence[Report]) -> str:
    """Every report in its turn, those at the end cut where there is no room."""
    room = LIMIT // max(1, len(reports))
    return "\n\n".join(one_file(report, room) for report in reports) + "\n"


def one_file(report: Report, room: int) -> str:
    """One file: its name, how it stands, what was read of it, the findings."""
    opening = [
        f"## {code(clipped(report.subject.name, NAME_LIMIT))}",
        f"**{prose(standing(report))}**",
        *(prose(clipped(text, NAME_LIMIT)) for text in summary(report)),
    ]
    return "\n\n".join([*opening, *findings(report, room)])
