"""What each lever saves for one plan, and that it is told honestly."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from doctor.memory.answer import Saving
from doctor.memory.levers import LEVERS, pulled, savings
from doctor.memory.plan import OPTIMIZERS, Plan
from memory.billing import GIB, SHAPE, Billing, device, estimate

FREE = device(12.0)


def by_name(plan: Plan) -> dict[str, Saving]:
    base = estimate(plan)
    return {saving.name: saving for saving in savings(SHAPE, base, FREE, Billing("formula"))}


def test_the_plan_and_all_levers_are_estimated_by_one_call() -> None:
    billing = Billing()
    told = list(savings(SHAPE, estimate(Plan()), FREE, billing))
    assert billing.calls == [1 + len(told)]


def test_a_lever_saves_what_its_part_of_the_bill_is() -> None:
    found = by_name(Plan(kbit_upcast=True, fused_loss=False))  # 4 x 2048 tokens: 8 GiB of logits in the bill
    assert found["fused-loss"].saves_bytes == 8 * GIB
    assert found["no-kbit-upcast"].saves_bytes == GIB
    assert found["fused-loss"].peak_bytes == estimate(Plan(kbit_upcast=True)).peak_bytes - 8 * GIB


def test_nf4_leaves_norms_embeddings_and_head_as_lora_has_them() -> None:
    [quantised] = [plan for lever, plan in pulled(Plan(method="lora")) if lever.name == "nf4"]
    assert quantised.method == "qlora" and quantised.kbit_upcast is False


def test_what_is_small_is_said_to_save_nothing() -> None:
    eight_bits = by_name(Plan())["optimizer-8bit"]
    assert 0 < eight_bits.saves_bytes < GIB // 8 and not eight_bits.noticeable


def test_for_all_weights_8_bits_are_worth_it() -> None:
    found = by_name(Plan(method="full"))["optimizer-8bit"]
    assert found.noticeable and found.saves_bytes == 14 * GIB * 3 // 4


def test_each_has_the_verdict_of_the_plan_that_it_makes() -> None:
    found = by_name(Plan(fused_loss=False))  # 13.75 GiB by the bill
    assert found["fused-loss"].verdict == "fits" and found["half-rank"].verdict == "does-not-fit"


def test_no_lever_is_told_that_is_pulled_already() -> None:
    smallest = Plan(
        expandable_segments=True,
        fused_loss=True,
        kbit_upcast=False,
        batch_size=1,
        optimizer="paged_adamw_8bit",
        target_modules=("q_proj", "v_proj"),
        rank=4,
        sequence_length=100,
    )
    assert [lever.name for lever, _ in pulled(smallest)] == []


def test_the_order_is_that_of_the_cost() -> None:
    names = [lever.name for lever in LEVERS]
    assert names.index("fused-loss") < names.index("gradient-checkpointing") < names.index("batch-1")
    assert names.index("nf4") < names.index("half-length") < names.index("half-rank")


def test_a_batch_of_one_keeps_the_step() -> None:
    [plan] = [plan for lever, plan in pulled(Plan(batch_size=6, accumulation=3)) if lever.name == "batch-1"]
    assert (plan.batch_size, plan.accumulation) == (1, 18)


def test_where_the_plan_cannot_be_estimated_there_is_no_advice() -> None:
    assert list(savings(SHAPE, estimate(Plan()), FREE, Billing(refuses="adamw_torch"))) == []


def test_a_lever_that_cannot_be_estimated_is_left_out() -> None:
    told = savings(SHAPE, estimate(Plan()), FREE, Billing(refuses="adamw_8bit"))
    assert "optimizer-8bit" not in [saving.name for saving in told]


def test_a_surer_estimate_stands_and_the_difference_is_laid_on_it() -> None:
    sure = msgspec.structs.replace(estimate(Plan()), peak_reserved_bytes=20 * GIB)
    [fused] = [one for one in savings(SHAPE, sure, FREE, Billing("formula")) if one.name == "fused-loss"]
    assert fused.peak_bytes == sure.peak_bytes - 8 * GIB and fused.tier == "formula"


PLANS = st.builds(
    Plan,
    method=st.sampled_from(("lora", "qlora", "full")),
    rank=st.integers(1, 256),
    batch_size=st.integers(1, 64),
    accumulation=st.integers(1, 64),
    sequence_length=st.integers(1, 100_000),
    gradient_checkpointing=st.booleans(),
    optimizer=st.sampled_from(OPTIMIZERS),
    attention=st.sampled_from(("eager", "sdpa", "flash_attention_2")),
    fused_loss=st.booleans(),
    expandable_segments=st.booleans(),
)


@given(PLANS)
def test_a_lever_changes_the_plan_and_never_enlarges_it(plan: Plan) -> None:
    for lever, other in pulled(plan):
        assert other != plan, lever.name
        assert other.tokens <= plan.tokens and other.rank <= plan.rank
        assert other.tokens * other.accumulation <= plan.tokens * plan.accumulation


@pytest.mark.parametrize("lever", LEVERS, ids=lambda lever: lever.name)
def test_every_lever_says_what_it_costs(lever: object) -> None:
    assert len(lever.cost) > 10 and not lever.cost.endswith(".")  # type: ignore[attr-defined]
