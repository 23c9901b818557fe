"""The answer of ``explain`` as text: a page, or faults by name, or a page and what fits as well."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from doctor.page import Brief, Language, Page
from doctor.render import page as one_page
from doctor.render import page_list
from doctor.render.layout import Layout
from doctor.render.markdown_text import code, prose
from doctor.render.page_words import WORDS


def terminal(
    pages: Sequence[Page], faults: Sequence[Brief], language: Language, style: dict[str, Any]
) -> str:
    """For a terminal; a list in a pipe has nothing but its lines."""
    if not pages:
        return page_list.terminal(faults, **style)
    layout, words = Layout(**style), WORDS[language]
    lines = [layout.clean(words.untranslated), ""] if pages[0].language != language else []
    lines += [one_page.terminal(page, **style) for page in pages]
    if faults:
        lines += [layout.paint(layout.clean(words.further), "strong")]
        lines += [line for one in faults for line in layout.wrap(f"{one.id}: {one.title}", 2)]
    return "\n".join(lines)


def markdown(pages: Sequence[Page], faults: Sequence[Brief], language: Language) -> str:
    """In Markdown."""
    if not pages:
        return page_list.markdown(faults)
    words = WORDS[language]
    blocks = [words.untranslated] if pages[0].language != language else []
    blocks += [one_page.markdown(page).rstrip("\n") for page in pages]
    if faults:
        entries = "\n".join(f"- {code(one.id)}: {prose(one.title)}" for one in faults)
        blocks += [f"## {words.further}", entries]
    return "\n\n".join(blocks) + "\n"
