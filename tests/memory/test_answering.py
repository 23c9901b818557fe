"""From a question to a whole answer: which estimator is asked for what, and how often."""

from __future__ import annotations

import pytest

from doctor.memory.answering import Question, Unestimated, answered
from doctor.memory.estimator import Remembering
from doctor.memory.plan import Plan
from doctor.memory.table import BATCHES, LENGTHS
from memory.billing import GIB, SHAPE, Billing, device, estimate


def question(**fields: object) -> Question:
    return Question(**{"shape": SHAPE, "plan": Plan(), "device": device(12.0), **fields})  # type: ignore[arg-type]


def test_the_plan_alone_costs_one_estimate_of_the_sure_kind() -> None:
    sure, quick = Billing(), Billing("formula")
    answer = answered(question(), sure, quick, levers=None)
    assert sure.calls == [1] and quick.calls == []
    assert answer.estimate == estimate(Plan()) and answer.verdict == "does-not-fit" and answer.advice == ()


def test_table_and_traced_levers_go_along_with_the_plan() -> None:
    sure = Billing()
    answer = answered(question(table=True), sure, Billing("formula"), levers=sure)
    assert len(sure.calls) == 1
    assert len(answer.table) == len(LENGTHS) * len(BATCHES) and answer.advice


def test_the_table_tells_what_fits() -> None:
    table = answered(question(table=True), Billing(), Billing(), levers=None).table
    words = {(cell.sequence_length, cell.batch_size): cell.verdict for cell in table}
    assert words[512, 1] == "fits" and words[4096, 4] == "does-not-fit"


def test_a_cell_without_an_estimate_says_why() -> None:
    def one_only(shape, plans, where):  # type: ignore[no-untyped-def]
        for index, answer in enumerate(Billing(refuses="sgd")(shape, plans, where)):
            if index < 2:
                yield answer

    table = answered(question(table=True), one_only, Billing(), levers=None).table
    assert table[-1].peak_bytes is None and table[-1].reason


def test_a_search_takes_the_place_of_the_plan() -> None:
    answer = answered(question(searched=True), Billing(), Billing("formula"), levers=None)
    assert answer.searched and answer.verdict == "fits" and answer.estimate.tier == "trace"


def test_a_search_that_finds_nothing_tells_of_the_smallest_plan() -> None:
    answer = answered(question(searched=True, device=device(2.0)), Billing(), Billing("formula"), levers=None)
    assert answer.verdict == "does-not-fit" and answer.estimate.plan.sequence_length == 256


def test_without_a_device_nothing_is_searched_and_sizes_are_told() -> None:
    answer = answered(question(searched=True, device=device(None)), Billing(), Billing(), levers=None)
    assert answer.best is None and answer.verdict == "unknown"
    assert answer.tiers["12 GB"] == "does-not-fit" and answer.tiers["16 GB"] == "fits"


def test_a_plan_without_an_estimate_is_an_error_with_its_reason() -> None:
    with pytest.raises(Unestimated, match="adamw_torch cannot be traced"):
        answered(question(), Billing(refuses="adamw_torch"), Billing(), levers=None)


def test_advice_that_cannot_be_had_is_said_and_costs_nothing_else() -> None:
    answer = answered(question(), Billing(), Billing(), levers=lambda shape, plans, where: iter(()))
    assert answer.advice == () and answer.notes and answer.estimate == estimate(Plan())


def test_a_plan_is_estimated_once() -> None:
    billing = Billing()
    known = Remembering(billing)
    first, second = Plan(), Plan(rank=8)
    assert len(list(known(SHAPE, [first, first, second], device(1.0)))) == 3
    assert [one.plan for one in known(SHAPE, [second, first], device(1.0))] == [second, first]  # type: ignore[union-attr]
    assert billing.calls == [2]


def test_an_estimator_that_ends_early_leaves_gaps() -> None:
    [gap] = Remembering(lambda shape, plans, where: iter(()))(SHAPE, [Plan()], device(1.0))
    assert getattr(gap, "reason", "") == "the estimator gave no answer"


def test_the_bill_of_these_tests_adds_up() -> None:
    one = estimate(Plan())
    assert sum(part.amount_bytes for part in one.parts.values()) == one.peak_bytes
    assert one.parts["logits"].amount_bytes == 8 * GIB
