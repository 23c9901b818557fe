"""Which values an argument takes, where it takes only some; from `compat_matrix/api/choices.toml`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache

import msgspec

from doctor.matrix.api import bases, canonical
from doctor.matrix.api_table import package_of
from doctor.matrix.rows import FOLDER, read_toml
from doctor.versions import Interval

MODEL_LOADER = "transformers.PreTrainedModel.from_pretrained"
# Models of transformers by the names that their classes have; the tables hold few of them one by one.
MODEL = re.compile(r"transformers\.(?!TF[A-Z]|Flax|Auto)\w+?(For[A-Z]\w+|Model|LMHeadModel)\.from_pretrained")
# Their from_pretrained hands what it does not know on to the loader of the model that it chooses.
HAND_ON = re.compile(r"(transformers\.AutoModel|peft\.AutoPeftModel)\w*\.from_pretrained")


def loads_model(callable_name: str) -> bool:
    """Does a callable end in the one loader of models, ``PreTrainedModel.from_pretrained``?"""
    name = canonical(callable_name)
    return bool(HAND_ON.fullmatch(name) or MODEL.fullmatch(name))


class Choice(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The values of one argument, or of several alike."""

    of: str  # the callable, and all that derive from its class
    arguments: tuple[str, ...]
    raises: str  # what another value ends in
    since: str  # the first release that refuses other values
    always: tuple[str, ...]
    source: str
    spans: Mapping[str, tuple[str, str]] = {}  # [introduced, fixed) of values that came or went
    instead: Mapping[str, str] = {}  # what a known wrong value means

    def life_of(self, value: str) -> Interval | None:
        """In which releases a value is taken; None where it is in none."""
        if value in self.always:
            return Interval()
        introduced, fixed = self.spans.get(value, ("", ""))
        return Interval(introduced or "0", fixed or None) if value in self.spans else None

    def takes(self, value: str, version: str) -> bool:
        """Is a value taken in a version?"""
        life = self.life_of(value)
        return life is not None and life.contains(version)

    def values_in(self, version: str) -> tuple[str, ...]:
        """Every value that a version takes."""
        return tuple(value for value in (*self.always, *self.spans) if self.takes(value, version))


@cache
def choices() -> tuple[Choice, ...]:
    """Every row of `choices.toml`."""
    return tuple(msgspec.convert(row, Choice) for row in read_toml(FOLDER / "api" / "choices.toml")["choice"])


def choices_of(callable_name: str, versions: Mapping[str, str]) -> Iterator[Choice]:
    """The rows that speak of a callable: of itself, or of what its class derives from."""
    name = canonical(callable_name)
    owner, _, method = name.rpartition(".")
    is_method = method[:1].islower() and owner.rpartition(".")[2][:1].isupper()
    family = {name, *bases(name, versions)}
    if is_method:
        family |= {f"{base}.{method}" for base in bases(owner, versions)}
    if loads_model(name):
        family.add(MODEL_LOADER)
    for choice in choices():
        version = versions.get(package_of(choice.of), "")
        if choice.of in family and Interval(choice.since).contains(version):
            yield choice
