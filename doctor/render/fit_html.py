"""An answer as one page: the picture of the parts, then the same words as in Markdown."""

from __future__ import annotations

from doctor.memory.answer import Answer
from doctor.render import fit_markdown, fit_svg, html


def render(answer: Answer) -> str:
    """The page, which stands by itself."""
    return html.render(f"{fit_svg.render(answer)}\n{fit_markdown.render(answer)}")
