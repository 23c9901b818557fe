"""Plans that cannot be, refused with what would be right."""

from __future__ import annotations

import math
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from doctor.memory.plan import OPTIMIZERS, Plan
from doctor.memory.shapes import Matrix, ModelShape
from doctor.memory.validity import CHOICES, COUNTS, PlanInvalid, optimizer_named, remarks, validated


@pytest.mark.parametrize(
    ("fields", "message", "hint"),
    [
        ({"rank": 0}, "rank 0", "from 1 on"),
        ({"batch_size": 0}, "batch size 0", "from 1 on"),
        ({"sequence_length": -2048}, "sequence length -2048", "from 1 on"),
        ({"accumulation": 1.5}, "accumulation 1.5", "from 1 on"),
        ({"rank": True}, "rank True", "from 1 on"),
        ({"batch_size": math.nan}, "batch size NaN", "from 1 on"),
        ({"gpus": 1 << 40}, "gpus 1099511627776", "from 1 on"),
        ({"lora_dropout": math.nan}, "lora dropout NaN", "0 to below 1"),
        ({"lora_dropout": 1.0}, "lora dropout 1.0", "0 to below 1"),
        ({"lora_dropout": "0.1"}, "lora dropout '0.1'", "0 to below 1"),
        ({"method": "dora"}, "method 'dora'", "lora, qlora, full"),
        ({"attention": "flash"}, "attention 'flash'", "flash_attention_2"),
        ({"sharding": "zero1"}, "sharding 'zero1'", "zero2"),
        ({"optimizer": "adamw_8bits"}, "adamw_8bits", "adamw_8bit"),
        ({"optimizer": "zzz"}, "zzz", "sgd"),
        ({"method": "full", "dtype": "float16"}, "float16", "bfloat16"),
    ],
)
def test_nonsense_is_refused(fields: dict[str, Any], message: str, hint: str) -> None:
    with pytest.raises(PlanInvalid) as refused:
        validated(Plan(**fields))
    assert message in str(refused.value) and hint in refused.value.hint
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("word", "name"),
    [("adamw_bnb_8bit", "adamw_8bit"), ("paged_adamw", "paged_adamw_32bit"), ("adamw_hf", "adamw_torch")],
)
def test_further_names_of_an_optimizer_are_known(word: str, name: str) -> None:
    assert optimizer_named(word) == name
    assert validated(Plan(optimizer=word)).optimizer == name


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_our_own_names_stay(name: str) -> None:
    assert validated(Plan(optimizer=name)) == Plan(optimizer=name)


ANYTHING = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9)
FIELDS = st.sampled_from((*COUNTS, *CHOICES, "lora_dropout", "optimizer"))


@given(st.dictionaries(FIELDS, ANYTHING, max_size=3))
def test_whatever_a_field_holds_it_is_taken_or_refused(fields: dict[str, Any]) -> None:
    try:
        plan = validated(Plan(**{**fields, "optimizer": str(fields.get("optimizer", "sgd"))}))
    except PlanInvalid as error:
        assert str(error) and error.hint
    else:
        assert all(type(getattr(plan, field)) is int and getattr(plan, field) > 0 for field in COUNTS)
        assert all(getattr(plan, field) in choices for field, choices in CHOICES.items())


def shape(config: dict[str, Any]) -> ModelShape:
    return ModelShape(
        name="m",
        config=config,
        source="config",
        layers=2,
        hidden=8,
        heads=2,
        kv_heads=2,
        head_dim=4,
        intermediate=16,
        vocab=32,
    )


def test_stacked_experts_take_no_dropout() -> None:
    stack = Matrix(name="gate_up_proj", rows=32, columns=8, count=8, role="expert", fused=True)
    of_experts = msgspec.structs.replace(shape({}), matrices=(stack,))
    [remark] = remarks(Plan(), of_experts)
    assert "stacked experts" in remark
    for quiet in (Plan(lora_dropout=0.0), Plan(method="full"), Plan(target_modules=("q_proj",))):
        assert remarks(quiet, of_experts) == ()


def test_more_tokens_than_positions_are_a_remark() -> None:
    plan = Plan(sequence_length=4096)
    [remark] = remarks(plan, shape({"max_position_embeddings": 2048}))
    assert "4096" in remark and "2048" in remark
    assert remarks(plan, shape({"max_position_embeddings": 4096})) == ()
    assert remarks(plan, shape({})) == remarks(plan, shape({"max_position_embeddings": None})) == ()


def test_division_and_offloading_that_nothing_does_are_remarks() -> None:
    [alone] = remarks(Plan(sharding="zero3"), shape({}))
    assert "zero3 divides nothing" in alone
    [nobody] = remarks(Plan(offload="optimizer"), shape({}))
    assert "without --sharding" in nobody
    assert remarks(Plan(sharding="zero3", gpus=2, offload="parameters"), shape({})) == ()
