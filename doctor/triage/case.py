"""One paste with all that is known of it: what every part of triage is asked about."""

from __future__ import annotations

import re
from typing import NamedTuple

from doctor.facts import Facts
from doctor.failures import shows
from doctor.findings import Finding, Question
from doctor.paste import Complaint, Paste


class Case(NamedTuple):
    """The facts that a paste gives, and the cleaned text that they came from."""

    facts: Facts
    text: str  # without escapes, quotes and prefixes of ranks; its lines are those of the paste
    # Lines that were broken, in one line each, stand at the end of the text; here is where each was.
    broken: tuple[int, ...] = ()

    @property
    def paste(self) -> Paste:
        """What the paste says; empty where these facts came from elsewhere."""
        return self.facts.paste or Paste(forms=())

    @property
    def complaints(self) -> tuple[Complaint, ...]:
        """Errors and warnings, in the order in which they stand."""
        return self.paste.complaints

    def version(self, package: str) -> str | None:
        """The version that is stated of a package, None where none is."""
        return self.facts.version_of(package)

    def says(self, symptom: str) -> bool:
        """Does the text show a symptom: a plain substring, or a pattern behind ``re:``?"""
        return shows(symptom, self.text)

    def variable(self, name: str) -> str | None:
        """What an environment variable is said to be set to, None where it is not told."""
        return (self.facts.environment or {}).get(name)

    def mentions(self, word: str) -> bool:
        """Does the text have a word of its own, in either case and spelling of "-"?"""
        spelled = re.escape(word).replace(r"\-", "[-_ ]?")
        return re.search(rf"(?<![\w-]){spelled}(?![\w-])", self.text, re.I) is not None


class Suspicion(NamedTuple):
    """One fault that a complaint may be the sign of."""

    finding: Finding
    line: int  # of the paste, where the complaint stands
    question: Question | None = None  # whose answer decides, where nothing in the paste does
