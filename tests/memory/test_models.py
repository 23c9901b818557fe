"""The shipped list: totals as the model cards state them, and names however they are written."""

from __future__ import annotations

import pytest

from doctor.memory import models
from doctor.readers.model_config import ConfigInvalid, shape_of

FAMILIES = ("llama", "qwen", "mistral", "mixtral", "gemma", "phi", "yi", "deepseek", "glm", "smollm")


@pytest.mark.parametrize("name", models.names())
def test_every_model_has_the_parameters_of_its_card(name: str) -> None:
    row = models.rows()[name]
    assert shape_of(models.config_of(row), name, "list").parameters == row["parameters"]


@pytest.mark.parametrize("family", FAMILIES)
def test_no_family_is_missing(family: str) -> None:
    assert any(name.startswith(family) for name in models.names())


def test_no_word_means_two_models() -> None:
    words = [word.lower() for row in models.rows().values() for word in models.words(row)]
    assert len(words) == len(set(words))


@pytest.mark.parametrize(
    ("written", "listed"),
    [
        ("llama-2-7b", "llama-2-7b"),
        ("meta-llama/Llama-2-7b-hf", "llama-2-7b"),
        ("TheBloke/Llama-2-7B-Chat-GPTQ", "llama-2-7b"),
        ("Qwen2.5-7B-Instruct", "qwen2.5-7b"),
        ("Qwen/Qwen2.5-Coder-7B-Instruct", "qwen2.5-coder-7b"),
        ("unsloth/llama-3-8b-bnb-4bit", "llama-3-8b"),
        ("unsloth/Meta-Llama-3.1-8B-Instruct-bnb-4bit", "llama-3.1-8b"),
        ("unsloth/Qwen3-14B-unsloth-bnb-4bit", "qwen3-14b"),
        ("mistralai/Mistral-Nemo-Instruct-2407", "mistral-nemo-12b"),
        ("llama3-8b", "llama-3-8b"),
        ("gemma-2-9b-it", "gemma-2-9b"),
        ("PHI_4", "phi-4"),
        ("DeepSeek-R1-Distill-Llama-8B", "llama-3.1-8b"),
        ("microsoft/Phi-3-mini-128k-instruct", "phi-3-mini-128k"),
    ],
)
def test_names_are_taken_as_people_write_them(written: str, listed: str) -> None:
    found = models.listed(written)
    assert found is not None and found.config == models.config_of(models.rows()[listed])
    assert found.name == written and models.rows()[listed]["repository"] in found.notes[0]


@pytest.mark.parametrize(
    ("written", "near"),
    [
        ("mistral-7b", ("mistral-7b-v0.1", "mistral-7b-v0.3")),
        ("qwen3", ("qwen3-0.6b", "qwen3-1.7b", "qwen3-4b")),
        ("lama-2-7b", ("llama-2-7b",)),
    ],
)
def test_a_name_of_several_is_none_and_those_are_offered(written: str, near: tuple[str, ...]) -> None:
    assert models.listed(written) is None
    assert set(near) <= set(models.nearest(written))


@pytest.mark.parametrize("written", ["", "gpt2", "/", "bert-base-uncased"])
def test_what_is_not_there_is_none(written: str) -> None:
    assert models.listed(written) is None


def test_an_ending_tells_how_the_files_hold_the_weights() -> None:
    found = models.listed("unsloth/llama-3-8b-bnb-4bit")
    assert found is not None and found.quantised == "bitsandbytes-4bit" and "qlora" in found.notes[1]


@pytest.mark.parametrize("text", ["7B", "0.5b", "350M", "70B", "14e9", "405B", "1T"])
def test_a_number_of_parameters_becomes_a_typical_model(text: str) -> None:
    wanted = {
        "7B": 7e9,
        "0.5b": 5e8,
        "350M": 3.5e8,
        "70B": 7e10,
        "14e9": 1.4e10,
        "405B": 4.05e11,
        "1T": 1e12,
    }[text]
    found = models.of_parameters(text)
    layer = sum(matrix.parameters for matrix in found.matrices if "*" in matrix.path) / found.layers
    assert abs(found.parameters - wanted) <= layer  # layers come whole
    assert found.source == "parameters" and found.heads % found.kv_heads == 0 and 0 < found.error < 1


def test_the_error_covers_the_models_that_are_called_so() -> None:
    found = models.of_parameters("7B")
    for name in ("llama-2-7b", "mistral-7b-v0.3", "qwen2.5-7b"):
        assert abs(models.rows()[name]["parameters"] / found.parameters - 1) <= found.error


@pytest.mark.parametrize("text", ["", "7", "7Q", "-7B", "1e99", "0B", "NaN", "7B7B", "9" * 5000])
def test_what_is_no_number_of_parameters_is_refused(text: str) -> None:
    with pytest.raises(ConfigInvalid, match="is no number of parameters"):
        models.of_parameters(text)
