"""Changes of arguments: renamed in place, dropped, moved to the configuration that takes them now."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from doctor.facts import Facts
from doctor.matrix.api import Replacement, bases, canonical
from doctor.patch.imports import with_import
from doctor.patch.text import Change, Edit, Text
from doctor.rules.script.arguments import Refused, refused
from doctor.rules.script.fate import fate_of_argument, predecessor, successor, taken
from doctor.rules.script.models import call_of
from doctor.rules.script.subject import is_patched, short, versions_of
from doctor.script import Argument, Call, Script

# What SFTConfig sets otherwise than TrainingArguments in one release or another: said aloud, all stays.
DEFAULTS = {
    "learning_rate": b"5e-05",
    "gradient_checkpointing": b"False",
    "logging_steps": b"500",
    "bf16": b"False",
}
BECOMES = {"trl.SFTConfig": "transformers.TrainingArguments"}


def argument_changes(facts: Facts, text: Text) -> Iterator[Change]:
    """Every certain change of an argument."""
    script, versions = facts.script, versions_of(facts)
    assert script
    moves: dict[int, list[tuple[Argument, Replacement, Call]]] = {}
    for one in refused(facts):
        if is_patched(script, one.target):
            continue
        found = successor(one.target, one.name, versions)
        for argument in one.given:
            place = call_around(script, argument)
            if found and place and not found.into and place.argument(found.new):
                continue  # it is given under both names
            if found and found.into and place and canonical(found.into) != one.target:
                config = configuration(script, place)
                if config:
                    moves.setdefault(config.number, []).append((argument, found, config))
            else:
                yield from changed(one, argument, found, text, versions)
    for moved in moves.values():
        yield from move(moved, script, text, versions)


def call_around(script: Script, argument: Argument) -> Call | None:
    """The one call that an argument by keyword belongs to."""
    owners = [call for call in script.calls if argument in call.arguments]
    return owners[0] if len(owners) == 1 and argument.way == "keyword" else None


def changed(
    one: Refused, argument: Argument, found: Replacement | None, text: Text, versions: Mapping[str, str]
) -> Iterator[Change]:
    """An argument that is renamed where it stands, or dropped."""
    node = keyword_at(text, argument)
    if found is None:
        fate = fate_of_argument(one.target, one.name, versions)
        old = predecessor(one.target, one.name, versions) if fate.kind == "not-yet" else ""
        if old:
            yield from renamed(argument, old, text)
    elif is_needless(found, node):
        yield (text.without(argument.place),)
    elif found.value:
        yield from revalued(found, node, text)
    elif keeps_meaning(found) and taken(one.target, found.new, versions):
        yield from renamed(argument, found.new, text)


def is_needless(found: Replacement, node: ast.keyword | None) -> bool:
    """May an argument be left out: it does nothing any more, or it is switched off, as by default?"""
    if node is None:
        return False
    if not found.new:
        return f"leave {found.old} out" in found.sentence
    is_off = isinstance(node.value, ast.Constant) and node.value.value in (False, None)
    switch = bool(found.value) and ("{value}" not in found.value or found.old.startswith("load_in_"))
    return is_off and switch


def keeps_meaning(found: Replacement) -> bool:
    """Does the same value mean the same under the new name?"""
    return "renamed" in found.sentence or found.new == "warmup_steps"


def keyword_at(text: Text, argument: Argument) -> ast.keyword | None:
    """The ``name=value`` of an argument, None where it comes out of a dictionary."""
    if argument.way != "keyword":
        return None
    wanted = text.span(argument.place)
    keywords = (node for node in ast.walk(text.tree) if isinstance(node, ast.keyword))
    return next((node for node in keywords if text.span(node) == wanted), None)


def renamed(argument: Argument, new: str, text: Text) -> Iterator[Change]:
    """Another name for the same value, as a keyword or as a key between quotes."""
    start, end = text.span(argument.place)
    old = argument.name.encode()
    at = text.data.find(old, start, end)
    if at - start in (0, 1):
        yield (Edit(at, at + len(old), new.encode()),)


def revalued(found: Replacement, node: ast.keyword | None, text: Text) -> Iterator[Change]:
    """A new name with another value, where the old value is a constant that the new one depends on."""
    if node is None or not isinstance(node.value, ast.Constant) or node.value.value in (False, None):
        return
    value = found.value.replace("{value}", text.source(node.value).decode())
    try:
        names = [part.id for part in ast.walk(ast.parse(value)) if isinstance(part, ast.Name)]
    except SyntaxError:
        return
    if all(text.bindings(name) for name in names):
        start, end = text.span(node)
        yield (Edit(start, end, f"{found.new}={value}".encode()),)


def configuration(script: Script, trainer: Call) -> Call | None:
    """The one call that made the ``args`` of a trainer, where both stand in the same function."""
    given = trainer.argument("args", 1)
    if given is None or not given.value.complete or len(given.value.made) != 1:
        return None
    found = call_of(script, given.value.made[0])
    return found if found and found.function == trainer.function and not found.unfollowed else None


def move(
    moved: list[tuple[Argument, Replacement, Call]], script: Script, text: Text, versions: Mapping[str, str]
) -> Iterator[Change]:
    """Arguments of a trainer that its configuration takes now: all of them or none."""
    config, into = moved[0][2], moved[0][1].into
    node = text.call_at(config.place)
    if node is None:
        return
    kept = {argument.name for argument in config.arguments}
    cuts, added = [], []
    for argument, found, _ in moved:
        keyword = keyword_at(text, argument)
        fits = taken(found.into, found.new, versions) and found.new not in kept and not found.value
        if keyword is None or not fits or not text.is_bound_before(keyword.value, node.lineno):
            return
        cuts.append(text.without(argument.place))
        added.append(found.new.encode() + b"=" + text.source(keyword.value))
    family = (canonical(config.callable), *bases(canonical(config.callable), versions))
    if canonical(into) in family:
        yield (*cuts, text.appended(node, added))
    elif canonical(config.callable) == BECOMES.get(into) and isinstance(node.func, ast.Name):
        defaults = [f"{name}=".encode() + value for name, value in DEFAULTS.items() if name not in kept]
        start, end = text.span(node.func)
        rename = Edit(start, end, short(into).encode())
        yield (*cuts, rename, text.appended(node, [*added, *defaults]), *with_import(into, script, text))
