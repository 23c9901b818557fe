"""Facts -> Report. Judging is pure: no file, no process, no clock, no network."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import get_args

import msgspec

from doctor import __version__
from doctor.facts import Facts, Stage, StageRun
from doctor.failures import asks_for, failure_text, first_cause, names, points_at, shows
from doctor.findings import (
    CONFIDENCES,
    SEVERITIES,
    Evidence,
    Finding,
    NotJudged,
    Report,
    Subject,
    Verdict,
)
from doctor.matrix.rows import reviewed
from doctor.matrix.rules import matrix_rules
from doctor.misfit import MISFIT, gathered
from doctor.plugins.rules import plugin_rules
from doctor.rules import Rule, code_rules

# What stands on what: the cure of an earlier subject comes first.
LAYERS = (
    *("python", "system", "driver", "gpu", "rocm", "cuda", "torch", "numpy", "triton", "bitsandbytes"),
    *("flash-attn", "xformers", "extension", "deepspeed"),
    *("tokenizers", "huggingface-hub", "accelerate", "transformers", "datasets", "peft", "trl", "smoke"),
)
TOO_NEW_BUILD = ("driver/too-old-for-cuda-runtime", "torch/gpu-arch-missing")  # for driver, for GPU
UNMET, NOT_WHOLE = "python/requirement-unsatisfied", "python/files-missing-or-altered"
OVERLAP = "python/packages-overlap"
NOT_FOUND = "system/library-missing"
LOADED = ("cuda/", "torch/native-library")  # faults of what torch loads, wheels of NVIDIA's above all
SHADOWS = ("python/module-shadowed", "python/path-pollution")
# What is there is repaired before what is absent is added.
ADDITIONS = ("/missing", "/stack-missing", "/requirement-unsatisfied")
# Findings that say only that a stage failed: whatever explains the failure comes in their place.
FAILURES = ("import-failed", "import-crashed", "import-hung", "stage-failed")
PREDICTED = "smoke/predicted-failure"
ASKED_FOR = ("reading", "workload")  # facts that are there only where somebody asks for them
# These name the stages that they fail themselves.
OF_A_NAME = ("python/too-old-for-package", "python/too-new-for-package")
# Whoever asks such a driver dies or waits as well, and leaves no words.
DEADLY = ("driver/crashes", "driver/hangs")


def all_rules() -> tuple[Rule, ...]:
    """The rules written as code, then the rows of the matrix, then what its platform tables say of files."""
    from doctor.matrix.build_rules import build_rules  # a machine shows its builds, and need not wait for it

    ours = (*code_rules(), *matrix_rules(), *build_rules(), MISFIT)
    return (*ours, *plugin_rules(ours))


def known_rules() -> tuple[Rule, ...]:
    """Every fault that the doctor knows, those that only words tell of among them."""
    from doctor.matrix.messages import message_rules

    return (*all_rules(), *message_rules())


def machine_rules() -> tuple[Rule, ...]:
    """Every rule but those of scripts: a machine does not lack one."""
    ours = code_rules(scripts=False) + matrix_rules()
    return ours + plugin_rules(ours)


def diagnose(
    facts: Facts, subject: Subject, ignore: Sequence[str] = (), rules: Sequence[Rule] | None = None
) -> Report:
    """Judge facts by every rule or by those given, fold symptoms into their causes, order what is left."""
    if rules is None:
        rules = machine_rules() if facts.script is None else all_rules()
    unasked = {field for field in ASKED_FOR if getattr(facts, field) is None}
    rules = [rule for rule in rules if not unasked & {*rule.needs}]
    found, not_judged = judge(facts, rules)
    prefixes = tuple(prefix for prefix in ignore if prefix)
    kept = [finding for finding in found if not finding.id.startswith(prefixes)] if prefixes else found
    findings = ordered(gathered(fold(kept, facts, symptoms_by_id(rules)), facts))
    to_cure = [finding for finding in findings if finding.severity != "note"]
    return Report(
        tool_version=__version__,
        matrix_reviewed=str(reviewed()["date"]),
        subject=subject,
        verdict=verdict(findings, facts),
        primary=to_cure[0].id if to_cure else None,
        findings=tuple(findings),
        gaps=facts.gaps,
        not_judged=tuple(not_judged),
        facts=facts,
    )


def judge(facts: Facts, rules: Iterable[Rule]) -> tuple[list[Finding], list[NotJudged]]:
    """The findings of every rule that can be asked, and the facts that the others lack."""
    findings: list[Finding] = []
    not_judged: dict[str, tuple[str, ...]] = {}
    for rule in rules:
        missing = tuple(need for need in rule.needs if not facts.has(need))
        if missing:
            known = not_judged.get(rule.id, ())  # rows may share an id
            not_judged[rule.id] = tuple(dict.fromkeys((*known, *missing)))
            continue
        try:
            findings += [rule.finding(hit) for hit in rule.judge(facts)]
        except Exception as error:  # one rule's fault must not silence the others
            findings.append(crashed(rule, error))
    return findings, [NotJudged(id, missing) for id, missing in not_judged.items()]


def crashed(rule: Rule, error: Exception) -> Finding:
    """The doctor's own trouble with one rule, as a finding."""
    return Finding(
        id="doctor/rule-crashed",
        severity="warning",
        confidence="confirmed",
        title=f"The rule {rule.id} of this doctor failed, so that fault was not judged",
        evidence=(Evidence("rule", f"{type(error).__name__}: {error}"),),
    )


def symptoms_by_id(rules: Iterable[Rule]) -> dict[str, tuple[str, ...]]:
    """What people see of each fault; several rows may carry one id."""
    symptoms: dict[str, tuple[str, ...]] = {}
    for rule in rules:
        symptoms[rule.id] = symptoms.get(rule.id, ()) + rule.symptoms
    return symptoms


def fold(findings: Sequence[Finding], facts: Facts, symptoms: dict[str, tuple[str, ...]]) -> list[Finding]:
    """Put each failure beneath the finding that explains it; failures of one cause beneath the first."""
    beneath: dict[int, list[Finding]] = {}
    causes = without_doubles([finding for finding in findings if not is_failure(finding)], beneath)
    # Of failures with one cause that of the library in whose code it lies comes first.
    failures = sorted(filter(is_failure, findings), key=lambda one: not is_at_home(one, facts))
    root_of: dict[str, Finding] = {}  # by the first cause of a failure
    for failure in failures:
        cause = next((one for one in causes if explains(one, failure, facts, symptoms)), None)
        root = root_of.setdefault(cause_of(failure, facts), cause or failure)
        if root is not failure:
            beneath.setdefault(id(root), []).append(failure)
    alone = [failure for failure in failures if any(root is failure for root in root_of.values())]
    return [with_symptoms(one, beneath.get(id(one), ())) for one in causes + alone]


def without_doubles(causes: list[Finding], beneath: dict[int, list[Finding]]) -> list[Finding]:
    """Only causes that no other one accounts for; the others go beneath that one."""
    alone = []
    for finding in causes:
        wider = next((other for other in causes if accounts_for(other, finding)), None)
        if wider:
            beneath.setdefault(id(wider), []).append(finding)
        else:
            alone.append(finding)
    return alone


def accounts_for(wider: Finding, finding: Finding) -> bool:
    """Does one cause account for another?

    It knows more of the same two packages; or it says that other files stand before those of the package, or
    in their place, so that the other speaks of those.
    """
    if (wider.id, finding.id) == TOO_NEW_BUILD:  # one older build is the cure of both
        return wider.fixes[:1] == finding.fixes[:1] != ()
    about, known = ({evidence.subject for evidence in one.evidence} for one in (finding, wider))
    if finding.id == UNMET:
        return wider.id != UNMET and wider.severity != "note" and about <= known
    if finding.id == NOT_WHOLE:  # torch is seen to miss a library of a wheel of NVIDIA, or a fork lies there
        return wider.id.startswith((*LOADED, OVERLAP)) and wider.severity != "note" and about <= known
    if finding.id == NOT_FOUND:  # it is among the package's own files, and those are told of
        gone = [one.seen for one in wider.evidence] if wider.id == NOT_WHOLE else []
        return all(any(f"/{name}" in seen for seen in gone) for name in about)
    subject, fault = finding.id.split("/")
    return wider.id in (*SHADOWS, OVERLAP) and subject in known and fault.startswith("native-library")


def is_failure(finding: Finding) -> bool:
    """Does a finding say only that a stage failed?"""
    return finding.id.endswith(FAILURES) or finding.id == PREDICTED


def is_at_home(failure: Finding, facts: Facts) -> bool:
    """Did a library fail in its own code, and not by way of another that it imports?"""
    run = run_behind(failure, facts)
    modules = run.failure.modules if run and run.failure else ()
    return modules[-1:] == (failure.id.split("/")[0].replace("-", "_"),)


def run_behind(failure: Finding, facts: Facts) -> StageRun | None:
    """The run of the stage that a failure speaks of, or what was read of it."""
    told = facts.reading if failure.id == PREDICTED else facts.trial
    return told.run_of(failure.breaks[0]) if told else None


def cause_of(failure: Finding, facts: Facts) -> str:
    """The first cause of the stage that a failure speaks of."""
    run = run_behind(failure, facts)
    return first_cause(run.failure) if run and run.failure else failure.id


def explains(cause: Finding, failure: Finding, facts: Facts, symptoms: dict[str, tuple[str, ...]]) -> bool:
    """Is this failure a symptom of that cause: by its known words, or because it points at its package?"""
    run = run_behind(failure, facts)
    if run is None or cause.severity == "note":
        return False
    text = failure_text(run)
    if any(shows(symptom, text) for symptom in symptoms.get(cause.id, ())):
        return True
    if cause.id in OF_A_NAME:
        return run.stage in cause.breaks
    if cause.id in DEADLY and run.failure is not None and run.failure.kind != "raised":
        return run.stage in cause.breaks
    package, fault = cause.id.split("/")
    if fault == "too-old" and asks_for(package, cause_of(failure, facts)):
        return True
    if not is_about_files(cause):
        return False
    # Whoever dies without a stack has died of the broken files that this very stage loads.
    mute = run.failure is not None and run.failure.kind == "died" and not run.failure.modules
    installed = facts.packages.installed if facts.packages else {}
    subjects = {evidence.subject for evidence in cause.evidence}
    if cause.id == UNMET:  # what is asked for is at fault, and not who asks for it
        asked_for = cause.evidence[-1].subject
        return points_at(run, installed.get(asked_for), asked_for) or names(
            asked_for, cause_of(failure, facts)
        )
    return any(points_at(run, installed.get(name), name) for name in subjects) or (
        mute and run.stage in cause.breaks
    )


def is_about_files(finding: Finding) -> bool:
    """Does a finding speak of the state of a package on disk, so that any failure in it is its symptom?"""
    return finding.id.startswith("python/") or finding.id.split("/")[1].startswith("native-library")


def with_symptoms(finding: Finding, symptoms: Sequence[Finding]) -> Finding:
    """A finding with what it explains beneath it, and as grave; one that was seen to bite is confirmed."""
    broken = {*finding.breaks, *(stage for one in symptoms for stage in one.breaks)}
    breaks = tuple(stage for stage in get_args(Stage) if stage in broken)
    seen = (finding, *(one for one in symptoms if one.id != PREDICTED))
    severity = min((one.severity for one in seen), key=SEVERITIES.index)
    whole = msgspec.structs.replace(finding, symptoms=tuple(symptoms), breaks=breaks, severity=severity)
    if not bites(whole):
        return whole
    return msgspec.structs.replace(whole, severity="error", confidence="confirmed")


def bites(finding: Finding) -> bool:
    """Was a stage seen to fail of it?"""
    return any(is_failure(symptom) and symptom.id != PREDICTED for symptom in finding.symptoms)


def ordered(findings: Iterable[Finding]) -> list[Finding]:
    """What to cure first: errors, then what was seen to bite, then by what stands on what."""

    def place(finding: Finding) -> tuple[int, bool, int, int, str]:
        subject = finding.id.split("/")[0]
        layer = LAYERS.index(subject) if subject in LAYERS else len(LAYERS)
        if finding.id.endswith(ADDITIONS):
            layer = len(LAYERS) + 1
        if subject == "workload":
            layer = len(LAYERS) + 2  # an environment that works comes before a plan that fits it
        rank = SEVERITIES.index(finding.severity), not bites(finding)
        return (*rank, layer, CONFIDENCES.index(finding.confidence), finding.id)

    return sorted(findings, key=place)


def verdict(findings: Sequence[Finding], facts: Facts) -> Verdict:
    """What the findings say of the environment; faults of a script or a plan leave it healthy."""
    about = [finding for finding in findings if not finding.id.startswith(("script/", "workload/"))]
    severities = {finding.severity for finding in about}
    if "error" in severities:
        return "broken"
    if facts.packages is None:
        return "undetermined"
    return "impaired" if "warning" in severities else "healthy"
