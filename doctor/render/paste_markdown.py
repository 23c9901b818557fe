"""Reports of pastes as Markdown: a section for each."""

from __future__ import annotations

from collections.abc import Sequence

from doctor.findings import Report
from doctor.render.file_markdown import LIMIT, NAME_LIMIT
from doctor.render.markdown import findings
from doctor.render.markdown_text import clipped, code, prose
from doctor.render.paste_terminal import standing
from doctor.render.reply import asked


def render(reports: Sequence[Report]) -> str:
    """Every report in its turn, those at the end cut where there is no room."""
    room = LIMIT // max(1, len(reports))
    return "\n\n".join(one_paste(report, room) for report in reports) + "\n"


def one_paste(report: Report, room: int) -> str:
    """One paste: its name, how sure the cause is, the findings, what to ask."""
    failed = [gap.reason for gap in report.gaps if gap.about == "paste"]
    opening = [
        f"## {code(clipped(report.subject.name, NAME_LIMIT))}",
        f"**{prose(clipped(failed[0] if failed else standing(report), NAME_LIMIT))}**",
    ]
    return "\n\n".join([*opening, *findings(report, room), *asked(report)])
