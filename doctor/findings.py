"""What judging yields: findings with evidence and fixes, and the report that carries them."""

from __future__ import annotations

from typing import Literal

import msgspec

from doctor.facts import Facts, Gap

Severity = Literal["error", "warning", "note"]
Confidence = Literal["confirmed", "likely", "possible"]
Scope = Literal["script", "setting", "environment", "system", "hardware"]
Verdict = Literal["healthy", "impaired", "broken", "undetermined"]

SEVERITIES: tuple[Severity, ...] = ("error", "warning", "note")
CONFIDENCES: tuple[Confidence, ...] = ("confirmed", "likely", "possible")


class Evidence(msgspec.Struct, frozen=True):
    """One thing that was seen, and what was wanted in its place ("" where nothing else was)."""

    subject: str
    seen: str
    wanted: str = ""
    where: str = ""  # "requirements.txt:3", where it stands in a file


class Fix(msgspec.Struct, frozen=True):
    """One way out. ``commands`` are argument vectors, ready for the target's own interpreter."""

    title: str
    commands: tuple[tuple[str, ...], ...] = ()
    scope: Scope = "environment"
    verified: bool | None = None  # True only after the target's own installer agreed


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One fault, named, shown and with its cure."""

    id: str  # "subject/fault"
    severity: Severity
    confidence: Confidence
    title: str
    why: str = ""
    breaks: tuple[str, ...] = ()  # stages of a fine-tune
    evidence: tuple[Evidence, ...] = ()
    against: tuple[Evidence, ...] = ()  # what speaks against it, where it is not sure
    fixes: tuple[Fix, ...] = ()
    symptoms: tuple[Finding, ...] = ()  # findings that this one explains


class Question(msgspec.Struct, frozen=True):
    """What to ask where nothing that is known decides."""

    text: str
    commands: tuple[tuple[str, ...], ...] = ()  # that answer it
    decides: tuple[str, ...] = ()  # ids of the findings between which it decides


class NotJudged(msgspec.Struct, frozen=True):
    """A rule that could not be asked, and the facts that it lacked."""

    id: str
    missing: tuple[str, ...]


class Subject(msgspec.Struct, frozen=True):
    """What a report is about."""

    kind: Literal["live", "report", "requirements", "script", "node"]
    name: str


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """The promise to other programs: changing or removing a field needs a new ``schema``."""

    schema: int = 1
    tool_version: str
    matrix_reviewed: str
    subject: Subject
    verdict: Verdict
    primary: str | None
    findings: tuple[Finding, ...] = ()
    gaps: tuple[Gap, ...] = ()
    not_judged: tuple[NotJudged, ...] = ()
    questions: tuple[Question, ...] = ()
    facts: Facts
