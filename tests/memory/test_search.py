"""The best plan that fits, by a bill that can be done in the head."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from doctor.memory.plan import Plan
from doctor.memory.search import best, candidates, longest
from doctor.memory.verdict import verdict
from memory.billing import SHAPE, Billing, device, estimate


def found(free_gib: float, asked: Plan | None = None, pinned: tuple[str, ...] = ()) -> Plan:
    answer = best(SHAPE, asked or Plan(), pinned, device(free_gib), Billing("formula"), Billing())
    assert answer.estimate is not None, answer
    return answer.estimate.plan


def test_where_there_is_room_for_all_the_base_stays_in_16_bits_and_length_is_used() -> None:
    plan = found(80)
    assert (plan.method, plan.sequence_length, plan.batch_size) == ("lora", 4096, 8)
    assert plan.batch_size * plan.accumulation == 16


def test_batch_is_given_up_before_the_16_bits_of_the_base() -> None:
    assert found(17).method == "lora"


def test_the_16_bits_are_given_up_before_length() -> None:
    plan = found(8)
    assert (plan.method, plan.kbit_upcast) == ("qlora", False) and plan.sequence_length >= 2048


def test_what_was_given_up_is_said() -> None:
    answer = best(SHAPE, Plan(), (), device(8), Billing("formula"))
    assert any("NF4" in reason for reason in answer.reasons)


def test_what_was_taken_back_later_is_not_said() -> None:
    answer = best(SHAPE, Plan(), (), device(12), Billing("formula"))
    assert answer.estimate is not None and answer.estimate.plan.batch_size > 1
    assert not any("one sequence at a time" in reason for reason in answer.reasons)


def test_what_was_asked_for_stays() -> None:
    plan = found(16, Plan(method="lora", rank=64, sequence_length=512), ("method", "rank", "sequence_length"))
    assert (plan.method, plan.rank, plan.sequence_length) == ("lora", 64, 512)


def test_a_model_of_few_positions_is_not_asked_for_more() -> None:
    short = msgspec.structs.replace(SHAPE, config={"max_position_embeddings": 512})
    assert longest(short) == 512
    assert {plan.sequence_length for plan in candidates(short, Plan(), ())} <= {512, 256}


@pytest.mark.parametrize("stated", [None, 0, -1, "many"])
def test_a_config_without_a_length_does_not_stop_the_search(stated: object) -> None:
    assert longest(msgspec.structs.replace(SHAPE, config={"max_position_embeddings": stated})) == 32768


def test_nothing_fits_and_how_near_it_comes_is_told() -> None:
    answer = best(SHAPE, Plan(), (), device(3), Billing("formula"))
    assert answer.estimate is None and answer.nearest is not None
    assert answer.nearest.plan.method == "qlora" and answer.nearest.peak_bytes > 3 * 2**30


def test_the_sure_estimator_has_the_last_word() -> None:
    def pessimist(shape, plans, where):  # type: ignore[no-untyped-def]
        for plan in plans:
            one = estimate(plan)
            more = one.peak_reserved_bytes + (4 << 30)
            yield msgspec.structs.replace(one, peak_reserved_bytes=more)

    by_one = best(SHAPE, Plan(), (), device(16), Billing("formula")).estimate
    by_both = best(SHAPE, Plan(), (), device(16), Billing("formula"), pessimist).estimate
    assert by_one is not None and by_both is not None
    assert by_both.plan != by_one.plan and verdict(by_both, device(16)) == "fits"


def test_a_rung_that_the_sure_estimator_falls_back_to_is_raised_too() -> None:
    def nothing_in_16_bits(shape, plans, where):  # type: ignore[no-untyped-def]
        for plan in plans:
            one = estimate(plan)
            more = (60 << 30) if plan.method == "lora" else 0
            yield msgspec.structs.replace(one, peak_reserved_bytes=one.peak_reserved_bytes + more)

    plan = best(SHAPE, Plan(), (), device(40), Billing("formula"), nothing_in_16_bits).estimate.plan  # type: ignore[union-attr]
    assert plan.method == "qlora" and plan.sequence_length == 4096 and plan.batch_size > 1


def test_without_a_quick_way_the_sure_one_is_gone() -> None:
    answer = best(SHAPE, Plan(), (), device(16), lambda shape, plans, where: iter(()), Billing())
    assert answer.estimate is not None and answer.estimate.tier == "trace"


def test_layers_that_a_model_has_not_are_no_targets() -> None:
    fused = msgspec.structs.replace(SHAPE, matrices=())
    assert {plan.target_modules for plan in candidates(fused, Plan(), ())} == {("all-linear",)}
    assert ("q_proj", "v_proj") in {plan.target_modules for plan in candidates(SHAPE, Plan(), ())}


def test_plans_that_cannot_be_estimated_are_no_plans() -> None:
    answer = best(SHAPE, Plan(), (), device(80), Billing(refuses="adamw_torch"))
    assert answer.estimate is not None and answer.estimate.plan.optimizer == "paged_adamw_8bit"


@settings(max_examples=50)
@given(st.floats(4.0, 90.0))
def test_whatever_is_found_fits(free_gib: float) -> None:
    answer = best(SHAPE, Plan(), (), device(free_gib), Billing("formula"), Billing())
    assert answer.estimate is None or verdict(answer.estimate, device(free_gib)) == "fits"


@given(st.floats(8.0, 40.0), st.floats(0.0, 40.0))
def test_more_memory_never_gives_a_lesser_method(free_gib: float, more_gib: float) -> None:
    order = ("qlora", "lora")
    assert order.index(found(free_gib).method) <= order.index(found(free_gib + more_gib).method)
