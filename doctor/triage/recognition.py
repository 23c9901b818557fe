"""Which faults the words of a paste are known for: every symptom is held against the text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import NamedTuple

from doctor.diagnosis import known_rules
from doctor.matrix.computed import computed_rows
from doctor.matrix.messages import message_rules
from doctor.matrix.rows import Row, load_rows
from doctor.paste import Complaint
from doctor.rules import Rule
from doctor.rules import code_rules as rules_in_code
from doctor.triage.case import Case

LONGEST_SEEN = 300  # characters of a line that is shown as evidence


class Sighting(NamedTuple):
    """One symptom in one place of a paste."""

    symptom: str
    line: int  # of the paste, counted from 1
    seen: str  # the line, or the message in one line
    captures: Mapping[str, str]
    complaint: Complaint | None  # that it stands in


@cache
def symptom_rules() -> tuple[Rule, ...]:
    """The rules that are known by words: those in code, and the faults that nothing else tells of."""
    return tuple(rule for rule in (*rules_in_code(), *message_rules()) if rule.symptoms)


@cache
def symptom_rows() -> tuple[Row, ...]:
    """The rows of the matrix that are known by words."""
    return tuple(row for row in load_rows() + computed_rows() if row.symptoms and not row.withdrawn)


@cache
def rule_named(id: str) -> Rule | None:
    """The first rule of an id: written in code, of the matrix, or of words alone."""
    return next((rule for rule in known_rules() if rule.id == id), None)


@cache
def compiled(symptom: str, any_case: bool = False) -> re.Pattern[str]:
    """A symptom as a pattern."""
    pattern = symptom[3:] if symptom.startswith("re:") else re.escape(symptom)
    return re.compile(pattern, re.I if any_case else 0)


class Words:
    """The text of a case, made ready to be asked for many symptoms.

    ``any_case``: people type errors off, and some forms and logs lower them.
    """

    def __init__(self, case: Case, any_case: bool = False) -> None:
        self.any_case = any_case
        self.text, self.broken = case.text, case.broken
        self.starts = [0, *(found.end() for found in re.finditer("\n", self.text))]
        # A message that is wrapped over lines, or cut by a box, is looked at in one line as well.
        self.joined = [(one, " ".join(one.text.split())) for one in case.complaints if "\n" in one.text]
        self.by_line: dict[int, Complaint] = {}
        for one in case.complaints:
            for line in range(one.line, one.line + one.message.count("\n") + 1):
                self.by_line.setdefault(line, one)

    def sightings(self, symptom: str) -> Iterator[Sighting]:
        """The first place of a symptom in the text, else in a message in one line."""
        found = self.first(symptom)
        if found is not None:
            number = self.line_at(found.start())
            line = self.place(number)
            yield Sighting(symptom, line, self.line(number), captured(found), self.by_line.get(line))
            return
        for complaint, message in self.joined:
            if found := compiled(symptom, self.any_case).search(message):
                yield Sighting(symptom, complaint.line, cut(message), captured(found), complaint)
                return

    def first(self, symptom: str) -> re.Match[str] | None:
        """Where a symptom stands first; a plain one is looked for as a plain text, which is faster."""
        if not symptom.startswith("re:") and symptom not in self.text and not self.any_case:
            return None
        return compiled(symptom, self.any_case).search(self.text)

    def line_at(self, position: int) -> int:
        """The line of a position in the text."""
        from bisect import bisect_right

        return bisect_right(self.starts, position)

    def place(self, number: int) -> int:
        """Where a line of the text stands in the paste, of which the last lines are repetitions."""
        beyond = number - (len(self.starts) - len(self.broken))
        return self.broken[beyond - 1] if beyond > 0 else number

    def line(self, number: int) -> str:
        """One line of the text, cut."""
        end = self.starts[number] - 1 if number < len(self.starts) else len(self.text)
        return cut(self.text[self.starts[number - 1] : end].strip())


def cut(text: str) -> str:
    """A text that fits into a line of evidence."""
    return text if len(text) <= LONGEST_SEEN else f"{text[: LONGEST_SEEN - 1]}…"


def captured(found: re.Match[str]) -> dict[str, str]:
    """The named groups that took part."""
    return {name: value for name, value in found.groupdict().items() if value}
