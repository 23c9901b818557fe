"""What became of an argument or a name: gone, not there yet, or never there; and what takes its place."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import Literal, NamedTuple

from packaging.version import Version

from doctor.matrix.api import (
    Replacement,
    bases,
    canonical,
    former,
    history,
    parameter_history,
    replacement,
    signature,
)
from doctor.matrix.api_signature import Signature
from doctor.matrix.api_table import package_of, table_of, words_at
from doctor.matrix.choices import MODEL_LOADER, loads_model
from doctor.rules.script.subject import is_before, is_from, short
from doctor.versions import Interval, comparable


class Fate(NamedTuple):
    """What became of it, and since when."""

    kind: Literal["gone", "not-yet", "never"]
    since: str = ""  # the first release without it, or the first with it
    package: str = ""  # whose release that is


def fate_of_argument(callable_name: str, name: str, versions: Mapping[str, str]) -> Fate:
    """What became of an argument that a callable does not take."""
    for owner in owners(callable_name, versions):
        lives = [(package_of(owner), life) for life in parameter_history(owner, name)]
        if lives:
            return fate_of(lives, versions)
    return Fate("never")


def owners(callable_name: str, versions: Mapping[str, str]) -> Iterator[str]:
    """A callable, and the same of each class that its class derives from."""
    name = canonical(callable_name)
    yield name
    yield from bases(name, versions)
    owner, _, method = name.rpartition(".")
    if method[:1].islower():
        yield from (f"{base}.{method}" for base in bases(owner, versions))
    if loads_model(name):
        yield MODEL_LOADER


def signature_of(callable_name: str, versions: Mapping[str, str]) -> Signature | None:
    """The arguments of a callable; of a model's class that the tables do not hold, those of the loader."""
    known = signature(callable_name, versions)
    return signature(MODEL_LOADER, versions) if known is None and loads_model(callable_name) else known


def fate_of_name(module: str, name: str, version: str) -> Fate:
    """What became of a name that a module does not export."""
    package = package_of(module)
    return fate_of([(package, life) for life in history(module, name)], {package: version})


def fate_of(lives: list[tuple[str, Interval]], versions: Mapping[str, str]) -> Fate:
    """The end before this version, else the beginning after it, else neither."""
    over, ahead = [], []
    for package, life in lives:
        version = versions.get(package, "")
        if life.fixed and is_from(version, life.fixed):
            over.append(Fate("gone", life.fixed, package))
        elif is_before(version, life.introduced):
            ahead.append(Fate("not-yet", life.introduced, package))
    if over:
        return max(over, key=age)
    return min(ahead, key=age) if ahead else Fate("never")


def age(fate: Fate) -> Version:
    """The order of fates by their release."""
    return comparable(fate.since) or Version("0")


def successor(callable_name: str, name: str, versions: Mapping[str, str]) -> Replacement | None:
    """What takes the place of an argument in these versions, followed where it was renamed twice."""
    owned = (replacement(owner, name) for owner in owners(callable_name, versions))
    found = next((one for one in owned if one), None)
    if found is None:
        return None
    package = package_of(found.owner)
    if is_before(versions.get(package, ""), found.since):
        return None
    further = replacement(found.into or found.owner, found.new) if found.new else None
    newer = further and is_from(versions.get(package_of(further.owner), ""), further.since)
    if further and newer and taken(further.into or further.owner, further.new, versions):
        return further._replace(old=found.old, into=further.into or found.into)
    return found


def is_refused(callable_name: str, known: Signature, name: str, versions: Mapping[str, str]) -> bool:
    """Is an argument refused: by the signature, or by the model that a loader hands it on to?

    A loader takes what it knows out of ``**kwargs`` and gives the rest to the model's constructor. What older
    releases took out and this one does not, no model's configuration knows.
    """
    answer = known.accepts(name)
    if answer is not None or MODEL_LOADER not in owners(callable_name, versions):
        return answer is False
    return fate_of_argument(callable_name, name, versions).kind == "gone"


def taken(callable_name: str, name: str, versions: Mapping[str, str]) -> bool:
    """Does a callable take an argument for certain?"""
    known = signature(callable_name, versions)
    return bool(known and known.accepts(name))


def predecessor(callable_name: str, name: str, versions: Mapping[str, str]) -> str:
    """What an argument was called before it got this name, where this version takes that; else ""."""
    found = former(callable_name, name)
    return found.old if found and taken(callable_name, found.old, versions) else ""


def instead(found: Replacement | None, callable_name: str, text: str) -> str:
    """What to write in place of an argument with this value, as one sentence; "" where nothing is known."""
    if found is None:
        return ""
    if found.new and found.into and canonical(found.into) != canonical(callable_name):
        same = found.new == found.old
        return f"Give {found.new} to {short(found.into)}" + ("" if same else f" (it was {found.old})")
    if found.new and found.value:
        if text in ("False", "None") and found.old.startswith("load_in_"):
            return f"Leave {found.old} out"
        return f"Write {found.new}={found.value.replace('{value}', text or '...')} in place of {found.old}"
    if found.new:
        reason = "" if "renamed" in found.sentence else f": {found.sentence.rstrip('.')}"
        return f"Write {found.new} in place of {found.old}{reason}"
    return found.sentence.rstrip(".")


def close_name(module: str, name: str, version: str) -> str:
    """The name of a module that a misspelt one must mean, "" where none is close."""
    table = table_of(package_of(module))
    line = table.modules.get(module) if table else None
    places = table.places(version) if table else ()
    if line is None or not places:
        return ""
    names = [word.rstrip("/?") for word in words_at(line, places[-1])]
    if name in names:
        return ""
    twin = next((one for one in names if one.lower() == name.lower()), "")
    return twin or next(iter(get_close_matches(name, names, 1, 0.85)), "")
