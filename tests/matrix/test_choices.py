"""Values that arguments take: the table holds together, and its bounds are those of the releases."""

from __future__ import annotations

import pytest

from doctor.matrix.choices import Choice, choices, choices_of
from doctor.versions import comparable


def optimizers() -> Choice:
    return next(row for row in choices() if row.arguments == ("optim",))


@pytest.mark.parametrize("row", choices(), ids=lambda row: f"{row.of}({row.arguments[0]})")
def test_a_row_holds_together(row: Choice) -> None:
    assert row.always and row.source.startswith("https://") and comparable(row.since)
    assert not set(row.always) & set(row.spans)
    for introduced, fixed in row.spans.values():
        assert introduced or fixed
        assert all(comparable(bound) for bound in (introduced, fixed) if bound)
    for wrong, right in row.instead.items():
        assert wrong not in row.always and row.life_of(right)


@pytest.mark.parametrize(
    ("value", "version", "taken"),
    [
        ("adamw_hf", "4.49.0", True),
        ("adamw_hf", "4.50.0", False),
        ("stable_adamw", "4.53.3", False),
        ("stable_adamw", "4.54.0", True),
        ("adamw_torch", "5.24.0", True),
        ("adamw", "5.24.0", False),
    ],
)
def test_optimizers_come_and_go(value: str, version: str, taken: bool) -> None:
    assert optimizers().takes(value, version) is taken
    assert (value in optimizers().values_in(version)) is taken


def test_what_derives_from_a_callable_has_its_rows() -> None:
    versions = {"transformers": "5.24.0", "trl": "1.16.0", "peft": "0.21.2"}
    for name in ("transformers.TrainingArguments", "trl.SFTConfig", "trl.trainer.sft_config.SFTConfig"):
        assert optimizers() in choices_of(name, versions)
    assert [row.arguments for row in choices_of("peft.LoraConfig", versions)] == [("task_type",), ("bias",)]
    assert not list(choices_of("peft.get_peft_model", versions))
    assert not list(choices_of("trl.SFTConfig", {}))
