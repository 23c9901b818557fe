"""When an outcome stands, by the check of it."""

from __future__ import annotations

from typing import Any

import healthy
import msgspec
import pytest

from doctor.applying.applied import Before, judged
from doctor.diagnosis import diagnose
from doctor.findings import Finding, NotJudged, Report, Subject
from doctor.treatment.plan import Plan, Step

STEP = Step(title="Install", kind="install", scope="environment", cures=("torch/import-failed",))
PLAN = Plan(tool_version="0", target=healthy.PYTHON, language="pip", steps=(STEP,))
BEFORE = Before(("torch/import-failed",), ("import-peft", "lora-step"))


def finding(id: str, *breaks: str, **fields: Any) -> Finding:
    return Finding(id=id, confidence="confirmed", title=id, breaks=breaks, **{"severity": "error", **fields})


def report(*findings: Finding, **fields: Any) -> Report:
    whole = diagnose(healthy.FACTS, Subject("live", healthy.PYTHON))
    return msgspec.structs.replace(whole, findings=findings, **fields)


STILL = finding("torch/import-failed", "import-torch")
HIDDEN = finding("peft/import-failed", "import-peft")
CAUSED = finding("numpy/abi-mismatch", "import-torch")


@pytest.mark.parametrize(
    ("found", "state", "new"),
    [
        ((), "cured", ()),
        ((STILL,), "restored", ()),
        ((CAUSED,), "restored", ("numpy/abi-mismatch",)),
        ((HIDDEN,), "improved", ("peft/import-failed",)),
        ((HIDDEN, CAUSED), "restored", ("peft/import-failed", "numpy/abi-mismatch")),
        ((finding("a/b", severity="warning"),), "cured", ()),
    ],
)
def test_an_error_that_was_hidden_takes_nothing_back(
    found: tuple[Finding, ...], state: str, new: tuple[str, ...]
) -> None:
    outcome = judged(report(*found), PLAN, PLAN.steps, BEFORE)
    assert (outcome.state, outcome.new) == (state, new)


def test_a_finding_below_another_is_still_there() -> None:
    above = finding("python/files-missing-or-altered", symptoms=(STILL,))
    outcome = judged(report(above), PLAN, PLAN.steps, BEFORE)
    assert outcome.state == "restored" and outcome.not_cured == ("torch/import-failed",)


def test_what_could_not_be_judged_is_not_cured() -> None:
    unjudged = report(not_judged=(NotJudged("torch/import-failed", ("trial",)),))
    assert judged(unjudged, PLAN, PLAN.steps, BEFORE).state == "restored"


def test_an_outcome_of_which_nothing_is_known_is_no_cure() -> None:
    outcome = judged(report(verdict="undetermined"), PLAN, PLAN.steps, BEFORE)
    assert outcome.state == "restored" and "cannot be examined" in outcome.failed
