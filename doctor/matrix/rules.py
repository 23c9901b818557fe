"""Rows of the matrix as rules: a row's terms are held against the facts, its texts fill the finding."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import get_args

import msgspec

from doctor.cures import install, set_variable, torch_for_machine, torch_from, uninstall
from doctor.facts import Facts, Stage
from doctor.failures import all_failure_text, shows
from doctor.findings import CONFIDENCES, SEVERITIES, Confidence, Evidence, Fix
from doctor.matrix.computed import computed_rows
from doctor.matrix.rows import PLATFORM_SUBJECTS, Remedy, Row, Term, load_rows
from doctor.rules import Hit, Rule
from doctor.versions import comparable

# The field of Facts that each subject of a term is read from.
FIELDS = {
    "python": "interpreter",
    "driver": "driver",
    "torch.cuda": "torch",
    "gpu.compute-capability": "gpus",
    "glibc": "system",
    "os": "system",
    "arch": "system",
}


@cache
def matrix_rules() -> tuple[Rule, ...]:
    """Every live row as a rule; rows of one id about the same subjects are one, what was written before what
    was computed."""
    together: dict[tuple[str, frozenset[str]], list[Row]] = {}
    for row in load_rows() + computed_rows():
        if not row.withdrawn:
            together.setdefault((row.id, frozenset(row.when)), []).append(row)
    return tuple(rule_of(*rows) for rows in together.values())


def rule_of(*rows: Row) -> Rule:
    """Rows of one id about the same subjects as one rule, so that one fault gives one finding."""
    first = rows[0]
    return Rule(
        id=first.id,
        severity=first.severity,
        needs=tuple(dict.fromkeys(FIELDS.get(subject, "packages") for subject in first.when)),
        breaks=united(row.breaks for row in rows),
        symptoms=united(row.symptoms for row in rows),
        describe=lambda: "\n\n".join(page(row) for row in rows),
        judge=lambda facts: told_once([(row, hit) for row in rows for hit in judge(row, facts)]),
        cure=lambda facts: cures(first, facts),
        question=question(first),
    )


def question(row: Row) -> str:
    """What decides whether it is this row, where only words are known: the releases that it speaks of."""
    named = [subject for subject in row.when if subject not in PLATFORM_SUBJECTS]
    asked = " and ".join([*named, *(subject for subject in row.when if subject in PLATFORM_SUBJECTS)])
    tells = f" python -m pip show {' '.join(named)} prints them." if named else ""
    return f"Which releases are there of {asked}?{tells}"


def told_once(hits: Sequence[tuple[Row, Hit]]) -> Iterator[Hit]:
    """Of hits that speak of one fault the surest of the gravest, with all that those of its gravity break."""
    if not hits:
        return
    gravest = min((row.severity for row, _ in hits), key=SEVERITIES.index)
    grave = [(row, hit) for row, hit in hits if row.severity == gravest]
    yield msgspec.structs.replace(
        min((hit for _, hit in grave), key=lambda hit: CONFIDENCES.index(hit.confidence)),
        severity=gravest,
        breaks=tuple(stage for stage in get_args(Stage) if any(stage in row.breaks for row, _ in grave)),
    )


def united(lists: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
    """All that several lists hold, once and in their order."""
    return tuple(dict.fromkeys(one for given in lists for one in given))


def page(row: Row) -> str:
    """The row as a page: what, when, why, the ways out, the sources."""
    title = filled(row.title, dict.fromkeys(row.when, "")).replace("  ", " ")
    when = ", ".join(f"{subject} {condition(term)}" for subject, term in row.when.items())
    fixes = "; ".join(fix.title for fix in cures(row, Facts())) or "none is known"
    why = " ".join(row.why.split())
    return f"{title}\n\nWhen: {when}\n\nWhy: {why}\n\nFix: {fixes}.\n\nReferences: {' '.join(row.references)}"


def condition(term: Term) -> str:
    """A term in words."""
    if term.absent:
        return "is not installed"
    return "is " + " or ".join(term.one_of) if term.one_of else str(term.interval)


def judge(row: Row, facts: Facts) -> Iterator[Hit]:
    """One hit where all terms hold and the trial did not show the contrary."""
    if not all(is_met(subject, term, facts) for subject, term in row.when.items()) or is_refuted(row, facts):
        return
    values = {subject: value_of(facts, subject) for subject in row.when}
    yield Hit(
        title=filled(row.title, values),
        why=" ".join(row.why.split()),
        evidence=tuple(evidence(subject, term, values[subject]) for subject, term in row.when.items()),
        fixes=cures(row, facts),
        confidence=confidence(row, facts, values),
    )


def is_met(subject: str, term: Term, facts: Facts) -> bool:
    """Does one term hold for these facts? What a file leaves out may still come with what it names."""
    unknown = term.absent and bool(facts.packages and facts.packages.is_partial)
    return not unknown and holds(term, value_of(facts, subject))


def filled(title: str, values: Mapping[str, str | None]) -> str:
    """A title with each {subject} replaced by what was seen of it."""
    return re.sub(r"\{([^}]*)\}", lambda name: values.get(name[1]) or "", title)


def value_of(facts: Facts, subject: str) -> str | None:
    """What the facts say of a subject; None where it is absent."""
    if subject not in PLATFORM_SUBJECTS:
        return facts.version_of(subject)
    libc = (facts.system.libc or "") if facts.system else ""
    values: Mapping[str, str | None] = {
        "python": facts.interpreter.version if facts.interpreter else None,
        "driver": facts.driver.version if facts.driver else None,
        "torch.cuda": facts.torch.cuda_version if facts.torch else None,
        "gpu.compute-capability": facts.gpus[0].compute_capability if facts.gpus else None,
        "glibc": libc.removeprefix("glibc ") if libc.startswith("glibc") else None,
        "os": facts.system.os if facts.system else None,
        "arch": facts.system.arch if facts.system else None,
    }
    return values[subject]


def holds(term: Term, value: str | None) -> bool:
    """Does one term hold for one value?"""
    if term.absent or value is None:
        return term.absent and value is None
    return value in term.one_of if term.one_of else term.interval.contains(value)


def is_installed(facts: Facts) -> bool:
    """Are the packages there already, and not only asked for by a file?"""
    wanted = facts.packages.wanted if facts.packages else None
    return wanted is None or wanted.form == "installed"


def is_refuted(row: Row, facts: Facts) -> bool:
    """Did every stage that the row says breaks run here and pass? Then what was seen outweighs it."""
    if row.breaks == ("install",) and is_installed(facts):
        return True
    if facts.trial is None:
        return False
    if not row.breaks:  # a note on other uses than those that were tried: told where its words were seen
        seen = any(shows(symptom, all_failure_text(facts)) for symptom in row.symptoms)
        return row.severity == "note" and not seen
    passed = {run.stage for run in facts.trial.runs if run.outcome == "ok"}
    if "sft-step" in passed:
        passed.add("trainer-step")  # trl's trainer is one of transformers', so only one of the two is tried
    return passed.issuperset(row.breaks)


def evidence(subject: str, term: Term, value: str | None) -> Evidence:
    """One sentence a term, generated, so that it cannot disagree with the condition."""
    if term.absent:
        return Evidence(subject, "not installed", "any release")
    if term.one_of:
        return Evidence(subject, value or "")
    return Evidence(subject, value or "", term.interval.outside)


def confidence(row: Row, facts: Facts, values: Mapping[str, str | None]) -> Confidence:
    """Confirmed where its symptom was seen here; possible where a bound is not sure for this release."""
    text = all_failure_text(facts)
    if any(shows(symptom, text) for symptom in row.symptoms):
        return "confirmed"
    sure = all(
        comparable(value) is None or term.interval.is_sure(value)
        for subject, term in row.when.items()
        if (value := values[subject])
    )
    return "likely" if sure else "possible"


def cures(row: Row, facts: Facts) -> tuple[Fix, ...]:
    """The ways out of a row, least change first."""
    return tuple(fix for remedy in row.fix for fix in cure(row, remedy, facts))[:2]


def cure(row: Row, remedy: Remedy, facts: Facts) -> tuple[Fix, ...]:
    """A remedy in the words of the target's installer; its versions fall out of the terms."""
    if remedy.downgrade == "torch.cuda":
        return torch_for_machine(facts)
    if remedy.upgrade:
        bound = row.when[remedy.upgrade].fixed
        of_machine = torch_from(facts, bound or "") if remedy.upgrade == "torch" else None
        title = f"Upgrade {remedy.upgrade} to {bound} or newer"
        return (of_machine or install(facts, title, f"{remedy.upgrade}>={bound}"),)
    if remedy.downgrade:
        bound = row.when[remedy.downgrade].introduced
        return (
            install(facts, f"Go back to {remedy.downgrade} below {bound}", f"{remedy.downgrade}<{bound}"),
        )
    if remedy.install:
        return (install(facts, f"Install {remedy.install}", remedy.install),)
    if remedy.uninstall:
        return (uninstall(facts, f"Uninstall {remedy.uninstall}", remedy.uninstall),)
    if remedy.set:
        name, _, value = remedy.set.partition("=")
        return (set_variable(f"Set {name}", name, value),)
    return (Fix(remedy.system or "", scope="system"),)
