"""The frame of every page: head, skip link, the room for what is told to screen readers, the script."""

from __future__ import annotations

from base64 import b64encode
from hashlib import sha256

from doctor.render.report_html.look import BASE, colors
from doctor.render.report_html.markup import Html, Piece, join, tag
from doctor.render.report_html.script import SCRIPT

_SKIP = {"zh": "跳到正文"}


def document(title: str, *body: Piece, style: str, language: str = "en", scripted: bool = True) -> Html:
    """A whole page; ``body`` holds the element with the id "main". Nothing is ever fetched.

    Without ``scripted`` no script can run at all, and pictures in it may bring styles of their own.
    """
    sheet = Html(f"\n{colors()}{BASE}{style}")
    end = [
        tag("div", id="told", class_="unseen", role="status", aria_live="polite"),
        tag("script", Html(SCRIPT)),
    ]
    skip = tag("a", _SKIP.get(language, "Skip to the report"), class_="skip", href="#main")
    inside = tag("body", "\n", skip, "\n", *body, "\n", *(end if scripted else ()))
    page = tag("html", tag("head", *_head(title, sheet, scripted)), "\n", inside, lang=language)
    return join([Html("<!doctype html>\n"), page, "\n"])


def _head(title: str, sheet: Html, scripted: bool) -> list[Html]:
    allowed = (
        f"style-src {_hash(sheet)}; script-src {_hash(SCRIPT)}" if scripted else "style-src 'unsafe-inline'"
    )
    policy = f"default-src 'none'; {allowed}; base-uri 'none'; form-action 'none'"
    return [
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=policy),
        tag("meta", name_="viewport", content="width=device-width, initial-scale=1"),
        tag("title", title),
        tag("style", sheet),
    ]


def _hash(inline: str) -> str:
    """What a policy calls an inline text by (Content Security Policy Level 3, section 2.3.1)."""
    return f"'sha256-{b64encode(sha256(inline.encode()).digest()).decode()}'"
