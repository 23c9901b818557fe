"""What each complaint may be the sign of: by its words, by what tells like words apart, by the tables."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Sequence
from functools import cache
from importlib import import_module

import msgspec

from doctor.diagnosis import LAYERS
from doctor.findings import Confidence, Evidence, Finding, Fix, Question, Severity
from doctor.matrix.rows import Row
from doctor.matrix.rules import cures as cures_of_row
from doctor.matrix.rules import evidence as evidence_of_term
from doctor.matrix.rules import filled, is_met, value_of
from doctor.pages.telling import of_family, sentence
from doctor.rules import Rule, why_of
from doctor.triage.case import Case, Suspicion
from doctor.triage.lookups import look_up
from doctor.triage.recognition import Sighting, Words, rule_named, symptom_rows, symptom_rules
from doctor.triage.suspects import HARMLESS, Ambiguous

WORDS = "error text"  # the subject of evidence that is quoted from the paste
PARTS = ("native", "libraries")  # modules of doctor.triage.suspects


@cache
def ambiguous() -> tuple[Ambiguous, ...]:
    """Every message that several faults print."""
    modules = (import_module(f"doctor.triage.suspects.{part}") for part in PARTS)
    return tuple(row for module in modules for row in module.AMBIGUOUS)


def suspicions(case: Case) -> list[Suspicion]:
    """All that the words of a case point at; several of one complaint where nothing decides."""
    decided = list(by_tables(case))
    return in_words(Words(case), decided, case) or in_words(Words(case, any_case=True), [], case)


def in_words(words: Words, decided: Sequence[Suspicion], case: Case) -> list[Suspicion]:
    """What the words point at, beside what is decided by the tables already."""
    looked_up = {suspicion.line for suspicion in decided}
    told_apart = [
        suspicion
        for row in ambiguous()
        for sighting in words.sightings(row.message)
        if sighting.line not in looked_up
        for suspicion in by_elimination(row, sighting, case)
    ]
    taken = looked_up | {suspicion.line for suspicion in told_apart}
    plain = list(by_symptoms(words, case))
    # A row whose releases are all stated knows more than tables and tests that go by the words.
    sure = [one for one in plain if one.finding.confidence == "confirmed"]
    rest = [one for one in plain if one.line not in taken and one not in sure]
    return [*undecided(sure), *decided, *told_apart, *undecided(rest)]


def by_tables(case: Case) -> Iterator[Suspicion]:
    """Complaints whose meaning is looked up in the tables of releases."""
    for complaint in case.complaints:
        yield from look_up(complaint, case)


def by_elimination(row: Ambiguous, sighting: Sighting, case: Case) -> Iterator[Suspicion]:
    """The suspect that the paste shows; else those that it does not exclude, the likeliest first."""
    held = [(suspect, suspect.holds(case)) for suspect in row.suspects]
    shown = [suspect for suspect, holds in held if holds]
    left = shown[:1] or [suspect for suspect, holds in held if holds is None]
    question = asked(row, [suspect.id for suspect in left]) if len(left) > 1 else None
    for suspect in left[:3]:
        if suspect.id == HARMLESS:
            yield harmless(sighting)
        elif rule := rule_named(suspect.id):
            finding = of_rule(rule, sighting, case, "likely" if len(left) == 1 else "possible")
            if shown and suspect.because:
                because = Evidence("paste", suspect.because)
                finding = msgspec.structs.replace(finding, evidence=(*finding.evidence, because))
            yield Suspicion(finding, sighting.line, question)


def asked(row: Ambiguous, ids: Sequence[str]) -> Question | None:
    """The question that decides between what is left."""
    return Question(row.question, (row.command,) if row.command else (), tuple(ids)) if row.question else None


def by_symptoms(words: Words, case: Case) -> Iterator[Suspicion]:
    """Complaints that are the words of one fault."""
    for rule in symptom_rules():
        for symptom in rule.symptoms:
            for sighting in words.sightings(symptom):
                question = Question(rule.question, (), (rule.id,)) if rule.question else None
                yield Suspicion(of_rule(rule, sighting, case, "likely"), sighting.line, question)
    for row in symptom_rows():
        standing = stands(row, case)
        for symptom in row.symptoms if standing is not False else ():
            for sighting in words.sightings(symptom):
                yield Suspicion(of_row(row, sighting, case, bool(standing)), sighting.line)


def stands(row: Row, case: Case) -> bool | None:
    """Do the terms of a row hold here? None where the paste does not tell all of them."""
    told = []
    for subject, term in row.when.items():
        unknown = value_of(case.facts, subject) is None
        if not unknown and not is_met(subject, term, case.facts):
            return False
        told.append(not unknown)
    return True if all(told) else None


def undecided(plain: Sequence[Suspicion]) -> Iterator[Suspicion]:
    """Suspicions of one line, each fault once: several faults of equal standing are only possible."""
    by_line: dict[int, dict[str, Suspicion]] = {}
    for one in plain:
        known = by_line.setdefault(one.line, {})
        if one.finding.id not in known or one.finding.confidence == "confirmed":
            known[one.finding.id] = one
    for same in by_line.values():
        sure = [one for one in same.values() if one.finding.confidence == "confirmed"]
        left = sorted(sure or same.values(), key=lambda one: layer(one.finding.id))
        for one in left:
            finding = one.finding
            if len(left) > 1 and not sure:
                finding = msgspec.structs.replace(finding, confidence="possible")
            yield one._replace(finding=finding)


def layer(id: str) -> int:
    """How low in the stack a fault lies."""
    subject = id.split("/")[0]
    return LAYERS.index(subject) if subject in LAYERS else len(LAYERS)


def of_rule(rule: Rule, sighting: Sighting, case: Case, confidence: Confidence) -> Finding:
    """A fault that only its words tell of, as a finding."""
    page = inspect.cleandoc(rule.page)
    return Finding(
        id=rule.id,
        severity=gravity(rule, sighting),
        confidence=confidence,
        title=of_family(rule.id, page.split("\n\n")[0].strip()),
        why=sentence(why) if (why := why_of(page)) else "",
        breaks=rule.breaks,
        evidence=(shown(sighting),),
        fixes=tuple(rule.cure(case.facts))[:2] if rule.cure else written_fix(page),
    )


def gravity(rule: Rule, sighting: Sighting) -> Severity:
    """An error where one was pasted: what a machine is only told of beforehand has happened here."""
    complaint = sighting.complaint
    is_warning = complaint.level == "warning" if complaint else rule.severity == "note"
    if not is_warning:
        return "error"
    return "warning" if rule.severity == "note" else rule.severity


def written_fix(page: str) -> tuple[Fix, ...]:
    """What the page of a fault says under ``Fix:``."""
    paragraphs = (part.strip() for part in page.split("\n\n"))
    found = next((part for part in paragraphs if part.startswith("Fix:")), "")
    return (Fix(" ".join(found[4:].split()).rstrip(".")),) if found else ()


def of_row(row: Row, sighting: Sighting, case: Case, holds: bool) -> Finding:
    """A row of the matrix whose words were seen, as a finding."""
    values = {subject: value_of(case.facts, subject) for subject in row.when}
    terms = tuple(
        evidence_of_term(subject, term, values[subject])
        for subject, term in row.when.items()
        if values[subject] is not None
    )
    return Finding(
        id=row.id,
        severity=row.severity,
        confidence="confirmed" if holds else "likely",
        title=re.sub(" {2,}", " ", filled(row.title, values)).replace(" ,", ","),
        why=" ".join(row.why.split()),
        breaks=row.breaks,
        evidence=(shown(sighting), *terms),
        fixes=cures_of_row(row, case.facts),
    )


def harmless(sighting: Sighting) -> Suspicion:
    """A line that healthy machines print as well."""
    finding = Finding(
        id=HARMLESS,
        severity="note",
        confidence="confirmed",
        title="The paste has lines that healthy environments print as well",
        evidence=(shown(sighting),),
    )
    return Suspicion(finding, sighting.line)


def shown(sighting: Sighting) -> Evidence:
    """The line that a suspicion rests on."""
    return Evidence(WORDS, sighting.seen, where=f"line {sighting.line}")
