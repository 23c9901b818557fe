"""A comparison of nodes for a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from doctor.fleet.comparison import Comparison
from doctor.render.fleet_words import MARKS, Row, advice, alike, headline, sections
from doctor.render.layout import PAINT_OF_MARK, Layout

COLUMN = 12  # where what is said of a label begins
WIDEST_LABEL = 40


def render(told: Comparison, *, width: int | None = None, color: bool = False, unicode: bool = False) -> str:
    """All of it, the answer first."""
    layout = Layout(width, color, unicode)
    return "\n".join(_lines(told, layout)) + "\n"


def _lines(told: Comparison, layout: Layout) -> Iterator[str]:
    paint = "ok" if told.severity in (None, "note") else PAINT_OF_MARK[MARKS[told.severity]]
    yield from layout.wrap(headline(told), 0, paint)
    if alike(told):
        yield from layout.wrap(alike(told), 0, "dim")
    for section in sections(told):
        yield ""
        yield layout.paint(section.title, "strong")
        for row in section.rows:
            yield from _row(row, layout)
    if advice(told):
        yield ""
        yield from layout.wrap(advice(told), 0, "command")


def _row(row: Row, layout: Layout) -> Iterator[str]:
    """The label beside its mark, and what is said below it or, where that is short, behind it."""
    mark = layout.mark(row.mark)
    margin = "  " + layout.paint(mark, PAINT_OF_MARK[row.mark]) + " " * max(8 - len(mark), 1)
    label = layout.clean(row.label)
    if not label:
        lines = [line for said in row.lines for line in layout.wrap(said, 10)]
        yield margin + lines[0][10:]
        yield from lines[1:]
        return
    if len(row.lines) == 1 and layout.fits(10 + len(label) + 2 + len(row.lines[0])):
        yield f"{margin}{layout.paint(label, 'strong')}: {layout.wrap(row.lines[0], 0)[0]}"
        return
    yield margin + layout.paint(label, "strong")
    for said in row.lines:
        yield from layout.wrap(said, COLUMN)
