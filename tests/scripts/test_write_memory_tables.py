"""The page of what fits where: how a cell is told, and that the page in docs speaks of every model."""

from __future__ import annotations

import re

import msgspec
import pytest
import write_memory_tables
from memory.billing import SHAPE, Billing

from doctor.memory import models
from doctor.memory.plan import Plan


@pytest.mark.parametrize(
    ("size_gib", "method"),
    # By the bill the weights alone are 4 GiB in NF4 and 14 in 16 bits.
    [(4, "–"), (6, "QLoRA "), (12, "QLoRA "), (80, "LoRA ")],
)
def test_the_best_plan_in_few_letters(size_gib: int, method: str) -> None:
    assert write_memory_tables.best_of(SHAPE, Plan(), size_gib, Billing()).startswith(method)


def test_what_is_unlike_the_recipe_is_in_the_cell() -> None:
    plan = Plan(optimizer="paged_adamw_8bit", target_modules=("q_proj", "v_proj"), rank=8)
    told = list(write_memory_tables.in_few_letters(plan))
    assert told[1:] == ["8-bit AdamW", "q and v alone", "rank 8"]


def test_the_longest_sequence_is_the_last_that_fits() -> None:
    start = Plan(fused_loss=False, expandable_segments=True)
    told = int(write_memory_tables.longest_of(SHAPE, start, 8, Billing()))
    # By the bill: 4.5 GiB and 1.125 GiB for 1024 tokens, 5 % on top, of the 7.77 GiB of such a GPU.
    assert (
        told % 256 == 0
        and (4.5 + 1.125 * told / 1024) * 1.05 <= 7.77 < (4.5 + 1.125 * (told + 256) / 1024) * 1.05
    )


def test_up_to_what_the_config_allows() -> None:
    short = msgspec.structs.replace(SHAPE, config={"max_position_embeddings": 512})
    assert write_memory_tables.longest_of(short, Plan(), 80, Billing()) == "512*"


def test_what_cannot_be_estimated_is_no_dash() -> None:
    assert write_memory_tables.longest_of(SHAPE, Plan(), 80, Billing(refuses="adamw_torch")) == "?"


def test_the_page_speaks_of_every_model_of_the_list() -> None:
    text = write_memory_tables.PAGE.read_text(encoding="utf-8")
    told = re.findall(r"^\| ([\w.-]+) \(", text, re.M)
    assert told == [*models.names(), *models.names()]
