"""Faults that only their words tell of: what no probe sees and no version shows.

One row a fault, in ``compat_matrix/messages``. A row becomes a rule like any other; it never finds anything
in facts, and ``triage`` knows it by its symptoms.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import msgspec

from doctor.cures import install, set_variable, uninstall
from doctor.facts import Facts, Stage
from doctor.findings import Fix, Scope, Severity
from doctor.matrix.rows import FOLDER, MatrixInvalid, read_toml, symptom_complaints
from doctor.rules import Rule


class Cure(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One way out: in words, by commands as they stand, or by packages for the target's installer."""

    title: str
    scope: Scope = "environment"
    commands: tuple[tuple[str, ...], ...] = ()
    install: tuple[str, ...] = ()  # requirements: ("peft>=0.14",)
    uninstall: str = ""
    set: str = ""  # "NAME=value", of an environment variable


class Message(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One fault, known by what it prints."""

    id: str
    severity: Severity
    title: str
    why: str
    symptoms: tuple[str, ...]  # substrings, or patterns behind "re:"
    references: tuple[str, ...]
    checked: datetime.date
    fix: tuple[Cure, ...] = ()
    see: str = ""  # how a reader sees whether it is his case
    verify: str = ""  # how to see that it is cured
    in_vain: str = ""  # what people try and what does not help
    question: str = ""
    breaks: tuple[Stage, ...] = ()


@cache
def message_rules() -> tuple[Rule, ...]:
    """Every fault that is known by words alone, as a rule."""
    return tuple(rule_of(message) for message in load_messages())


@cache
def load_messages() -> tuple[Message, ...]:
    """All rows, file by file. Raises :class:`MatrixInvalid` with file and row."""
    files = sorted((FOLDER / "messages").glob("*.toml"))
    return tuple(message for file in files for message in read_messages(file))


def read_messages(file: Path) -> Iterator[Message]:
    """The rows of one file. Raises :class:`MatrixInvalid`."""
    for table in read_toml(file).get("message", ()):
        try:
            yield msgspec.convert(table, Message)
        except msgspec.ValidationError as error:
            raise MatrixInvalid(f"{file.name}: {table.get('id', '?')}: {error}") from error


def complaints(message: Message) -> Iterator[str]:
    """What is wrong with a row beyond its types, for the tests."""
    if not re.fullmatch(r"[a-z0-9-]+/[a-z0-9-]+", message.id):
        yield f"id: {message.id!r} is not subject/fault"
    if not (message.symptoms and message.references):
        yield "a row needs symptoms, and a source"
    for symptom in message.symptoms:
        yield from symptom_complaints(symptom)


def rule_of(message: Message) -> Rule:
    """One row as a rule."""
    return Rule(
        id=message.id,
        severity=message.severity,
        needs=("paste",),
        breaks=message.breaks,
        symptoms=message.symptoms,
        describe=lambda: page(message),
        judge=lambda facts: (),
        cure=lambda facts: tuple(fix_of(cure, facts) for cure in message.fix),
        question=message.question,
    )


def page(message: Message) -> str:
    """The row as a page, in the headings of the docstrings of rules."""
    fixes = "; ".join(cure.title for cure in message.fix) or "none is known"
    parts = {
        "Why": message.why,
        "See": message.see,
        "Fix": f"{fixes}.",
        "Verify": message.verify,
        "Tried in vain": message.in_vain,
        "References": " ".join(message.references),
    }
    told = (f"{heading}: {' '.join(text.split())}" for heading, text in parts.items() if text.strip())
    return "\n\n".join([message.title, *told])


def fix_of(cure: Cure, facts: Facts) -> Fix:
    """A cure in the words of the target's installer."""
    if cure.install:
        return install(facts, cure.title, *cure.install)
    if cure.uninstall:
        return uninstall(facts, cure.title, cure.uninstall)
    if cure.set:
        name, _, value = cure.set.partition("=")
        return set_variable(cure.title, name, value)
    return Fix(cure.title, cure.commands, cure.scope)
