"""An answer as one page: the picture of the parts, then the same words as in Markdown."""

from __future__ import annotations

from doctor.memory.answer import Answer
from doctor.render import fit_markdown, fit_svg, html


def render(answer: Answer) -> str:
    """The page, which stands by itself."""
    return html.render(fit_markdown.render(answer), picture=fit_svg.render(answer))
