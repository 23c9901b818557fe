"""What rules of scripts share: the versions in question, what a call ends in, where a fault stands."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

from doctor.facts import Facts
from doctor.findings import Confidence, Evidence, Fix
from doctor.matrix.api import canonical
from doctor.matrix.api_table import package_of
from doctor.script import LOCAL, Argument, Call, Class, Place, Script
from doctor.versions import comparable

# Libraries whose names and signatures are known.
LIBRARIES = ("transformers", "trl", "peft", "accelerate", "bitsandbytes", "datasets", "huggingface-hub")
SOME_MODEL = "transformers.PreTrainedModel"  # for an object whose class is chosen when the script runs
DEPTH = 8  # of classes of the script's own that derive from one another


class Target(NamedTuple):
    """The library's callable that a call ends in."""

    name: str  # "trl.SFTTrainer"
    own: frozenset[str] = frozenset()  # arguments that classes of the script's own take before it


def versions_of(facts: Facts) -> Mapping[str, str]:
    """The versions in question, of the libraries whose names and signatures are known."""
    assert facts.packages
    installed = facts.packages.installed
    return {name: installed[name].version for name in LIBRARIES if name in installed}


def is_before(version: str, bound: str) -> bool:
    """Is a version older than a bound? False where it is no version."""
    have, limit = comparable(version), comparable(bound)
    return have is not None and limit is not None and have < limit


def is_from(version: str, bound: str) -> bool:
    """Is a version at a bound or newer?"""
    have, limit = comparable(version), comparable(bound)
    return have is not None and limit is not None and have >= limit


def target_of(script: Script, call: Call) -> Target | None:
    """What a call ends in, the script's own classes followed to their base; None where it is not known."""
    owner, _, method = call.callable.rpartition(".")
    if call.made_by and owner.startswith("transformers.AutoModel"):
        return Target(f"{SOME_MODEL}.{method}")
    return followed(script, call.callable, DEPTH)


def followed(script: Script, name: str, depth: int) -> Target | None:
    """The library's callable behind a name."""
    if not name.startswith(LOCAL):
        return Target(name)
    found, method = own_class(script, name)
    if found is None or depth == 0 or any(one.name == method for one in found.methods):
        return None
    if not method and found.parameters is not None and not found.forwards:
        return None
    own = frozenset((*found.fields, *(found.parameters or ()))) if not method else frozenset()
    for base in sorted(found.bases, key=lambda base: base.endswith("Mixin")):  # a mixin makes no object
        further = followed(script, f"{base}.{method}" if method else base, depth - 1)
        if further:
            return Target(further.name, own | further.own)
    return None


def own_class(script: Script, name: str) -> tuple[Class | None, str]:
    """The class of the script's own that a name speaks of, and the method behind it."""
    name = name.removeprefix(LOCAL)
    classes = {one.name: one for one in script.classes}
    owner, _, method = name.rpartition(".")
    return (classes[name], "") if name in classes else (classes.get(owner), method)


def library_type(script: Script, type: str) -> str:
    """The library's class behind the class of an object, "" where it is none."""
    name, depth = type, DEPTH
    while name.startswith(LOCAL) and depth:
        found, _ = own_class(script, name)
        name = found.bases[0] if found and found.bases else ""
        depth -= 1
    return canonical(name) if name else ""


def short(name: str) -> str:
    """A callable as people say it: "SFTTrainer", "AutoModelForCausalLM.from_pretrained"."""
    parts = name.split(".")
    start = next((place for place, part in enumerate(parts) if part[:1].isupper()), len(parts) - 1)
    return ".".join(parts[start:])


def release(name: str, versions: Mapping[str, str]) -> str:
    """The package and version that a name is of: "trl 1.16.0"."""
    package = package_of(name)
    return f"{package} {versions[package]}"


def at(script: Script, place: Place) -> str:
    """Where something stands: "train.py:12"."""
    return f"{script.name}:{script.where(place.line)}"


def seen(one: Argument, wanted: str, script: Script, subject: str) -> Evidence:
    """An argument as it stands in the script."""
    text = f"{one.name}={one.text}" if one.text and one.way == "keyword" else one.name
    return Evidence(subject, text, wanted, at(script, one.place))


def in_script(title: str) -> Fix:
    """A change of the script's text."""
    return Fix(title, scope="script")


def by_words(*titles: str) -> Callable[[Facts], tuple[Fix, ...]]:
    """The changes to make where only words tell of the fault and no script is there to point into."""
    return lambda facts: tuple(map(in_script, titles))


def lines(script: Script, places: Iterable[Place]) -> str:
    """Where, in words, each line once: "line 12", "lines 12 and 40"."""
    found = list(dict.fromkeys(script.where(place.line) for place in places))
    if script.cells:
        return "; ".join(found)
    last = f" and {found[-1]}" if len(found) > 1 else ""
    return f"lines {', '.join(found[:-1])}{last}" if last else f"line {found[0]}"


def is_patched(script: Script, name: str) -> bool:
    """Does the script import unsloth, which replaces parts of trl and transformers at import?"""
    return package_of(name) in ("trl", "transformers") and any(
        one.module.partition(".")[0] == "unsloth" for one in script.imports
    )


PATCHED = " unsloth, which this script imports, replaces these classes and may take it all the same."


def confidence_of(script: Script, name: str, arguments: Iterable[Argument]) -> Confidence:
    """How sure it is that these arguments arrive."""
    if is_patched(script, name) or name.startswith(("peft.AutoPeftModel", f"{SOME_MODEL}.")):
        return "possible"  # which class takes them is known only when the script runs
    return "likely" if all(one.conditional for one in arguments) else "confirmed"


def calls_of(script: Script, *names: str) -> Iterator[Call]:
    """The calls that end in one of these callables, shielded ones left out."""
    for call in script.calls:
        target = target_of(script, call)
        if not call.guarded and target and canonical(target.name) in names:
            yield call


def literal(one: Argument | None) -> object:
    """The value of an argument that is one literal; ``...`` where it is not."""
    if one is None or one.guarded or not one.value.complete or len(one.value.constants) != 1:
        return ...
    others = one.value.names or one.value.made or one.value.entries
    return ... if others else one.value.constants[0]
