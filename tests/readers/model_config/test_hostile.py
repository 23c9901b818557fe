"""Configs that lie, are broken, or describe something else: a clear message, and never another exception."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doctor.readers.model_config import ConfigInvalid, read
from doctor.readers.model_config.sizes import KEYS
from readers.model_config.tiny import CONFIGS, SIZES

LLAMA = {**SIZES, "model_type": "llama"}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"hidden_size": -4096}, "hidden_size is -4096: a model has at least one"),
        ({"num_hidden_layers": 0}, "num_hidden_layers is 0: a model has at least one"),
        ({"vocab_size": 10**12}, "vocab_size is 1000000000000: no model comes near it"),
        ({"vocab_size": "32000"}, "vocab_size is '32000', where a whole number is meant"),
        ({"num_attention_heads": True}, "num_attention_heads is True, where a whole number is meant"),
        ({"hidden_size": 64.5}, "hidden_size is 64.5, where a whole number is meant"),
        ({"hidden_size": [64]}, r"hidden_size is \[64\], where a whole number is meant"),
        ({"hidden_size": None}, "the config does not state hidden_size"),
        (
            {"num_attention_heads": 5, "num_key_value_heads": 1},
            "5 attention heads do not divide a hidden size of 64",
        ),
        ({"num_key_value_heads": 3}, "3 key-value heads do not divide 4 attention heads"),
        ({"tie_word_embeddings": "no"}, "tie_word_embeddings is 'no', where true or false is meant"),
        ({"model_type": None}, "has no model_type"),
        ({"model_type": ["llama"]}, "has no model_type"),
        ({"text_config": [1]}, "text_config is no object"),
        ({"model_type": "gemma3", "vision_config": "none"}, "vision_config is no object"),
    ],
)
def test_what_cannot_be_is_named(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigInvalid, match=message):
        read(json.dumps({**LLAMA, **change}), "config.json")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "config.json is no JSON"),
        ("[]", "holds no object"),
        ('{"hidden_size": NaN}', "NaN is no number"),
        ('{"hidden_size": Infinity}', "Infinity is no number"),
        ('{"hidden_size": 1e999, "model_type": "llama"}', "hidden_size is inf"),
        ('{"hidden_size": 1e300, "model_type": "llama"}', "no model comes near it"),
        ('{"hidden_size": ' + "9" * 5000 + "}", "an integer of 5000 digits"),
        ("[" * 200_000, "nested too deeply|no JSON"),
        (" " * (4 << 20), "too large for a config.json"),
        ('{"peft_type": "LORA", "base_model_name_or_path": "a/b"}', "describes an adapter, no model"),
        ('{"_class_name": "FluxPipeline"}', "a pipeline of diffusers"),
        ('{"tokenizer_class": "LlamaTokenizer"}', "describes a tokenizer"),
    ],
)
def test_what_is_no_config_is_called_by_its_name(text: str, message: str) -> None:
    with pytest.raises(ConfigInvalid, match=message):
        read(text, "config.json")


def test_an_adapter_names_its_base() -> None:
    with pytest.raises(ConfigInvalid) as caught:
        read('{"peft_type": "LORA", "base_model_name_or_path": "a/b"}', "x")
    assert caught.value.hint == "Give its base model, a/b, and the adapter in the plan."


def test_a_byte_order_mark_and_repeated_keys_are_remarked() -> None:
    text = "\ufeff" + json.dumps(LLAMA)[:-1] + ', "vocab_size": 60}'
    found = read(text, "config.json")
    assert found.vocab == 60
    assert "byte order mark" in found.notes[0] and "vocab_size more than once" in found.notes[1]


ODD = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**20), 10**20),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=5),
    st.lists(st.integers(0, 9), max_size=3),
    st.dictionaries(st.text(max_size=3), st.integers(), max_size=2),
)
NAMES = sorted(
    {key for keys in KEYS.values() for key in keys} | {"text_config", "vision_config", "mlp_only_layers"}
)


@given(kind=st.sampled_from(sorted(CONFIGS)), odd=st.dictionaries(st.sampled_from(NAMES), ODD, max_size=4))
def test_any_config_is_counted_or_refused(kind: str, odd: dict[str, Any]) -> None:
    try:
        found = read(json.dumps({**CONFIGS[kind], **odd}), "config.json")
    except ConfigInvalid as error:
        assert error.message
    else:
        assert found.parameters > 0 and all(matrix.count > 0 for matrix in found.matrices)


@given(st.text(max_size=200))
def test_any_text_is_read_or_refused(text: str) -> None:
    with pytest.raises(ConfigInvalid):
        read(text, "config.json")
