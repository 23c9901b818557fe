"""Names that the versions in question do not have: gone, not there yet, or never there."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from doctor.facts import Facts
from doctor.findings import Evidence
from doctor.matrix.api import exports, has_module, history, replacement, where_now
from doctor.matrix.api_table import package_of
from doctor.rules import Hit, rule
from doctor.rules.script.fate import Fate, close_name, fate_of_name
from doctor.rules.script.subject import at, in_script, is_patched, release, versions_of
from doctor.script import Import, Script


class Missing(NamedTuple):
    """A name that its module does not have, each time that it is asked for."""

    module: str
    name: str  # "" where the module itself is missing
    asked: tuple[Import, ...]

    @property
    def fate(self) -> tuple[str, str]:
        """Module and name whose history tells what became of it."""
        parent, _, last = self.module.rpartition(".")
        return (self.module, self.name) if self.name else (parent, last)

    @property
    def label(self) -> str:
        """The name as the script would say it in full."""
        return f"{self.module}.{self.name}" if self.name else self.module


def missing_names(script: Script, versions: Mapping[str, str]) -> Iterator[Missing]:
    """Every name and module of the script that its package does not have."""
    found: dict[tuple[str, str], Missing] = {}
    for one in script.imports:
        version = versions.get(package_of(one.module))
        if one.guarded or version is None:
            continue
        if has_module(one.module, version) is False:
            key = absent_part(one.module, version), ""
        elif one.name and is_missing(one.module, one.name, version):
            key = one.module, one.name
        else:
            continue
        if one.form == "attribute" and ((one.module, "") in found or is_object(one.module, version)):
            continue
        before = found[key].asked if key in found else ()
        found[key] = Missing(*key, (*before, one))
    yield from found.values()


def is_object(module: str, version: str) -> bool:
    """Is a path that is no module a name all the same, such as "transformers.logging"? It has what it has."""
    if has_module(module, version) is not False:
        return False
    parent, _, name = absent_part(module, version).rpartition(".")
    return exports(parent, name, version) is not False


def is_missing(module: str, name: str, version: str) -> bool:
    """Does a module lack a name? Where it makes names on demand, one that differs by case alone never was."""
    known = exports(module, name, version)
    if known is None and not history(module, name):
        return close_name(module, name, version).lower() == name.lower() != ""
    return known is False


def absent_part(module: str, version: str) -> str:
    """The outermost part of a module's path that is not there."""
    parts = module.split(".")
    paths = (".".join(parts[:count]) for count in range(1, len(parts) + 1))
    return next((path for path in paths if has_module(path, version) is False), module)


def hits(facts: Facts, kind: str, title: Callable[[Missing, Fate, str], str]) -> Iterator[Hit]:
    """One hit for each name of this fate."""
    script, versions = facts.script, versions_of(facts)
    assert script
    for one in missing_names(script, versions):
        package = package_of(one.module)
        fate = fate_of_name(*one.fate, versions[package])
        if fate.kind != kind:
            continue
        wanted, sentence = way_out(one, fate, versions)
        sometimes = all(asked.conditional for asked in one.asked)
        places = tuple(Evidence("import", one.label, wanted, at(script, asked.place)) for asked in one.asked)
        yield Hit(
            title=title(one, fate, release(one.module, versions)),
            evidence=(*places, Evidence(package, versions[package])),
            fixes=(in_script(sentence),),
            confidence="likely" if is_patched(script, one.module) or sometimes else "confirmed",
            severity="warning" if sometimes else None,
        )


def way_out(one: Missing, fate: Fate, versions: Mapping[str, str]) -> tuple[str, str]:
    """What to import in its place, and that as a sentence."""
    module, name = one.fate
    package = package_of(one.module)
    found = replacement(module, name) if fate.kind != "not-yet" else None  # that came later still
    if found and found.new:
        return found.new, f"Use {found.new} in place of {one.label}"
    if found and found.sentence:
        return "", found.sentence.rstrip(".")
    elsewhere = where_now(name, package, versions[package]) if one.name else ()
    if elsewhere:
        return f"{elsewhere[0]}.{name}", f"Write: from {elsewhere[0]} import {name}"
    if fate.kind == "not-yet":
        return "", f"Upgrade to {package} {fate.since} or newer"
    if fate.kind == "gone":
        return "", f"Do without {name}, or stay below {package} {fate.since}"
    meant = close_name(module, name, versions[package])
    return meant, f"Write {meant} in place of {name}" if meant else f"Correct the name {name}"


@rule("script/removed-symbol", "error", needs=("script", "packages"))
def removed_symbol(facts: Facts) -> Iterator[Hit]:
    """The script imports a name that the installed release no longer has

    Why: the library removed the name, or moved it to another module. The import raises ImportError before
    anything of the script runs.

    Fix: import what took its place.
    """

    def title(one: Missing, fate: Fate, installed: str) -> str:
        return f"{installed} no longer has {one.label}; {fate.package} {fate.since} removed it"

    yield from hits(facts, "gone", title)


@rule("script/symbol-not-yet", "error", needs=("script", "packages"))
def symbol_not_yet(facts: Facts) -> Iterator[Hit]:
    """The script imports a name that only a newer release has

    Why: the script was written for a newer release of the library. The import raises ImportError.

    Fix: upgrade the library.
    """

    def title(one: Missing, fate: Fate, installed: str) -> str:
        return (
            f"{installed} does not have {one.label} yet; {fate.package} {fate.since} is the first that does"
        )

    yield from hits(facts, "not-yet", title)


@rule("script/unknown-symbol", "error", needs=("script", "packages"))
def unknown_symbol(facts: Facts) -> Iterator[Hit]:
    """The script imports a name that no release of the library has

    Why: the name is misspelt, stands in another module, or was never released. The import raises ImportError.

    Fix: correct the name, or import it from where it stands.
    """

    def title(one: Missing, fate: Fate, installed: str) -> str:
        return f"{installed} has no {one.label}"

    yield from hits(facts, "never", title)
