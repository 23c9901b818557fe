"""The model that a word means: a file, a folder, an id in the local cache, a name of the list. No network."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping

import msgspec

from doctor.host import Host
from doctor.memory import models
from doctor.memory.shapes import ModelShape
from doctor.readers.model_config import read

HUB_ID = re.compile(r"[\w.-]{1,96}/[\w.-]{1,96}")
WEIGHTS = (".gguf", ".safetensors", ".bin", ".pt", ".pth", ".ggml", ".onnx")
CONFIG, ADAPTER = "config.json", "adapter_config.json"


class ModelNotFound(Exception):
    """No model by that word: what was looked for where, and what to give instead."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


def find(host: Host, word: str) -> ModelShape:
    """The shape of the model that a word means.

    Raises ModelNotFound, or ConfigInvalid where what is found describes no model.
    """
    return _found(host, word, adapters=2)


def _found(host: Host, word: str, adapters: int) -> ModelShape:
    """``adapters`` is how many more may lead from one to the next: a base may itself be called an adapter."""
    path = os.path.join(host.env.get("HOME", "~"), word[2:]) if word.startswith("~/") else word
    if host.is_folder(path):
        return _in_folder(host, path, word, adapters)
    if host.is_file(path):
        return _of_file(host, path, word, adapters)
    for folder in snapshots(host, word):
        if host.is_file(os.path.join(folder, CONFIG)) or host.is_file(os.path.join(folder, ADAPTER)):
            return msgspec.structs.replace(_in_folder(host, folder, word, adapters), source="cache")
    shape = models.listed(word)
    if shape is None:
        raise _not_found(host, word)
    return shape


def _of_file(host: Host, path: str, word: str, adapters: int) -> ModelShape:
    if path.lower().endswith(WEIGHTS):
        raise ModelNotFound(
            f"{word} holds weights, no shapes", "Give the config.json beside it, or its folder."
        )
    if os.path.basename(path) == ADAPTER:
        return _of_base(host, path, word, adapters)
    text = host.read_text(path)
    if text is None:
        raise ModelNotFound(f"{word} cannot be read")
    return msgspec.structs.replace(read(text, word), folder=os.path.dirname(os.path.abspath(path)))


def _in_folder(host: Host, folder: str, word: str, adapters: int) -> ModelShape:
    for name in (CONFIG, ADAPTER):
        if host.is_file(os.path.join(folder, name)):
            return _of_file(host, os.path.join(folder, name), word, adapters)
    held = host.list_folder(folder)
    if any(name.lower().endswith(".gguf") for name in held):
        raise ModelNotFound(
            f"{word} holds a GGUF file and no config.json", "Give the model it was made from."
        )
    if "params.json" in held:
        raise ModelNotFound(
            f"{word} holds params.json and no config.json", "Give the repository that ends in -hf."
        )
    raise ModelNotFound(
        f"{word} holds no config.json", "Give the folder of a model, or a name such as llama-3.1-8b."
    )


def _of_base(host: Host, path: str, word: str, adapters: int) -> ModelShape:
    """The model that an adapter was made for."""
    base = _base_of(host.read_text(path) or "")
    if not base or not adapters:
        raise ModelNotFound(f"{word} is an adapter that does not tell its base model", "Give the base model.")
    beside = os.path.join(os.path.dirname(path), base)
    try:
        shape = _found(host, beside if base.startswith(".") else base, adapters - 1)
    except ModelNotFound as error:
        raise ModelNotFound(f"{word} is an adapter of {base}, and {error.message}", error.hint) from None
    return msgspec.structs.replace(shape, notes=(f"{word} is an adapter of {base}.", *shape.notes))


def _base_of(text: str) -> str:
    try:
        base = json.loads(text).get("base_model_name_or_path")
    except (ValueError, AttributeError, RecursionError):
        return ""
    return base if isinstance(base, str) and len(base) < 1000 else ""


def snapshots(host: Host, word: str) -> Iterator[str]:
    """Folders of a hub id in the local caches: what main names first, then the newest."""
    if not HUB_ID.fullmatch(word):
        return
    for cache in caches(host.env):
        home = os.path.join(cache, "models--" + word.replace("/", "--"))
        revision = (host.read_text(os.path.join(home, "refs", "main")) or "").strip()
        held = [
            os.path.join(home, "snapshots", name)
            for name in host.list_folder(os.path.join(home, "snapshots"))
        ]
        held.sort(key=lambda folder: _age(host, os.path.join(folder, CONFIG)), reverse=True)
        yield from sorted(held, key=lambda folder: os.path.basename(folder) != revision)


def _age(host: Host, path: str) -> int:
    identity = host.identity(path)
    return identity[1] if identity else 0


def caches(env: Mapping[str, str]) -> Iterator[str]:
    """Where huggingface_hub keeps repositories: constants.py of huggingface_hub, in its order."""
    for name in ("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"):
        if env.get(name):
            yield env[name]
            return
    if env.get("HF_HOME"):
        yield os.path.join(env["HF_HOME"], "hub")
        return
    home = env.get("HOME") or env.get("USERPROFILE")
    common = env.get("XDG_CACHE_HOME") or (os.path.join(home, ".cache") if home else "")
    if common:
        yield os.path.join(common, "huggingface", "hub")


def _not_found(host: Host, word: str) -> ModelNotFound:
    looked = ["no such file or folder"]
    if HUB_ID.fullmatch(word):
        looked += [f"not in the cache {folder}" for folder in caches(host.env)] or [
            "no cache folder is known"
        ]
    looked.append("not in the list that is shipped")
    near = models.nearest(word)
    hint = f"Perhaps {', '.join(near)}?" if near else "Give a config.json, its folder, or --parameters 7B."
    return ModelNotFound(f"{word}: {'; '.join(looked)}", hint)
