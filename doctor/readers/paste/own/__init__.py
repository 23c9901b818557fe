"""Reports of lora-doctor itself: JSON, JSON Lines, Markdown and what it prints to a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from doctor.facts import Facts, Gap, Package, Packages
from doctor.readers.paste import Block
from doctor.readers.paste.own import subjects
from doctor.readers.paste.own.documents import Document, documents
from doctor.readers.paste.own.telling import tell

# Fields that only some commands fill, and that no gap explains.
OF_SOME_COMMANDS = ("reading", "workload", "script", "paste", "gaps")


def read(lines: Sequence[str]) -> Iterator[Block]:
    """Each report that is told as JSON, cut or whole, and each that is told as lines."""
    yield from subjects.read(lines)
    for document in documents(lines):
        yield from tell(document)


def whole(text: str) -> Facts | None:
    """The facts of the first report that has them all; None where none does.

    Markdown tells the packages beside the other facts: without their requirements, and where there was no
    room for the list not at all.
    """
    lines = text.split("\n")
    for document in documents(lines):
        if not document.is_cut and (facts := facts_of(document)):
            return facts if document.is_report else with_gaps(with_packages(facts, lines))
    return None


def facts_of(document: Document) -> Facts | None:
    """What a whole document tells; None where it is not as this release writes it."""
    try:
        return msgspec.convert(document.facts, Facts)
    except (msgspec.ValidationError, RecursionError):
        return None


def with_packages(facts: Facts, lines: Sequence[str]) -> Facts:
    """Facts with the packages that a list beside them names."""
    listed = {name: package(name, version) for name, version in subjects.packages(lines)}
    return msgspec.structs.replace(facts, packages=Packages(installed=listed)) if listed else facts


def package(name: str, version: str) -> Package:
    """A package of which no more is told."""
    return Package(name=name, version=version, location="", installer="")


def with_gaps(facts: Facts) -> Facts:
    """Facts in which a gap says of each field that is missing that the report does not tell it."""
    missing = [
        field
        for field in facts.__struct_fields__
        if field not in OF_SOME_COMMANDS and getattr(facts, field) is None
    ]
    gaps = [Gap(about=field, kind="not-asked", reason="the report does not tell it") for field in missing]
    return msgspec.structs.replace(facts, gaps=tuple(gaps))
