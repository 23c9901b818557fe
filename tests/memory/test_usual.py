"""The plan that a stack is used with."""

from __future__ import annotations

import pytest

from doctor.memory import models
from doctor.memory.estimate import Device
from doctor.memory.plan import Method, Plan
from doctor.memory.usual import usual_plan, without_refused_dropout

T4, A100, UNKNOWN = Device(compute_capability="7.5"), Device(compute_capability="8.0"), Device()


def test_who_trains_is_who_is_installed() -> None:
    assert usual_plan({"trl": "1.16.0"}, A100, None).loop == "sft"
    assert usual_plan({"transformers": "5.24.0"}, A100, None).loop == "trainer"


@pytest.mark.parametrize(
    ("device", "method", "dtype"),
    [
        (A100, "lora", "bfloat16"),
        (UNKNOWN, None, "bfloat16"),
        (T4, "qlora", "float16"),
        (T4, None, "float16"),
        (T4, "full", "float32"),
    ],
)
def test_the_dtype_is_one_that_the_gpu_can_train_in(
    device: Device, method: Method | None, dtype: str
) -> None:
    assert usual_plan({}, device, method).dtype == dtype


@pytest.mark.parametrize(("name", "dropout"), [("mixtral-8x7b", 0.0), ("llama-2-7b", 0.05)])
def test_dropout_is_left_out_where_peft_refuses_it(name: str, dropout: float) -> None:
    shape = models.listed(name)
    assert shape is not None
    assert without_refused_dropout(Plan(), shape).lora_dropout == dropout
    kept = Plan(target_modules=("q_proj",))
    assert without_refused_dropout(kept, shape) == kept
