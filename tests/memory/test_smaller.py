"""The next smaller model of a family."""

from __future__ import annotations

import pytest

from doctor.memory import models
from doctor.memory.levers import savings
from doctor.memory.plan import Plan
from doctor.memory.smaller import next_smaller
from memory.billing import GIB, Billing, device, estimate


@pytest.mark.parametrize(
    ("name", "smaller"),
    [
        ("qwen2.5-7b", "qwen2.5-3b"),
        ("qwen2.5-3b", "qwen2.5-1.5b"),
        ("Qwen/Qwen2.5-7B-Instruct", "qwen2.5-3b"),
        ("llama-2-13b", "llama-2-7b"),
        ("llama-3.1-8b", "llama-3.2-3b"),
        ("llama-3.2-1b", None),
        ("gemma-2-27b", "gemma-2-9b"),
    ],
)
def test_it_is_of_the_same_family(name: str, smaller: str | None) -> None:
    shape = models.listed(name)
    assert shape is not None
    found = next_smaller(shape)
    assert (found.name if found else None) == smaller


def test_it_is_the_last_lever() -> None:
    shape = models.listed("llama-2-13b")
    assert shape is not None

    def by_size(other, plans, where):  # type: ignore[no-untyped-def]
        for answer in Billing()(other, plans, where):
            half = other.name == "llama-2-7b"
            yield estimate(answer.plan, error=0.1) if not half else smaller_bill(answer.plan)

    told = list(savings(shape, estimate(Plan()), device(12.0), by_size))
    assert told[-1].name == "smaller-model" and "llama-2-7b" in told[-1].title
    assert told[-1].saves_bytes == 2 * GIB


def smaller_bill(plan: Plan):  # type: ignore[no-untyped-def]
    import msgspec

    bill = estimate(plan)
    return msgspec.structs.replace(bill, peak_reserved_bytes=bill.peak_reserved_bytes - 2 * GIB)
