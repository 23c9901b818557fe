"""A plan held against the memory that is free."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from healthy import FACTS

from doctor.diagnosis import diagnose
from doctor.facts import Facts, Workload
from doctor.findings import Finding, Report, Subject
from doctor.rules.workload import does_not_fit
from doctor.workload import Relief

from .judging import case, check, findings

GIB = 1 << 30
ID = "workload/does-not-fit"
# Ten GiB, give or take one: 9 to 11.
LOAD = Workload(
    source="plan.toml",
    model="llama-2-7b",
    plan="QLoRA, 4 x 2048 tokens",
    tier="formula",
    needed_bytes=10 * GIB,
    error=0.1,
    device="Tesla T4",
    free_bytes=8 * GIB,
    total_bytes=16 * GIB,
    moment="in the backward pass, in lm_head",
    parts={"weights": 4 * GIB, "logits": 6 * GIB, "gradients": 0},
    assumed=("The optimizer is adamw_torch, the default of TrainingArguments.",),
)
FUSED = Relief(title="loss without whole logits", cost="the same loss", saves_bytes=6 * GIB, fits=True)
SHORTER = Relief(title="half the sequence length", cost="less is learned", saves_bytes=GIB // 2, fits=False)


def planned(**changes: Any) -> Facts:
    load = msgspec.structs.replace(LOAD, **changes)
    return msgspec.structs.replace(FACTS, workload=load)


HITS = {
    "more than is free": case(
        ID,
        "error",
        planned(),
        "The plan needs 10.00 GiB (give or take 10%), and 8.00 GiB of the Tesla T4 are free",
        seen=(
            "plan: llama-2-7b: QLoRA, 4 x 2048 tokens",
            "peak: 10.00 GiB in the backward pass, in lm_head -> at most 8.00 GiB",
            "parts: logits 6.00 GiB, weights 4.00 GiB ->",
            "assumed: The optimizer is adamw_torch",
        ),
        command="lora-doctor fit --plan plan.toml --best",
    ),
    "it may or may not": case(ID, "warning", planned(free_bytes=10 * GIB), "It may not fit"),
    "another holds it": case(
        ID, "error", planned(holders={"python": 3 * GIB}), "The plan", seen=("python holds 3.00 GiB",)
    ),
}


@pytest.mark.parametrize("name", HITS)
def test_it_finds(name: str) -> None:
    id, severity, given, title, wanted = HITS[name]
    check(id, severity, given, title, wanted)


@pytest.mark.parametrize(
    ("free_gib", "severity"),
    [(8.9, "error"), (9.1, "warning"), (10.9, "warning"), (11.1, None), (80.0, None)],
)
def test_the_error_of_the_estimate_decides_how_sure_the_verdict_is(
    free_gib: float, severity: str | None
) -> None:
    found = findings(planned(free_bytes=int(free_gib * GIB)))
    assert [one.severity for one in found] == ([severity] if severity else [])


def test_nothing_is_said_where_nothing_tells_what_is_free() -> None:
    assert findings(planned(free_bytes=None)) == []


def told(**changes: Any) -> Finding:
    [found] = findings(planned(**changes))
    return found


def test_what_costs_least_is_named_first_and_what_is_enough_says_so() -> None:
    [fix] = told(reliefs=(FUSED, SHORTER)).fixes
    assert fix.scope == "script"
    assert fix.title.endswith(
        "first: loss without whole logits saves 6.00 GiB and is enough; "
        "half the sequence length saves 0.50 GiB"
    )


def test_where_no_change_is_enough_hardware_is_the_last_word() -> None:
    [fix] = told(reliefs=(SHORTER,)).fixes
    assert fix.title.endswith("0.50 GiB; a smaller model, ZeRO-3 or FSDP over several GPUs, or a larger GPU")


def test_another_program_is_blamed_only_where_its_memory_would_be_enough() -> None:
    assert told(holders={"python": 2 * GIB}).fixes[0].title == "End what else holds the GPU's memory: python"
    assert "End what" not in told(holders={"Xorg": GIB // 2}).fixes[0].title


def report(given: Facts) -> Report:
    return diagnose(given, Subject("live", "python"))


def test_the_environment_stays_healthy() -> None:
    found = report(planned())
    assert (found.verdict, found.primary) == ("healthy", ID)


def test_an_environment_that_works_comes_before_a_plan_that_fits_it() -> None:
    from healthy import packages

    found = report(msgspec.structs.replace(planned(), packages=packages(transformers=None)))
    assert found.primary == "transformers/missing" and ID in {one.id for one in found.findings}


def test_a_check_without_a_plan_says_nothing_of_one() -> None:
    found = report(FACTS)
    assert ID not in {one.id for one in (*found.findings, *found.not_judged)}


def test_words_alone_get_the_old_cures() -> None:
    from doctor.rules import code_rules

    rule = next(one for one in code_rules() if one.id == ID)
    assert rule.judge is does_not_fit and rule.cure is not None
    assert [fix.scope for fix in rule.cure(Facts())] == ["script", "hardware"]
