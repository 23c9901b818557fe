"""What the sources of the installed packages say will fail, before anything is imported."""

from __future__ import annotations

from collections.abc import Iterator

from doctor.facts import Facts, StageRun
from doctor.failures import first_cause, in_words
from doctor.findings import Evidence, Fix
from doctor.rules import Hit, rule


@rule("smoke/predicted-failure", "error", needs=("reading",))
def predicted_failure(facts: Facts) -> Iterator[Hit]:
    """The packages' own code will fail at a stage

    Why: the sources were followed from the stage's first import to the line that fails, without importing
    anything. Two packages are out of step: one asks for what the other does not have.

    Fix: take releases that go together; `lora-doctor resolve --closest` names the nearest ones.
    """
    causes: dict[str, list[StageRun]] = {}
    for run in facts.reading.runs if facts.reading else ():
        if run.failure:
            causes.setdefault(first_cause(run.failure), []).append(run)
    for runs in causes.values():
        yield hit(runs)


def hit(runs: list[StageRun]) -> Hit:
    """One cause, and every stage that it breaks."""
    failure = runs[0].failure
    assert failure is not None
    words = in_words(failure)
    chain = " → ".join(failure.modules[-6:])
    return Hit(
        title=f"{runs[0].stage} will fail: {words[:300]}",
        evidence=(
            Evidence("sources", words, "code that goes through"),
            *(Evidence("at", frame) for frame in failure.frames),
            *([Evidence("by way of", chain)] if chain else []),
        ),
        breaks=tuple(run.stage for run in runs),
        fixes=(
            Fix(
                "Ask which releases near these go together",
                (("lora-doctor", "resolve", "--closest"),),
                "environment",
            ),
        ),
        confidence="likely",
    )
