"""The parts of a peak as a picture: one stacked bar with the free memory marked on it, all of it text."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from doctor.memory.answer import Answer
from doctor.plain import one_line
from doctor.render.fit_words import gib, model_line, parts_of, plan_line, verdict_line

WIDTH, MARGIN, BAR_TOP, BAR_HEIGHT, ROW_HEIGHT = 760, 20, 96, 44, 24
# Okabe and Ito's colours, which colour-blind people tell apart: https://jfly.uni-koeln.de/color/
COLORS = {
    "weights": "#0072b2",
    "adapter": "#cc79a7",
    "gradients": "#d55e00",
    "optimizer": "#f0e442",
    "activations": "#009e73",
    "logits": "#e69f00",
    "overhead": "#999999",
}
STYLE = """
text { font: 14px system-ui, sans-serif; fill: #1f2328; }
.title { font-size: 17px; font-weight: 600; }
.dim { fill: #59636e; }
.ground { fill: #ffffff; }
.mark { stroke: #1f2328; stroke-width: 2; }
.edge { stroke: #ffffff; }
@media (prefers-color-scheme: dark) {
  text { fill: #f0f6fc; } .dim { fill: #9198a1; } .ground { fill: #0d1117; }
  .mark { stroke: #f0f6fc; } .edge { stroke: #0d1117; }
}
"""


def render(answer: Answer) -> str:
    """The picture as an SVG document of its own."""
    parts = parts_of(answer.estimate)
    height = BAR_TOP + BAR_HEIGHT + 34 + ROW_HEIGHT * ((len(parts) + 1) // 2) + MARGIN
    body = "\n".join([*_head(answer), *_bar(answer), *_legend(answer)])
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" '
        f'height="{height}" role="img" aria-labelledby="title desc">\n'
        f'<title id="title">{_text(model_line(answer.model))}</title>\n'
        f'<desc id="desc">{_text(_description(answer))}</desc>\n'
        f"<style>{STYLE}</style>\n"
        f'<rect class="ground" width="{WIDTH}" height="{height}"/>\n{body}\n</svg>\n'
    )


def _text(text: str) -> str:
    return escape(one_line(text))


def _description(answer: Answer) -> str:
    parts = ", ".join(f"{name} {gib(part.amount_bytes)}" for name, part in parts_of(answer.estimate))
    return f"{plan_line(answer.estimate.plan)}: {verdict_line(answer)}. Parts of the peak: {parts}."


def _head(answer: Answer) -> Iterator[str]:
    lines = (model_line(answer.model), plan_line(answer.estimate.plan), verdict_line(answer))
    for row, (name, line) in enumerate(zip(("title", "dim", ""), lines, strict=True)):
        shrunk = (
            f' textLength="{WIDTH - 2 * MARGIN}" lengthAdjust="spacingAndGlyphs"' if len(line) > 108 else ""
        )
        yield f'<text class="{name}" x="{MARGIN}" y="{MARGIN + 10 + 24 * row}"{shrunk}>{_text(line)}</text>'


def _scale(answer: Answer) -> float:
    """Pixels a byte."""
    return (WIDTH - 2 * MARGIN) / max(answer.estimate.peak_bytes, answer.device.free_bytes or 0, 1)


def _bar(answer: Answer) -> Iterator[str]:
    scale, reached = _scale(answer), 0
    for name, part in parts_of(answer.estimate):
        x, wide = MARGIN + reached * scale, part.amount_bytes * scale
        reached += part.amount_bytes
        yield (
            f'<rect class="edge" x="{x:.1f}" y="{BAR_TOP}" width="{wide:.1f}" height="{BAR_HEIGHT}" '
            f'fill="{COLORS[name]}"><title>{name}: {gib(part.amount_bytes)}</title></rect>'
        )
    if answer.device.free_bytes is not None:
        at = MARGIN + answer.device.free_bytes * scale
        anchor = "end" if at > WIDTH / 2 else "start"
        bottom = BAR_TOP + BAR_HEIGHT
        yield f'<line class="mark" x1="{at:.1f}" x2="{at:.1f}" y1="{BAR_TOP - 6}" y2="{bottom + 6}"/>'
        free = f"free: {gib(answer.device.free_bytes)}"
        yield f'<text class="dim" x="{at:.1f}" y="{bottom + 24}" text-anchor="{anchor}">{free}</text>'


def _legend(answer: Answer) -> Iterator[str]:
    peak = max(answer.estimate.peak_bytes, 1)
    for index, (name, part) in enumerate(parts_of(answer.estimate)):
        x = MARGIN + (index % 2) * (WIDTH - 2 * MARGIN) / 2
        y = BAR_TOP + BAR_HEIGHT + 52 + ROW_HEIGHT * (index // 2)
        said = f"{name}: {gib(part.amount_bytes)}, {part.amount_bytes / peak:.0%}"
        yield f'<rect x="{x:.0f}" y="{y - 12}" width="14" height="14" fill="{COLORS[name]}"/>'
        yield f'<text x="{x + 22:.0f}" y="{y}">{said}</text>'
