"""What a word for a model means on a machine: files, folders, the cache of the hub, the shipped list."""

from __future__ import annotations

import json
from typing import Any

import pytest
from fakes import FakeHost
from readers.model_config.tiny import CONFIGS

from doctor.memory.shapes import ModelShape
from doctor.model_files import ModelNotFound, find
from doctor.readers.model_config import ConfigInvalid

TINY = json.dumps(CONFIGS["llama"])
HUB = "/home/ann/.cache/huggingface/hub"


def adapter_of(base: str) -> str:
    return json.dumps({"peft_type": "LORA", "base_model_name_or_path": base})


def found(word: str, files: dict[str, str], **env: str) -> ModelShape:
    return find(FakeHost(files=files, env={"HOME": "/home/ann", **env}), word)


def refused(word: str, files: dict[str, str], **env: str) -> ModelNotFound:
    with pytest.raises(ModelNotFound) as caught:
        found(word, files, **env)
    return caught.value


@pytest.mark.parametrize("word", ["/m", "/m/config.json"])
def test_a_folder_and_its_config(word: str) -> None:
    shape = found(word, {"/m/config.json": TINY})
    assert (shape.source, shape.folder, shape.name, shape.layers) == ("config", "/m", word, 3)


def test_a_tilde_is_the_users_home() -> None:
    assert found("~/m", {"/home/ann/m/config.json": TINY}).folder == "/home/ann/m"


def test_an_adapters_folder_leads_to_its_base() -> None:
    shape = found("/a", {"/a/adapter_config.json": adapter_of("/m"), "/m/config.json": TINY})
    assert shape.layers == 3 and shape.notes[0] == "/a is an adapter of /m."
    assert found("/a", {"/a/adapter_config.json": adapter_of("llama-2-7b")}).layers == 32


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (adapter_of("/gone"), "/a is an adapter of /gone, and /gone: no such file"),
        (adapter_of(""), "does not tell its base model"),
        (adapter_of("/a"), "does not tell its base model"),  # of itself
        ("[1]", "does not tell its base model"),
        ("{", "does not tell its base model"),
    ],
)
def test_an_adapter_without_a_base(text: str, message: str) -> None:
    assert message in refused("/a", {"/a/adapter_config.json": text}).message


def cached(revision: str, text: str = TINY, name: str = "config.json", hub: str = HUB) -> dict[str, str]:
    return {f"{hub}/models--ann--model/snapshots/{revision}/{name}": text}


def test_the_cache_is_read_at_the_revision_of_main() -> None:
    other = json.dumps({**CONFIGS["llama"], "num_hidden_layers": 7})
    files = {**cached("aaa", other), **cached("bbb"), **cached("ccc", other)}
    files[f"{HUB}/models--ann--model/refs/main"] = "bbb\n"
    shape = found("ann/model", files)
    assert (shape.layers, shape.source, shape.name) == (3, "cache", "ann/model")


def test_a_cache_without_main_is_read_all_the_same() -> None:
    assert found("ann/model", cached("aaa")).layers == 3


@pytest.mark.parametrize(
    ("env", "hub"),
    [
        ({"HF_HUB_CACHE": "/big"}, "/big"),
        ({"HUGGINGFACE_HUB_CACHE": "/big"}, "/big"),
        ({"HF_HOME": "/hf"}, "/hf/hub"),
        ({"XDG_CACHE_HOME": "/x"}, "/x/huggingface/hub"),
    ],
)
def test_variables_move_the_cache(env: dict[str, str], hub: str) -> None:
    assert found("ann/model", cached("aaa", hub=hub), **env).layers == 3
    assert f"not in the cache {hub}" in refused("ann/model", cached("aaa"), **env).message


def test_a_cache_that_holds_no_config_gives_way_to_the_list() -> None:
    files = {f"{HUB}/models--meta-llama--Llama-2-7b-hf/snapshots/aaa/model.safetensors": ""}
    assert found("meta-llama/Llama-2-7b-hf", files).source == "list"


def test_an_adapter_in_the_cache() -> None:
    shape = found("ann/model", cached("aaa", adapter_of("llama-2-7b"), "adapter_config.json"))
    assert shape.layers == 32


def test_what_was_looked_for_where_is_told() -> None:
    error = refused("ann/lama-2-7b", {})
    assert error.message == (
        f"ann/lama-2-7b: no such file or folder; not in the cache {HUB}; not in the list that is shipped"
    )
    assert error.hint.startswith("Perhaps llama-2-7b")


@pytest.mark.parametrize(
    ("word", "files", "message"),
    [
        ("/m/x.gguf", {"/m/x.gguf": ""}, "holds weights, no shapes"),
        ("/m/model.safetensors", {"/m/model.safetensors": ""}, "holds weights, no shapes"),
        ("/m", {"/m/x.gguf": ""}, "holds a GGUF file and no config.json"),
        ("/m", {"/m/params.json": "{}"}, "holds params.json and no config.json"),
        ("/m", {"/m/readme": ""}, "holds no config.json"),
        ("../../../etc/passwd", {}, "no such file or folder"),
    ],
)
def test_what_is_there_instead_is_named(word: str, files: dict[str, str], message: str) -> None:
    assert message in refused(word, files).message


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"model_type": "llama", "hidden_size": -1}'])
def test_a_config_that_is_none_says_why(text: str) -> None:
    with pytest.raises(ConfigInvalid):
        found("/m", {"/m/config.json": text})


def test_a_named_file_may_be_called_anything() -> None:
    config: dict[str, Any] = dict(CONFIGS["qwen2"])
    assert found("/m/my.json", {"/m/my.json": json.dumps(config)}).model_type == "qwen2"
