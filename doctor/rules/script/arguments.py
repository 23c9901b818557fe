"""Arguments that the versions in question do not take: gone, not yet there, never there, or ignored."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from difflib import get_close_matches
from typing import NamedTuple

from doctor.facts import Facts
from doctor.findings import Evidence
from doctor.matrix.api import canonical
from doctor.matrix.api_signature import Signature
from doctor.rules import Hit, rule
from doctor.rules.script.fate import (
    Fate,
    fate_of_argument,
    instead,
    is_refused,
    predecessor,
    signature_of,
    successor,
)
from doctor.rules.script.subject import (
    PATCHED,
    Target,
    at,
    by_words,
    confidence_of,
    in_script,
    is_patched,
    release,
    seen,
    short,
    target_of,
    versions_of,
)
from doctor.script import Argument, Call, Script

# How alike a misspelt argument is to the one meant: bnb_4bit_double_quant to bnb_4bit_use_double_quant.
LIKENESS = 0.84
# They keep what they do not know in **kwargs, say nothing a user would see, and go on.
DEAF = {"transformers.BitsAndBytesConfig"}


class Refused(NamedTuple):
    """An argument that a callable does not take, each time that it is given."""

    target: str
    name: str
    given: tuple[Argument, ...]
    signature: Signature


def checked_calls(script: Script, versions: Mapping[str, str]) -> Iterator[tuple[Call, Target, Signature]]:
    """The calls whose signature is known."""
    for call in script.calls:
        target = None if call.guarded else target_of(script, call)
        known = signature_of(target.name, versions) if target else None
        if target and known:
            yield call, target, known


def refused(facts: Facts) -> Iterator[Refused]:
    """Every argument of the script that its callable does not take."""
    assert facts.script
    versions = versions_of(facts)
    found: dict[tuple[str, str], Refused] = {}
    for call, target, known in checked_calls(facts.script, versions):
        for one in call.arguments:
            if one.guarded or not one.name or one.name in target.own:
                continue
            if not is_refused(target.name, known, one.name, versions):
                continue
            key = short(canonical(target.name)), one.name
            before = found[key].given if key in found else ()
            same = any(one.place == other.place for other in before)
            given = before if same else (*before, one)
            found[key] = Refused(canonical(target.name), one.name, given, known)
    yield from found.values()


def hits(
    facts: Facts, kind: str, title: Callable[[Refused, Fate], str], fix: Callable[[Refused, Fate], str]
) -> Iterator[Hit]:
    """One hit for each argument of this fate."""
    script, versions = facts.script, versions_of(facts)
    assert script
    for one in refused(facts):
        fate = fate_of_argument(one.target, one.name, versions)
        if fate.kind != kind:
            continue
        sentence = fix(one, fate)
        wanted = wanted_in(sentence)
        places = tuple(seen(given, wanted, script, short(one.target)) for given in one.given)
        whole = title(one, fate) + (":" + PATCHED.rstrip(".") if is_patched(script, one.target) else "")
        yield Hit(
            title=whole,
            evidence=(*places, Evidence(*release(one.target, versions).split(" "))),
            fixes=(in_script(sentence),),
            confidence=confidence_of(script, one.target, one.given),
        )


def wanted_in(sentence: str) -> str:
    """What a fix asks to write, as evidence: "max_length in SFTConfig"."""
    if found := re.match(r"Give (\w+) to (\w+)", sentence):
        return f"{found[1]} in {found[2]}"
    found = re.match(r"Write (.+?) in place of ", sentence)
    return found[1] if found else ""


@rule("script/removed-argument", "error", needs=("script", "packages"))
def removed_argument(facts: Facts) -> Iterator[Hit]:
    """The script gives an argument that the installed release no longer takes

    Why: Python raises TypeError, got an unexpected keyword argument, as soon as the call is reached. The
    library renamed the argument, moved it to a configuration class, or dropped it.

    Fix: give the argument that took its place, or leave it out.
    """
    versions = versions_of(facts)

    def title(one: Refused, fate: Fate) -> str:
        gone = f"{fate.package} {fate.since} removed it"
        return f"{short(one.target)} of {release(one.target, versions)} does not take {one.name}; {gone}"

    def fix(one: Refused, fate: Fate) -> str:
        found = successor(one.target, one.name, versions)
        return instead(found, one.target, one.given[0].text) or f"Leave {one.name} out"

    yield from hits(facts, "gone", title, fix)


@rule("script/argument-not-yet", "error", needs=("script", "packages"))
def argument_not_yet(facts: Facts) -> Iterator[Hit]:
    """The script gives an argument that only a newer release takes

    Why: the script was written for a newer release of the library. The installed one raises TypeError, got
    an unexpected keyword argument.

    Fix: upgrade the library, or give the argument by which this release calls it.
    """
    versions = versions_of(facts)

    def title(one: Refused, fate: Fate) -> str:
        first = f"{fate.package} {fate.since} is the first that does"
        return f"{short(one.target)} of {release(one.target, versions)} does not take {one.name} yet; {first}"

    def fix(one: Refused, fate: Fate) -> str:
        old = predecessor(one.target, one.name, versions)
        upgrade = f"upgrade to {fate.package} {fate.since} or newer"
        return f"Write {old} in place of {one.name}; or {upgrade}" if old else upgrade.capitalize()

    yield from hits(facts, "not-yet", title, fix)


@rule(
    "script/unknown-argument",
    "error",
    needs=("script", "packages"),
    symptoms=(
        "Some specified arguments are not used by the HfArgumentParser",
        "Some keys are not used by the HfArgumentParser",
        "re:The following `model_kwargs` are not used by the model",
    ),
    cure=by_words("Correct the name, or drop the key that this release does not know"),
    question="Which releases are installed, and for which was the configuration written?",
)
def unknown_argument(facts: Facts) -> Iterator[Hit]:
    """The script gives an argument that no release of the library takes

    Why: the callable has no argument of this name, in the installed release or any other that was read. It is
    misspelt, or belongs to another call. Python raises TypeError, got an unexpected keyword argument.

    Fix: correct the spelling, or give it to the call that it belongs to.
    """
    versions = versions_of(facts)

    def title(one: Refused, fate: Fate) -> str:
        return f"{short(one.target)} of {release(one.target, versions)} does not take {one.name}"

    def fix(one: Refused, fate: Fate) -> str:
        found = successor(one.target, one.name, versions)
        meant = closest(one.name, one.signature)
        said = f"Write {meant} in place of {one.name}" if meant else f"Leave {one.name} out"
        return instead(found, one.target, one.given[0].text) or said

    yield from hits(facts, "never", title, fix)


def closest(name: str, known: Signature) -> str:
    """The argument that a misspelt one must mean, "" where none is close."""
    names = [*(one.name for one in known.parameters), *known.by_name]
    return next(iter(get_close_matches(name, names, 1, LIKENESS)), "")


@rule("script/ignored-argument", "warning", needs=("script", "packages"))
def ignored_argument(facts: Facts) -> Iterator[Hit]:
    """The script gives a misspelt argument, which is taken and ignored

    Why: the callable keeps arguments that it does not know and never uses them, so a misspelt one raises no
    error and its setting stays at the default.

    Fix: write the name of the argument that was meant.
    """
    assert facts.script
    versions = versions_of(facts)
    told: set[str] = set()
    for call, target, known in checked_calls(facts.script, versions):
        for one in call.arguments if canonical(target.name) in DEAF else ():
            meant = closest(one.name, known) if one.name and known.accepts(one.name) is None else ""
            if not meant or one.name in told or one.guarded:
                continue
            told.add(one.name)
            name = short(target.name)
            yield Hit(
                title=f"{name} takes {one.name} and ignores it; {meant} is the argument that it knows",
                evidence=(seen(one, meant, facts.script, name),),
                fixes=(in_script(f"Write {meant} in place of {one.name}"),),
            )


@rule("script/too-many-arguments", "error", needs=("script", "packages"))
def too_many_arguments(facts: Facts) -> Iterator[Hit]:
    """The script gives more arguments by position than the callable takes

    Why: the release made some of the arguments keyword-only, or removed them. Python raises TypeError, takes
    so many positional arguments.

    Fix: give the arguments by name.
    """
    assert facts.script
    versions = versions_of(facts)
    for call, target, known in checked_calls(facts.script, versions):
        count = sum(one.way == "positional" for one in call.arguments)
        most = len(known.positional)
        if (
            known.many
            or target.own
            or count <= most + is_unbound(call)
            or any(one.position < 0 for one in by_position(call))
        ):
            continue
        name, where = short(canonical(target.name)), at(facts.script, call.place)
        yield Hit(
            title=f"{name} of {release(target.name, versions)} takes {most} by position, not {count}",
            evidence=(Evidence(name, f"{count} by position", f"at most {most}", where),),
            fixes=(in_script(f"Give the arguments of {name} by name"),),
            confidence="possible" if is_patched(facts.script, target.name) else "confirmed",
        )


def is_unbound(call: Call) -> bool:
    """Is it a method taken from its class? Its first argument may be the object: Trainer.train(trainer)."""
    owner = call.callable.rpartition(".")[0].rpartition(".")[2]
    return not call.made_by and owner[:1].isupper()


def by_position(call: Call) -> list[Argument]:
    """The arguments of a call that have no name."""
    return [one for one in call.arguments if one.way == "positional"]
