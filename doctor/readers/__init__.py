"""Readers turn the text of a file into facts: one module a format, nothing run, nothing fetched.

A reader takes a :class:`Source` and gives a :class:`~doctor.facts.Wanted`. A line that it does not understand
becomes a note and reading goes on; only a file that cannot be read as a whole raises :class:`Unreadable`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from doctor.wanted import Note, Requirement


class Unreadable(Exception):
    """A file that cannot be read; the message says why in one sentence, without the file's name."""


def refuse_include(path: str) -> str:
    """The include of a text that lies nowhere, so that no path leads from it to another."""
    raise Unreadable(f"{path} is included, and a text without a folder can include nothing")


class Source(NamedTuple):
    """A text, the name by which people know it, and the way to the files that it includes."""

    name: str
    text: str
    include: Callable[[str], str] = refuse_include  # path -> text; raises Unreadable

    @property
    def lines(self) -> list[str]:
        """The lines, counted as editors count them."""
        return self.text.split("\n")


class Lines:
    """What reading gathers: requirements, notes, indexes, each with its place in a file."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.requirements: list[Requirement] = []
        self.notes: list[Note] = []
        self.index_urls: list[str] = []

    def note(self, line: int, text: str) -> None:
        """Keep what was odd about a line, the first forty times: a file of rubbish is rubbish once."""
        if len(self.notes) < 40:
            self.notes.append(Note(file=self.file, line=line, text=text))
