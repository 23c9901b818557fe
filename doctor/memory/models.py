"""The shipped list of common models, by name, and what is typical of a size where only that is known."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from functools import cache
from typing import Any

import msgspec

from doctor.matrix.rows import FOLDER, read_toml
from doctor.memory.shapes import ModelShape
from doctor.readers.model_config import quantised_as, shape_of

# What people and hubs hang on a name without changing a shape: the tuning, the files' form, the date.
ENDINGS = re.compile(
    r"-(hf|instruct|chat|it|pt|base|bnb|4bit|8bit|gptq|awq|gguf|exl2|fp8|int4|int8|unsloth|dynamic|bf16|fp16"
    r"|2\d{3})(?=-|$)"
)
# Endings that tell how the files hold the weights.
FORMS = {"-bnb-4bit": "bitsandbytes-4bit", "-gptq": "gptq", "-awq": "awq", "-fp8": "fp8"}
SHOWN = 5  # names that are offered where one is not known


@cache
def rows() -> Mapping[str, Mapping[str, Any]]:
    """Every row of the list by its name."""
    files = sorted((FOLDER / "models").glob("*.toml"))
    return {row["name"]: row for file in files for row in read_toml(file)["model"]}


def names() -> tuple[str, ...]:
    """The names of the list, family by family."""
    return tuple(rows())


def listed(name: str) -> ModelShape | None:
    """The shape of a name, as the list or a hub writes it; None where it is unknown or could be several."""
    found = _exact().get(name.lower()) or _loose().get(normalised(name))
    return None if found is None else _shape(found, name)


def repository(name: str) -> str:
    """The repository on the hub of a name of the list, "" where the list has it not."""
    found = _exact().get(name.lower()) or _loose().get(normalised(name))
    return "" if found is None else str(found["repository"])


def nearest(name: str) -> tuple[str, ...]:
    """Names of the list that come near."""
    wanted = normalised(name)
    beginning = [row["name"] for key, row in _loose().items() if key.startswith(wanted)] if wanted else []
    near = [_loose()[key]["name"] for key in get_close_matches(wanted, _loose(), SHOWN, 0.7)]
    return tuple(dict.fromkeys([*beginning, *near]))[:SHOWN]


def normalised(name: str) -> str:
    """A name without what changes no shape: "meta-llama/Llama-2-7b-chat-hf" is "llama27b"."""
    last = name.rstrip("/").rpartition("/")[2].lower().replace("_", "-").removeprefix("meta-")
    return re.sub(r"[^a-z0-9.]", "", ENDINGS.sub("", last))


def _shape(row: Mapping[str, Any], name: str) -> ModelShape:
    shape = shape_of(config_of(row), name, "list")
    notes = [f"Shapes of {row['repository']}, from the list that is shipped."]
    form = next((form for ending, form in FORMS.items() if ending in name.lower()), "")
    if form:
        notes.append(quantised_as(form))
    return msgspec.structs.replace(shape, quantised=form, notes=(*notes, *shape.notes))


def config_of(row: Mapping[str, Any]) -> Mapping[str, Any]:
    """The config of a row, with the keys that are null there: TOML has no word for that."""
    return {**row["config"], **dict.fromkeys(row.get("null", ()))}


@cache
def _exact() -> Mapping[str, Mapping[str, Any]]:
    return {word.lower(): row for row in rows().values() for word in words(row)}


@cache
def _loose() -> Mapping[str, Mapping[str, Any]]:
    """By normalised names; those of several shapes are left out."""
    found: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows().values():
        for word in words(row):
            found.setdefault(normalised(word), []).append(row)
    return {key: same[0] for key, same in found.items() if all(row is same[0] for row in same)}


def words(row: Mapping[str, Any]) -> Iterator[str]:
    """Every word by which a row may be asked for."""
    yield from (row["name"], row["repository"], *row.get("also", ()))


def of_parameters(text: str) -> ModelShape:
    """A typical dense model of so many parameters ("7B"), and the error that brings. Raises ConfigInvalid."""
    from doctor.memory.typical import of_parameters as typical

    return typical(text)
