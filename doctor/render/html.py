"""Markdown of ours as one HTML page that stands by itself: no script, nothing loaded from elsewhere.

The Markdown has escaped whatever is foreign (``markdown_text``), so what is HTML in it is our own.
"""

from __future__ import annotations

from doctor.render.report_html.look import DOCUMENT
from doctor.render.report_html.markup import Html, tag
from doctor.render.report_html.shell import document


def render(markdown: str, language: str = "en", *, title: str = "lora-doctor", picture: str = "") -> str:
    """The page of a report in Markdown, with a picture of ours above it."""
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"html": True}).enable("table")
    body = tag("main", Html(picture), Html(parser.render(markdown).strip()), id="main")
    return document(title, body, style=DOCUMENT, language=language, scripted=False)
