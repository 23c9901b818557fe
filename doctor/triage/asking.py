"""What to ask the author of a paste: the question that decides, and the blocks that are missing, by name."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from doctor.findings import Finding, Question
from doctor.paste import Complaint
from doctor.triage.case import Case, Suspicion

WHOLE_ERROR = Question(
    "The whole error is missing: from its first line, which is often far above, to its last."
)
FIRST_ERROR = Question(
    "The first error is missing: the lines above the pasted ones say what really happened."
)
PACKAGES = Question("Which versions are installed? This prints them:", (("python", "-m", "pip", "list"),))
SMI = Question("Which GPU and which driver is it? This prints both:", (("nvidia-smi",),))
OF_GPUS = re.compile(r"cuda|gpu|nvidia|driver|nccl|cudnn|cublas|sm_\d|\bHIP\b", re.I)


def questions_of(
    case: Case, told: Sequence[Suspicion], findings: Sequence[Finding], unknown: Sequence[Complaint]
) -> tuple[Question, ...]:
    """At most three questions, the one that decides first; none where the cause is sure."""
    by_words = {one.finding.id for one in told}
    grave = (one for one in findings if one.severity != "note")
    first = next((one for one in grave if one.severity == "error" or one.id in by_words), None)
    if first is not None and first.confidence == "confirmed":
        return ()
    asked = [*deciding(first, told), *(missing(case, unknown) if is_open(first) else ())]
    return tuple(dict.fromkeys(asked))[:3]


def is_open(first: Finding | None) -> bool:
    """Is the cause not known, or one of several?"""
    return first is None or first.confidence == "possible"


def deciding(first: Finding | None, told: Sequence[Suspicion]) -> Iterator[Question]:
    """The question that goes with the first suspicion."""
    if first is not None:
        yield from (one.question for one in told if one.finding.id == first.id and one.question)


def missing(case: Case, unknown: Sequence[Complaint]) -> Iterator[Question]:
    """The blocks without which nothing more can be said."""
    if not case.complaints:
        yield WHOLE_ERROR
    elif all(one.is_wrapper for one in unknown) and unknown:
        yield FIRST_ERROR
    if case.facts.packages is None:
        yield PACKAGES
    if OF_GPUS.search(case.text) and (case.facts.gpus is None or case.facts.driver is None):
        yield SMI
