"""A comparison of nodes as Markdown."""

from __future__ import annotations

from collections.abc import Iterator

from doctor.fleet.comparison import Comparison
from doctor.render.fleet_words import advice, alike, headline, sections
from doctor.render.markdown_text import code, prose, table


def render(told: Comparison) -> str:
    """The answer, then a table a section."""
    return "\n\n".join(_parts(told)) + "\n"


def _parts(told: Comparison) -> Iterator[str]:
    yield f"**{prose(headline(told))}**"
    if alike(told):
        yield prose(alike(told))
    for section in sections(told):
        rows = [
            (row.mark, code(row.label), "<br>".join(prose(line) for line in row.lines))
            for row in section.rows
        ]
        yield f"### {section.title}\n\n" + table(("", "", ""), rows)
    if advice(told):
        yield prose(advice(told))
