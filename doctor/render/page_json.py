"""Pages and lists of faults for programs."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from doctor.page import Brief, Page


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """The promise to other programs: changing or removing a field needs a new ``schema``."""

    schema: int = 1
    pages: tuple[Page, ...] = ()
    faults: tuple[Brief, ...] = ()  # that fit as well, or all of a list


def render(pages: Sequence[Page], faults: Sequence[Brief]) -> str:
    """One document, indented."""
    text = msgspec.json.encode(Answer(pages=tuple(pages), faults=tuple(faults)))
    return msgspec.json.format(text, indent=2).decode() + "\n"


def render_lines(pages: Sequence[Page], faults: Sequence[Brief]) -> str:
    """One page or fault a line."""
    return "".join(msgspec.json.encode(one).decode() + "\n" for one in (*pages, *faults))
