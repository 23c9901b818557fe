"""Fixes for what a file asks for: the line to change, and to what. Nothing is written by the doctor."""

from __future__ import annotations

import posixpath

from doctor.findings import Fix
from doctor.wanted import Requirement, Wanted

SHOWN = 60  # characters of a requirement
RELOCK = {
    "uv.lock": ("uv", "lock", "--upgrade-package"),
    "poetry.lock": ("poetry", "update"),
    "pdm.lock": ("pdm", "update"),
    "Pipfile.lock": ("pipenv", "update"),
}


def ask_for(wanted: Wanted, title: str, requirements: tuple[str, ...], options: tuple[str, ...] = ()) -> Fix:
    """Make a file ask for these requirements: "peft>=0.18.0" in place of the line that names peft."""
    steps = [step(wanted, requirement) for requirement in requirements]
    index = f", from {options[-1]}" if options else ""
    return Fix(f"{title}: {', '.join(steps)}{index}", relock(wanted, requirements), "environment", None)


def step(wanted: Wanted, requirement: str) -> str:
    """One change of a file in words."""
    line = line_of(wanted, name_in(requirement))
    if wanted.form == "installed":
        return f"install {requirement} there"
    if is_lock(wanted):
        return f"ask for {requirement} where {posixpath.basename(wanted.file)} is made from, and lock anew"
    if line is None:
        return f"add {requirement}"
    return f"change {shortened(line.text)} to {requirement} in {place(wanted, line)}"


def shortened(text: str) -> str:
    """What stands in a line, cut where it is as long as a URL."""
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}…"


def place(wanted: Wanted, line: Requirement) -> str:
    """A line in words, with its file where that is another one, which is included."""
    return f"line {line.line}" + ("" if line.file == wanted.file else f" of {line.file}")


def drop(wanted: Wanted, title: str, packages: tuple[str, ...]) -> Fix:
    """Make a file ask for these packages no more."""
    lines = [line_of(wanted, package) for package in packages]
    steps = [f"delete {place(wanted, line)}" for line in lines if line and wanted.form == "open"]
    return Fix(f"{title}: {', '.join(steps)}" if steps else title, (), "environment", None)


def is_lock(wanted: Wanted) -> bool:
    """Is the file written by a program, so that it is changed by changing what it is made from?"""
    return wanted.form == "locked"


def relock(wanted: Wanted, requirements: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
    """The command that writes the lock anew for these packages, where one is known."""
    command = RELOCK.get(posixpath.basename(wanted.file))
    names = tuple(name_in(requirement) for requirement in requirements)
    return ((*command, *names),) if command and len(names) == 1 else ()


def line_of(wanted: Wanted, package: str) -> Requirement | None:
    """The line that names a package; one that asks for it before one that only limits it."""
    named = [one for one in wanted.requirements if one.name == package and one.line]
    return min(named, key=lambda one: one.is_constraint) if named else None


def name_in(requirement: str) -> str:
    """The package that a requirement is about."""
    end = next((place for place, letter in enumerate(requirement) if letter in "[<>=!~;@ "), len(requirement))
    return requirement[:end]
