"""The subjects of a check in their order, each one line: a mark, a title, and what was seen.

A live display prints a line once its facts are settled; a mark is "ok" only where the facts were
seen and no finding speaks against them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Literal

import msgspec

from doctor.facts import Facts, Interpreter, StageRun
from doctor.failures import ON_GPU_ONLY
from doctor.findings import Finding
from doctor.render import describe, native, workload

Mark = Literal["ok", "note", "warn", "FAIL", "?"]


class Line(msgspec.Struct, frozen=True):
    """One subject: its title, the fields of Facts that it speaks of, and its words for them."""

    title: str
    fields: tuple[str, ...]
    describe: Callable[[Facts], str]
    stages: tuple[str, ...] = ()  # of the trial, whose failure is a failure of this subject
    mentions: tuple[str, ...] = ()  # fields that its words name where they are there


class SubjectLine(msgspec.Struct, frozen=True):
    """One line as it is told."""

    title: str
    mark: Mark
    text: str


LINES = (
    Line("system", ("system",), describe.system),
    Line("driver", ("driver",), describe.driver),
    Line("gpu", ("gpus",), describe.gpu, ("see-gpu",), ("accelerators",)),
    Line("interpreter", ("interpreter",), describe.interpreter),
    Line("packages", ("packages", "files"), describe.packages),
    Line("torch", ("torch", "torch_runtime"), describe.torch, ("import-torch",)),
    Line(
        "bitsandbytes",
        ("bitsandbytes", "bitsandbytes_runtime"),
        describe.bitsandbytes,
        ("import-bitsandbytes",),
    ),
    Line("native libraries", ("linkage",), native.libraries),
    Line("cuda versions", ("driver", "torch"), native.cuda_versions, mentions=("toolkits",)),
    Line("compiling", ("compiling",), native.compiling),
    Line("training libraries", ("packages", "trial"), describe.training_libraries, describe.IMPORTS),
    Line("smoke test", ("trial",), describe.smoke_test, describe.SMOKE),
)
OF_CUDA = ("cuda versions", "compiling")  # told where there is a GPU, a driver or a torch for CUDA
SOURCES = Line("sources", ("reading",), describe.sources)  # told where they were read
PLAN = Line("plan", ("workload",), workload.plan)  # told where one was asked about

# Subjects of finding ids that are no title themselves.
_TITLE_OF_SUBJECT = {
    "rocm": "gpu",
    "numpy": "packages",
    "python": "packages",
    "cuda": "native libraries",
    "triton": "compiling",
    "extension": "native libraries",
    "workload": "plan",
}
_INTERPRETER_FAULTS = (
    "interpreter-does-not-start",
    "interpreter-too-old",
    "docstrings-stripped",
    "module-shadowed",
    "path-pollution",
    "prints-at-startup",
    "stale-or-other-environment",
    "too-old-for-package",
)
_STAGE_SUBJECTS = ("import", "smoke", "stage", "trial")  # no library is named: the stage decides
_NO_LINE = ("doctor", "script")


def lines_of(facts: Facts) -> tuple[Line, ...]:
    """The lines of one check."""
    gaps = {gap.about for gap in facts.gaps}
    told = tuple(line for line in LINES if line.title not in OF_CUDA or is_about_cuda(facts))
    asked = (line for line in (SOURCES, PLAN) if line.fields[0] in gaps or getattr(facts, line.fields[0]))
    return (*told, *asked)


def is_about_cuda(facts: Facts) -> bool:
    """Is this a machine that was looked at, with a GPU, a driver or a torch for CUDA?"""
    built = facts.torch is not None and facts.torch.cuda_version is not None
    return facts.toolkits is not None and (built or bool(facts.gpus) or facts.driver is not None)


def subject_line(line: Line, facts: Facts, findings: Sequence[Finding]) -> SubjectLine:
    """A line with the mark that facts and findings give it."""
    return SubjectLine(line.title, mark(line, facts, findings), line.describe(facts))


def is_settled(line: Line, facts: Facts) -> bool:
    """True once each of its facts is there or known to be missing."""
    missing = {gap.about for gap in facts.gaps}
    return all(getattr(facts, field) is not None or field in missing for field in line.fields + line.mentions)


def mark(line: Line, facts: Facts, findings: Sequence[Finding]) -> Mark:
    """The gravest word that facts and findings allow."""
    severities = {finding.severity for finding in with_symptoms(findings) if title_of(finding) == line.title}
    runs = _runs_of(line, facts)
    if "error" in severities or any(is_faulty(run, findings) for run in runs):
        return "FAIL"
    if "warning" in severities or not all(proof.holds for run in runs for proof in run.proofs):
        return "warn"
    if not _is_seen(line, facts) or not _is_tried(line, runs):
        return "?"
    return "note" if "note" in severities or _has_file_faults(line, facts) else "ok"


def is_faulty(run: StageRun, findings: Sequence[Finding]) -> bool:
    """Did a stage fail, and not for the one reason that it cannot be tried on this machine?"""
    untried = {
        evidence.subject
        for finding in with_symptoms(findings)
        if finding.id == ON_GPU_ONLY
        for evidence in finding.evidence
    }
    return run.outcome == "failed" and run.stage not in untried


def title_of(finding: Finding) -> str | None:
    """The title of the line that a finding belongs to; None where it speaks of no subject here."""
    subject, _, fault = finding.id.partition("/")
    if subject in _NO_LINE:
        return None
    if subject == "python" and fault in _INTERPRETER_FAULTS:
        return "interpreter"
    if finding.id == "smoke/predicted-failure":
        return SOURCES.title
    if subject in _STAGE_SUBJECTS:
        return next(
            (line.title for stage in finding.breaks for line in LINES if stage in line.stages), "smoke test"
        )
    titles = {line.title for line in LINES}
    return subject if subject in titles else _TITLE_OF_SUBJECT.get(subject, "training libraries")


def examining(name: str, interpreter: Interpreter | None) -> str:
    """The first line: which interpreter, file or node is looked at."""
    about = f" (Python {interpreter.version}, {interpreter.kind})" if interpreter else ""
    return f"Examining {name}{about}"


def _is_seen(line: Line, facts: Facts) -> bool:
    """No GPU and no package is an answer, but nothing that could be found in order."""
    seen = [getattr(facts, field) for field in line.fields]
    nothing = facts.packages is not None and not facts.packages.installed
    return all(value not in (None, ()) for value in seen) and not ("packages" in line.fields and nothing)


def _has_file_faults(line: Line, facts: Facts) -> bool:
    checks = (facts.files, facts.hashes) if "files" in line.fields else ()
    return any(check.faults for check in checks if check)


def _is_tried(line: Line, runs: Sequence[StageRun]) -> bool:
    """A stage of a library that the user has chosen not to install says nothing; no stage is no proof."""
    needed = [run for run in runs if not run.blocked_by.endswith("is not installed")]
    return "trial" not in line.fields or (bool(needed) and all(run.outcome == "ok" for run in needed))


def _runs_of(line: Line, facts: Facts) -> list[StageRun]:
    return [run for run in facts.trial.runs if run.stage in line.stages] if facts.trial else []


def with_symptoms(findings: Sequence[Finding]) -> Iterator[Finding]:
    """Each finding, followed by all that it explains."""
    for finding in findings:
        yield finding
        yield from with_symptoms(finding.symptoms)
