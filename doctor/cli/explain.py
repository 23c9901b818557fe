"""``lora-doctor explain``."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from doctor.cli import options
from doctor.cli.early import this_machine
from doctor.cli.output import FILE_STYLE, deliver, refuse, style_of

if TYPE_CHECKING:
    from doctor.host import Host
    from doctor.page import Language
    from doctor.pages.finding import Found

Words = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[ID_OR_TEXT]...",
        help="A finding's id, an error text or words about it; - is standard input.",
    ),
]


def explain(
    words: Words = None,
    every: Annotated[bool, typer.Option("--list", help="Every fault that is known, by subject.")] = False,
    lang: Annotated[Literal["en", "zh"], typer.Option("--lang", help="The language of the page.")] = "en",
    format: options.FormatOption = "terminal",
    output: options.Output = None,
    no_color: options.NoColor = False,
) -> None:
    """Tell what a finding or an error means, how to cure it and how to see it cured; offline."""
    host = this_machine()
    text = asked(host, words or ())
    if every and text:
        refuse("--list shows every fault", "leave the words out, or name a subject without --list")
    if not every and not text:
        refuse("there is nothing to explain", "name a finding or an error text, or ask for --list")
    style = style_of(host, sys.stdout, no_color) if output is None else FILE_STYLE
    deliver(rendered(all_faults() if every else known(text), lang, format, style), output)


def asked(host: Host, words: list[str] | tuple[str, ...]) -> str:
    """What is asked for; of standard input the lines that tell of an error."""
    if list(words) != ["-"]:
        return " ".join(words).strip()
    from doctor.readers import Unreadable
    from doctor.triage.inputs import STANDARD_INPUT, sources

    try:
        return "\n".join(source.text for source in sources(host, STANDARD_INPUT)).strip()
    except Unreadable as error:
        refuse(f"standard input cannot be read: {error}", "name a finding or an error text")


def all_faults() -> Found:
    """Every fault by name."""
    from doctor.pages import briefs
    from doctor.pages.finding import Found

    return Found(others=briefs())


def known(text: str) -> Found:
    """What is known of an id, an error or some words. Leaves with 2 where nothing is."""
    from doctor.pages.finding import found

    result = found(text)
    if not result.pages and not result.others:
        refuse(
            "no fault is known by that name or by these words",
            "give the whole error (lora-doctor explain - < error.txt), or see: lora-doctor explain --list",
        )
    return result


def rendered(found: Found, language: Language, form: str, style: dict[str, Any]) -> str:
    """The page, and by name what fits as well."""
    from doctor.pages.languages import brief_in, in_language

    pages = tuple(in_language(page, language) for page in found.pages)
    others = tuple(brief_in(brief, language) for brief in found.others)
    if form in ("json", "jsonl"):
        from doctor.render import page_json

        return (page_json.render if form == "json" else page_json.render_lines)(pages, others)
    from doctor.render import page_text

    if form == "terminal":
        return page_text.terminal(pages, others, language, style)
    text = page_text.markdown(pages, others, language)
    if form == "markdown":
        return text
    from doctor.render import html

    return html.render(text, language)
