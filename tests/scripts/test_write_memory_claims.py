"""The tables that settle claims: their options are those of ``fit``, and the page has a place for each."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
import write_memory_claims as claims

from doctor.cli.fit_options import FitOptions
from doctor.memory.plan import Plan
from doctor.memory.validity import validated

DATA: dict[str, Any] = msgspec.toml.decode(
    (claims.DOCS / "data" / "memory_claims.toml").read_text(encoding="utf-8")
)
ROWS = [
    (table["model"], f"{table['common']} {options}")
    for table in DATA["table"]
    for _, options in table["rows"]
]


@pytest.mark.parametrize(("model", "words"), ROWS)
def test_each_row_is_a_plan_that_fit_takes(model: str, words: str) -> None:
    validated(claims.plan_of(words, Plan()))
    names = {word.removeprefix("--").removeprefix("no-") for word in words.split() if word.startswith("--")}
    assert {name.replace("-", "_") for name in names} <= set(FitOptions.__annotations__)
    assert claims.listed(model).name == model


def test_options_become_a_plan() -> None:
    plan = claims.plan_of(
        "--method lora --lora-dropout 0 --target-modules q_proj,v_proj --no-gradient-checkpointing", Plan()
    )
    told = (plan.method, plan.lora_dropout, plan.target_modules, plan.gradient_checkpointing)
    assert told == ("lora", 0.0, ("q_proj", "v_proj"), False)


def test_twelve_layers_times_hidden_squared() -> None:
    ((name, guess, counted, error),) = claims.counts({"models": ["llama-2-7b"]})
    # 12 x 32 x 4096^2 = 6,442,450,944 of 6,738,415,616
    assert (name, guess, counted, error) == ("llama-2-7b", "6.44 B", "6.74 B", "-4%")


def test_the_page_has_a_place_for_each_table() -> None:
    page = (claims.DOCS / "memory.md").read_text(encoding="utf-8")
    for name in ("counts", "cards", *(table["name"] for table in DATA["table"])):
        assert claims.replaced(page, name, "| new |").count("| new |") == 1
