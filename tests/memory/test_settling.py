"""What releases do by themselves. Expected values were read in the releases' own sources."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from doctor.matrix.platform import table
from doctor.memory.plan import Plan
from doctor.memory.settling import OPEN, assumptions, fact, settled
from doctor.versions import comparable

TODAY = {"torch": "2.13.0", "transformers": "5.24.0", "peft": "0.21.2", "trl": "1.16.0"}


def plan(**fields: Any) -> Plan:
    return Plan(**{"method": "qlora", "loop": "sft", **fields})


@pytest.mark.parametrize(
    ("trl", "dtype", "upcast"),
    [
        ("0.4.4", "bfloat16", True),  # prepare_model_for_int8_training
        ("0.7.4", "bfloat16", True),
        ("0.7.5", "bfloat16", False),  # peft_module_casting_to_bf16 undoes all but the norms
        ("0.7.5", "float16", True),
        ("0.23.1", "bfloat16", False),
        ("0.23.1", "float16", True),
        ("0.24.0", "float16", False),  # a function of its own, for norms alone
        ("0.26.0", "float16", False),  # the call is gone
        ("1.16.0", "bfloat16", False),
        ("", "bfloat16", False),
    ],
)
def test_what_is_not_quantised_becomes_float32_by_the_trainer_of_some_releases(
    trl: str, dtype: str, upcast: bool
) -> None:
    assert settled(plan(dtype=dtype), {"trl": trl}).kbit_upcast is upcast


@pytest.mark.parametrize("loop", ["bare", "trainer"])
def test_recipes_without_that_trainer_prepare_the_model_by_hand(loop: str) -> None:
    assert settled(plan(loop=loop), TODAY).kbit_upcast is True
    assert settled(plan(loop=loop, method="lora"), TODAY).kbit_upcast is False
    assert settled(plan(loop=loop, kbit_upcast=False), TODAY).kbit_upcast is False


@pytest.mark.parametrize(
    ("trl", "fused"),
    [
        ("0.9.6", False),
        ("1.4.0", False),
        ("1.6.0", False),
        ("1.7.0", True),
        ("1.14.2", True),
        ("1.15.0", True),
    ],
)
def test_the_loss_is_computed_in_pieces_from_1_7_on(trl: str, fused: bool) -> None:
    assert settled(plan(), {"trl": trl}).fused_loss is fused
    assert settled(plan(loop="trainer"), {"trl": trl}).fused_loss is False


@pytest.mark.parametrize(
    ("fields", "versions", "dtype"),
    [
        ({}, TODAY, "bfloat16"),
        ({}, {**TODAY, "trl": "0.25.1"}, "float32"),
        ({"dtype": "float16"}, TODAY, "float32"),  # fp16's scaler refuses gradients in bfloat16
        ({}, {"trl": "0.8.6", "peft": "0.10.0"}, "bfloat16"),
        ({"dtype": "float16"}, {"trl": "0.8.6", "peft": "0.10.0"}, "float32"),
        ({"method": "lora"}, TODAY, "float32"),
        ({"method": "lora", "dtype": "float16"}, {"peft": "0.11.1"}, "float16"),
        ({"method": "lora"}, {"peft": "0.12.0"}, "float32"),
        ({"method": "lora"}, {"peft": "0.5.0"}, "float32"),
        ({"loop": "bare"}, {"peft": "0.11.1"}, "float32"),  # its base layer is uint8
        ({"method": "full", "dtype": "float32"}, TODAY, "float32"),
    ],
)
def test_the_dtype_of_the_adapter(fields: dict[str, Any], versions: dict[str, str], dtype: str) -> None:
    assert settled(plan(**fields), versions).adapter_dtype == dtype


@pytest.mark.parametrize(
    ("loop", "versions", "reentrant"),
    [
        ("trainer", {"transformers": "4.37.2"}, True),
        ("trainer", {"transformers": "4.57.6"}, True),
        ("trainer", {"transformers": "5.0.0"}, False),
        ("sft", {"transformers": "4.57.6", "trl": "0.27.0"}, False),
        ("sft", {"transformers": "4.57.6", "trl": "0.26.2"}, True),
    ],
)
def test_checkpoints_are_reentrant_or_not(loop: str, versions: dict[str, str], reentrant: bool) -> None:
    assert settled(plan(loop=loop), versions).reentrant is reentrant


@pytest.mark.parametrize(
    ("model_type", "versions", "attention"),
    [
        ("llama", {"transformers": "4.35.2", "torch": "2.1.2"}, "eager"),
        ("llama", {"transformers": "4.36.0", "torch": "2.1.2"}, "sdpa"),
        ("llama", {"transformers": "4.36.0", "torch": "2.1.0+cu118"}, "eager"),
        ("mistral", {"transformers": "4.36.2", "torch": "2.2.0"}, "eager"),
        ("mistral", {"transformers": "4.37.0", "torch": "2.2.0"}, "sdpa"),
        ("phi3", {"transformers": "4.44.2"}, "eager"),
        ("gemma2", {"transformers": "4.44.2"}, "sdpa"),
        ("gemma2", {"transformers": "4.46.3"}, "eager"),
        ("gemma2", {"transformers": "4.48.0"}, "sdpa"),
        ("gemma2", {"transformers": "5.21.0"}, "eager"),
        ("gemma2", {}, "eager"),
        ("gpt_oss", {"transformers": "4.57.6"}, "eager"),
        ("qwen3", {}, "sdpa"),
    ],
)
def test_sdpa_is_eager_where_a_release_has_none(
    model_type: str, versions: dict[str, str], attention: str
) -> None:
    assert settled(plan(), versions, model_type).attention == attention


def test_an_attention_that_is_asked_for_stays() -> None:
    old = {"transformers": "4.30.0"}
    assert settled(plan(attention="flash_attention_2"), old).attention == "flash_attention_2"


METHODS, LOOPS = st.sampled_from(["lora", "qlora", "full"]), st.sampled_from(["bare", "trainer", "sft"])
NUMBERS = st.tuples(st.integers(0, 9), st.integers(0, 60), st.integers(0, 9)).map(
    lambda n: ".".join(map(str, n))
)
VERSIONS = st.dictionaries(
    st.sampled_from(["torch", "transformers", "peft", "trl"]),
    NUMBERS | st.sampled_from(["", "nightly", "1.0.dev0"]),
)


@given(METHODS, LOOPS, st.sampled_from(["bfloat16", "float16", "float32"]), VERSIONS)
def test_nothing_stays_open_and_what_was_said_stays(
    method: Any, loop: Any, dtype: Any, versions: dict[str, str]
) -> None:
    asked = Plan(method=method, loop=loop, dtype=dtype)
    done = settled(asked, versions)
    assert all(getattr(done, field) is not None for field in OPEN)
    assert settled(done, versions) == done
    said = {
        field: getattr(asked, field) for field in Plan.__struct_fields__ if field not in (*OPEN, "attention")
    }
    assert said == {field: getattr(done, field) for field in said}


def test_what_is_filled_in_is_told_by_release() -> None:
    told = assumptions(plan(), TODAY)
    assert any("TRL 1.16.0 computes the loss in tiles" in sentence for sentence in told)
    assert len(told) == 4 and all(sentence.endswith(".") for sentence in told)
    assert any("today's TRL" in sentence for sentence in assumptions(plan(), {}))


def test_nothing_is_told_of_what_was_said_or_does_not_matter() -> None:
    done = settled(plan(), TODAY)
    assert assumptions(done, TODAY) == ()
    told = assumptions(plan(method="full", gradient_checkpointing=False), TODAY)
    assert [sentence for sentence in told if "adapter" in sentence or "checkpoints" in sentence] == []


def test_a_package_that_attention_needs_and_that_is_absent_is_named() -> None:
    asked = msgspec.structs.replace(settled(plan(), TODAY), attention="flash_attention_2")
    assert assumptions(asked, TODAY) == ("flash-attn is not installed, which flash_attention_2 needs.",)
    assert assumptions(asked, {**TODAY, "flash-attn": "2.8.0"}) == ()


ROWS = [(about, row) for about, rows in table("training_defaults").items() for row in rows]


@pytest.mark.parametrize(("about", "row"), ROWS)
def test_every_row_has_a_source_and_bounds_that_are_versions(about: str, row: dict[str, Any]) -> None:
    assert row["says"] and ("source" in row)
    assert set(row) <= {
        *("value", "package", "introduced", "fixed", "loop", "method", "dtype", "model_type", "casts_back"),
        *("says", "source"),
    }
    assert all(comparable(row[bound]) for bound in ("introduced", "fixed") if bound in row)
    assert ("{package}" in row["says"]) <= ("package" in row)


@pytest.mark.parametrize("about", ["kbit_upcast", "fused_loss", "adapter_dtype", "reentrant"])
@given(METHODS, LOOPS, VERSIONS)
def test_every_open_field_has_a_row_for_every_plan(
    about: str, method: Any, loop: Any, versions: dict[str, str]
) -> None:
    assert fact(about, Plan(method=method, loop=loop), versions) is not None
