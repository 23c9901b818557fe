"""Every replacement holds on the tables: the old name was there and went, the new one is there."""

from __future__ import annotations

import re

import pytest

from doctor.matrix import api
from doctor.matrix.api_table import Table, package_of, table_of

ROWS = sorted(api.replacements().values())
TODAY = {
    "transformers": "5.24.0",
    "trl": "1.16.0",
    "peft": "0.21.2",
    "accelerate": "1.15.0",
    "datasets": "5.2.0",
    "huggingface-hub": "2.4.0",
}
STILL_TAKEN = {"torch_dtype", "use_auth_token"}  # the old name works in some places


def table(owner: str) -> Table:
    found = table_of(package_of(owner))
    assert found is not None
    return found


def is_name(row: api.Replacement) -> bool:
    """Is this of a module, and not of a callable?"""
    return row.owner in table(row.owner).modules


def accepts(owner: str, keyword: str, release: str) -> bool | None:
    signature = api.signature(owner, {**TODAY, package_of(owner): release})
    return signature.accepts(keyword) if signature else False


def before(row: api.Replacement) -> list[str]:
    """The releases below `since`, newest first."""
    owner = table(row.owner)
    place = min(owner.places(row.since), default=0)
    return list(reversed(owner.releases[:place]))


each = pytest.mark.parametrize("row", ROWS, ids=[f"{row.owner}.{row.old}" for row in ROWS])


@each
def test_the_old_one_was_there(row: api.Replacement) -> None:
    releases = table(row.owner).releases
    if is_name(row):
        assert any(api.exports(row.owner, row.old, release) for release in releases)
    else:
        assert any(accepts(row.owner, row.old, release) for release in releases)


@each
def test_the_old_one_went(row: api.Replacement) -> None:
    today = TODAY[package_of(row.owner)]
    if is_name(row):
        assert api.exports(row.owner, row.old, today) is not True or row.old in STILL_TAKEN
    elif row.old not in STILL_TAKEN:
        assert accepts(row.owner, row.old, today) is not True


@each
def test_since_is_when_the_new_one_is_there_or_the_old_one_is_not(row: api.Replacement) -> None:
    has = api.exports if is_name(row) else accepts
    home, _, name = row.new.rpartition(".")
    if not row.new:
        assert has(row.owner, row.old, row.since) is not True
        assert has(row.owner, row.old, before(row)[0]) is True
    elif not is_name(row):
        assert has(row.into or row.owner, row.new, row.since) is not False
    elif package_of(home) == package_of(row.owner):
        assert has(home, name, row.since) is True


@each
def test_its_sentence_is_plain_and_its_source_can_be_opened(row: api.Replacement) -> None:
    assert re.fullmatch(r"[\w\"].*[.]", row.sentence) and row.source.startswith(
        "https://github.com/huggingface/"
    )
    assert not row.value or row.new


def test_a_replacement_is_found_by_any_path_and_by_what_derives_from_its_owner() -> None:
    row = api.replacement("trl.trainer.sft_config.SFTConfig", "evaluation_strategy")
    assert row is not None and (row.owner, row.new) == ("transformers.TrainingArguments", "eval_strategy")
    loader = "transformers.AutoModelForCausalLM.from_pretrained"
    assert (row := api.replacement(loader, "load_in_4bit")) and row.new == "quantization_config"
    assert (
        row := api.replacement("transformers.Seq2SeqTrainer", "tokenizer")
    ) and row.new == "processing_class"
    assert api.replacement("transformers.Trainer", "model") is None
    assert api.replacement("torch.nn.Linear", "bias") is None


def test_a_replacement_can_be_asked_for_backwards() -> None:
    row = api.former("trl.SFTConfig", "eval_strategy")
    assert row is not None and row.old == "evaluation_strategy"
    assert (row := api.former("transformers.AutoModelForCausalLM.from_pretrained", "dtype"))
    assert (row.old, row.since) == ("torch_dtype", "4.56.0")
    assert api.former("trl.SFTConfig", "packing") is None


def test_replacements_are_followed_until_one_is_taken() -> None:
    old = api.successor("trl.SFTTrainer", "max_seq_length", {"trl": "0.13.0", "transformers": "4.48.0"})
    new = api.successor("trl.SFTTrainer", "max_seq_length", {"trl": "1.16.0", "transformers": "5.24.0"})
    assert old and (old.into, old.new) == ("trl.SFTConfig", "max_seq_length")
    assert new and (new.owner, new.new) == ("trl.SFTConfig", "max_length")
    assert api.successor("trl.SFTTrainer", "unheard_of", TODAY) is None
