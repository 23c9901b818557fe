"""HTML that is safe by construction: a string is text and is escaped, only what was built here is markup."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from doctor.plain import one_line, plain
from doctor.render.markdown_text import clipped

LONGEST = 4_000  # characters of one foreign text; a log that was taken for a title must not drown the page
_VOID = frozenset({"meta", "br"})


class Html(str):
    """Markup that is ready."""

    __slots__ = ()


Piece = Html | str


def tag(name: str, /, *inside: Piece, **attributes: str | bool) -> Html:
    """One element. ``aria_label`` is "aria-label"; True stands alone, False and "" are left out."""
    opened = f"<{name}{''.join(_attribute(key, value) for key, value in attributes.items())}>"
    return Html(opened if name in _VOID else f"{opened}{join(inside)}</{name}>")


def join(pieces: Iterable[Piece]) -> Html:
    """Pieces one after the other."""
    return Html("".join(piece if isinstance(piece, Html) else text(piece) for piece in pieces))


def text(foreign: str, longest: int = LONGEST) -> Html:
    """Text as it is, without what a terminal or a reader of right-to-left text would obey."""
    return Html(escape(plain(clipped(foreign, longest)), quote=False))


def _attribute(key: str, value: str | bool) -> str:
    if value is False or value == "":
        return ""
    name = key.rstrip("_").replace("_", "-")
    return f" {name}" if value is True else f' {name}="{escape(one_line(clipped(str(value), LONGEST)))}"'
