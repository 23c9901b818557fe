"""What sources say will fail: one finding a cause, beneath the row that knows it."""

from __future__ import annotations

import healthy
from healthy import packages, raised

from doctor.diagnosis import diagnose
from doctor.facts import Facts, Reading, StageRun
from doctor.findings import Report, Subject

from .judging import case, facts, of

HYBRID = "cannot import name 'HybridCache' from 'transformers'"
OWN = "cannot import name 'fast_attention' from 'my_fork'"


def reading(*failed: StageRun) -> Reading:
    return Reading(runs=(StageRun(stage="import-accelerate", outcome="ok"), *failed))


def report(given: Facts) -> Report:
    return diagnose(given, Subject("live", healthy.PYTHON))


HITS = {
    "a fork out of step": case(
        "smoke/predicted-failure",
        "error",
        facts(reading=reading(raised("import-peft", OWN, frames=("peft/peft_model.py:37",)))),
        f"import-peft will fail: ImportError: {OWN}",
        seen=(f"sources: ImportError: {OWN}", "at: peft/peft_model.py:37"),
        command="lora-doctor resolve --closest",
    ),
}


def test_stages_of_one_cause_are_one_finding() -> None:
    given = facts(reading=reading(raised("import-peft", OWN), raised("lora-step", OWN)))
    assert of("smoke/predicted-failure", given).breaks == ("import-peft", "lora-step")


def test_a_row_that_knows_the_words_explains_it_and_nothing_was_seen_to_bite() -> None:
    given = facts(
        packages=packages(peft="0.17.1"), trial=None, reading=reading(raised("import-peft", HYBRID))
    )
    [cause] = [one for one in report(given).findings if one.severity == "error"]
    assert (cause.id, cause.confidence) == ("peft/too-old-for-transformers", "likely")
    assert [one.id for one in cause.symptoms] == ["smoke/predicted-failure"]


def test_an_unknown_cause_stands_for_itself_and_is_no_certainty() -> None:
    [found] = report(facts(reading=reading(raised("import-peft", OWN)))).findings
    assert (found.id, found.confidence) == ("smoke/predicted-failure", "likely")


def test_nobody_misses_a_reading_that_was_not_asked_for() -> None:
    assert report(healthy.FACTS).not_judged == ()
