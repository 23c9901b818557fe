"""A case to a report: the first real error is explained first; what is missing to be sure is asked for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from doctor.diagnosis import diagnose, machine_rules
from doctor.findings import CONFIDENCES, SEVERITIES, Evidence, Finding, Report, Subject, Verdict
from doctor.matrix.build_rules import build_rules
from doctor.paste import Complaint
from doctor.triage.asking import questions_of
from doctor.triage.case import Case, Suspicion
from doctor.triage.lookups.imports import broken_imports
from doctor.triage.noise import HARMLESS as HARMLESS_LINES
from doctor.triage.recognition import Words
from doctor.triage.suspecting import WORDS, harmless, suspicions
from doctor.triage.suspects import HARMLESS

OF_THE_USER = ("script/", "workload/")  # the environment is fine
SHOWN = 3  # lines of evidence that one fault is shown by
LEVELS = ("error", "line", "warning")


def judge(case: Case, name: str, ignore: Sequence[str] = ()) -> Report:
    """The report of one paste."""
    rules = (*machine_rules(), *build_rules())
    judged = diagnose(case.facts, Subject("report", name), ignore, rules)
    prefixes = tuple(prefix for prefix in ignore if prefix)
    told = suspicions(case)
    if not any(one.severity == "error" for one in (*judged.findings, *(one.finding for one in told))):
        told += broken_imports(case)
    told = [one for one in told if not (prefixes and one.finding.id.startswith(prefixes))]
    by_words = together(told, judged.findings, case)
    findings = [*by_words, *by_facts_alone(judged.findings, by_words), *noise(case, told)]
    to_cure = [one for one in findings if one.severity != "note"]
    return msgspec.structs.replace(
        judged,
        findings=tuple(findings),
        primary=to_cure[0].id if to_cure else None,
        verdict=verdict(findings, unexplained(case, told), case),
        questions=questions_of(case, told, findings, unexplained(case, told)),
    )


def together(told: Sequence[Suspicion], judged: Sequence[Finding], case: Case) -> list[Finding]:
    """What the words point at, each fault once with all that speaks for it, what to believe most first."""
    facts = {finding.id: finding for finding in judged}
    best: dict[str, Suspicion] = {}
    for one in sorted(told, key=lambda one: place(one, case)):
        known = best.get(one.finding.id)
        if known is None:
            best[one.finding.id] = seen_in_facts(one, facts.get(one.finding.id))
        else:
            best[one.finding.id] = known._replace(finding=with_evidence(known.finding, one.finding.evidence))
    return [one.finding for one in sorted(best.values(), key=lambda one: place(one, case))]


def place(suspicion: Suspicion, case: Case) -> tuple[int, int, bool, int, int]:
    """Where a suspicion stands: the surer first, then the graver, then the first real error.

    Those of one complaint keep their order, the likeliest first.
    """
    finding, complaint = suspicion.finding, complaint_at(suspicion.line, case)
    return (
        CONFIDENCES.index(finding.confidence),
        SEVERITIES.index(finding.severity),
        bool(complaint and complaint.is_wrapper),
        LEVELS.index(complaint.level if complaint else "line"),
        suspicion.line,
    )


def complaint_at(line: int, case: Case) -> Complaint | None:
    """The complaint that a line belongs to."""
    return next((one for one in case.complaints if one.line <= line <= last_line(one)), None)


def last_line(complaint: Complaint) -> int:
    """The last line of a complaint's message."""
    return complaint.line + complaint.message.count("\n")


def seen_in_facts(suspicion: Suspicion, judged: Finding | None) -> Suspicion:
    """A suspicion with what the facts say of the same fault, if they say it."""
    if judged is None:
        return suspicion
    finding = with_evidence(suspicion.finding, judged.evidence)
    finding = msgspec.structs.replace(
        finding,
        confidence="confirmed" if judged.confidence != "possible" else "likely",
        title=judged.title,
        why=finding.why or judged.why,
        fixes=judged.fixes or finding.fixes,
    )
    return suspicion._replace(finding=finding, question=None)


def with_evidence(finding: Finding, more: Iterable[Evidence]) -> Finding:
    """A finding with further evidence, each thing once and not too much of it."""
    known: dict[tuple[str, str], Evidence] = {}
    for one in (*finding.evidence, *more):
        same = known.get((one.subject, one.seen), one)
        known[one.subject, one.seen] = Evidence(
            one.subject, one.seen, same.wanted or one.wanted, same.where or one.where
        )
    words = [one for one in known.values() if one.subject == WORDS][:SHOWN]
    others = [one for one in known.values() if one.subject != WORDS]
    return msgspec.structs.replace(finding, evidence=(*words, *others))


def by_facts_alone(judged: Sequence[Finding], by_words: Sequence[Finding]) -> Iterator[Finding]:
    """What only the stated versions and devices say; where the words are explained it did not happen."""
    known = {finding.id for finding in by_words}
    explained = any(one.severity == "error" and one.confidence != "possible" for one in by_words)
    for finding in judged:
        if finding.id in known:
            continue
        if explained and finding.severity == "error":
            against = Evidence(WORDS, "the error that is pasted has another cause")
            finding = msgspec.structs.replace(finding, confidence="possible", against=(against,))
        yield finding


def noise(case: Case, told: Sequence[Suspicion]) -> Iterator[Finding]:
    """One note on all lines that healthy machines print as well."""
    if any(one.finding.id == HARMLESS for one in told):
        return
    words = Words(case)
    seen = [sighting for symptom in HARMLESS_LINES for sighting in words.sightings(symptom)]
    if seen:
        first, *others = sorted(seen, key=lambda sighting: sighting.line)
        finding = harmless(first).finding
        yield with_evidence(finding, [one for other in others for one in harmless(other).finding.evidence])


def unexplained(case: Case, told: Sequence[Suspicion]) -> list[Complaint]:
    """Errors that nothing is known of, where nothing of their chain is either."""
    lines = {one.line for one in told}
    words = Words(case)
    lines |= {sighting.line for symptom in HARMLESS_LINES for sighting in words.sightings(symptom)}
    known = [one for one in case.complaints if any(one.line <= line <= last_line(one) for line in lines)]
    chains = {one.chain for one in known if one.chain}
    return [
        one
        for one in case.complaints
        if one.level == "error" and one not in known and one.chain not in chains
    ]


def verdict(findings: Sequence[Finding], unknown: Sequence[Complaint], case: Case) -> Verdict:
    """What the findings say of the environment; only what is known to be well is called healthy."""
    about = [one for one in findings if not one.id.startswith(OF_THE_USER)]
    errors = [one for one in about if one.severity == "error"]
    if any(one.confidence != "possible" for one in errors):
        return "broken"
    if errors:
        return "undetermined"
    if any(one.severity == "warning" for one in about):
        return "impaired"
    is_known = any(one.id.startswith(OF_THE_USER) or one.id == HARMLESS for one in findings)
    is_known = is_known or case.facts.files is not None  # a report of ours, of the machine itself
    users = [one for one in findings if one.id.startswith(OF_THE_USER)]
    return "healthy" if is_known and (users or not unknown) else "undetermined"
