"""The text of a config.json as a mapping, however hostile the text."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

# The largest config.json that is published names some thousand labels in half a megabyte.
LARGEST_CHARACTERS = 4 << 20
DIGITS = 25  # of an integer; beyond lies no size, and reading thousands of digits takes long


class ConfigInvalid(Exception):
    """What was given describes no model: why, and what to give instead."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


def mapping_of(text: str, name: str) -> tuple[Mapping[str, Any], tuple[str, ...]]:
    """The outermost object of a JSON text, and notes on what transformers would read otherwise.

    Raises ConfigInvalid where the text is no such thing.
    """
    if len(text) >= LARGEST_CHARACTERS:
        raise ConfigInvalid(f"{name} is too large for a config.json", "Give the config.json of the model.")
    repeated: set[str] = set()
    notes = []
    if text.startswith("\ufeff"):
        notes.append(
            f"{name} begins with a byte order mark, which transformers cannot read: save it as UTF-8."
        )
    found = _parsed(text.lstrip("\ufeff"), name, repeated)
    if repeated:
        notes.append(f"{name} states {', '.join(sorted(repeated))} more than once; the last one counts.")
    return found, tuple(notes)


def _parsed(text: str, name: str, repeated: set[str]) -> Mapping[str, Any]:
    def pairs(items: Sequence[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(items)
        if len(found) < len(items):
            times = Counter(key for key, _ in items)
            repeated.update(key[:40] for key, count in times.most_common(3) if count > 1)
        return found

    try:
        found = json.loads(text, object_pairs_hook=pairs, parse_int=_integer, parse_constant=_no_number)
    except RecursionError:
        raise ConfigInvalid(f"{name} is nested too deeply for a config.json") from None
    except ValueError as error:
        raise ConfigInvalid(f"{name} is no JSON: {error}", "Give the config.json of the model.") from None
    if not isinstance(found, dict):
        raise ConfigInvalid(f"{name} holds no object", "A config.json begins with {.")
    return found


def _integer(digits: str) -> int:
    if len(digits) > DIGITS:
        raise ConfigInvalid(f"an integer of {len(digits)} digits is no size of a model")
    return int(digits)


def _no_number(word: str) -> NoReturn:
    raise ConfigInvalid(f"{word} is no number that JSON knows, and no size of a model")
