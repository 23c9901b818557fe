"""The line of a plan that was asked about."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from healthy import FACTS

from doctor.diagnosis import diagnose
from doctor.facts import Facts, Gap, Workload
from doctor.findings import Subject
from doctor.render.lines import PLAN, lines_of, subject_line

GIB = 1 << 30
LOAD = Workload(
    source="plan.toml",
    model="llama-2-7b",
    plan="QLoRA",
    tier="formula",
    needed_bytes=10 * GIB,
    error=0.1,
    free_bytes=8 * GIB,
)


def facts(**changes: Any) -> Facts:
    return msgspec.structs.replace(FACTS, workload=msgspec.structs.replace(LOAD, **changes))


def told(given: Facts) -> tuple[str, str]:
    line = subject_line(PLAN, given, diagnose(given, Subject("live", "python")).findings)
    return line.mark, line.text


@pytest.mark.parametrize(
    ("free", "mark", "end"),
    [(8 * GIB, "FAIL", "8.0 GiB are free"), (10 * GIB, "warn", "are free"), (40 * GIB, "ok", "are free")],
)
def test_the_mark_is_that_of_the_verdict(free: int, mark: str, end: str) -> None:
    seen, text = told(facts(free_bytes=free))
    assert (
        seen == mark
        and text.startswith("llama-2-7b needs 10.0 GiB (give or take 10%)")
        and text.endswith(end)
    )


def test_without_a_gpu_it_says_so() -> None:
    assert told(facts(free_bytes=None))[1].endswith("no GPU is seen")


def test_the_line_is_there_only_where_it_was_asked_for() -> None:
    assert PLAN not in lines_of(FACTS)
    assert PLAN in lines_of(facts())
    gap = Gap(about="workload", kind="failed", reason="the trace died")
    given = msgspec.structs.replace(FACTS, gaps=(*FACTS.gaps, gap))
    assert PLAN in lines_of(given) and "the trace died" in told(given)[1]
