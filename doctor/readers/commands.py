"""``pip install`` commands in a Dockerfile, a shell script, a notebook cell or a README.

``uv pip install``, ``conda install`` and ``%pip`` are read alike; variables and what shells compute are not.
"""

from __future__ import annotations

import re
import shlex

import msgspec

from doctor.readers import Lines, Source
from doctor.readers.conda_names import of_match_spec
from doctor.readers.requirement import NoRequirement, parse
from doctor.readers.requirements_txt import logical_lines
from doctor.wanted import Wanted

# A semicolon inside quotes belongs to a marker, so commands are cut where one stands outside of them.
OUTSIDE_QUOTES = re.compile(r"""((?:[^\s"';&|]|"[^"\n]*"|'[^'\n]*'|\s)*)""")
START = re.compile(r"\b(pip[\d.]*|uv|conda|mamba|micromamba)\s+(?:pip\s+)?(?:install|add)\s+")
WITH_VALUE = {
    *("-r", "--requirement", "-c", "--constraint", "-i", "--index-url", "--extra-index-url", "-f", "-t"),
    *("--find-links", "--target", "--prefix", "--root", "--python", "-p", "-n", "--name", "--channel"),
    *("--platform", "--python-version", "--only-binary", "--no-binary", "--upgrade-strategy", "--timeout"),
    *("--progress-bar", "--cache-dir", "--trusted-host", "--override-channels"),
}
LONGEST = 8000  # characters of one command
INDEXES = ("-i", "--index-url", "--extra-index-url", "-f", "--find-links")


def has_commands(text: str) -> bool:
    """Does any line install something, that is no comment?"""
    return START.search(text) is not None and any(START.search(line) for _, line in logical_lines(text))


def read(source: Source) -> Wanted:
    """Every requirement that the commands of a text name, in their order."""
    found = Lines(source.name)
    for number, line in logical_lines(source.text):
        for command in START.finditer(line):
            rest = OUTSIDE_QUOTES.match(line, command.end(), command.end() + LONGEST)
            words(rest[1] if rest else "", command[1], number, found)
    return Wanted(
        file=source.name,
        form="open",
        requirements=tuple(found.requirements),
        index_urls=tuple(dict.fromkeys(found.index_urls)),
        notes=tuple(found.notes),
    )


def words(rest: str, program: str, number: int, found: Lines) -> None:
    """The arguments of one command: options with their values apart, requirements."""
    try:
        arguments = shlex.split(rest, comments=True)
    except ValueError:  # a quote that is never closed
        arguments = rest.split()
    option = ""
    for argument in arguments:
        if option:
            if option in INDEXES:
                found.index_urls.append(argument)
            elif option in ("-r", "--requirement", "-c", "--constraint"):
                found.note(number, f"{argument} is installed from there: read it too")
            option = ""
        elif argument.startswith("-"):
            name, _, value = argument.partition("=")
            option = name if name in WITH_VALUE and not value else ""
            if name in INDEXES and value:
                found.index_urls.append(value)
        else:
            take(argument, program, number, found)


def take(argument: str, program: str, number: int, found: Lines) -> None:
    """One requirement of a command; the folder of the project, and what a variable stands for, are none."""
    if argument in (".", "..", "\\") or argument.startswith((".[", "$", "{", "/", "./", "../")):
        return
    try:
        requirement = of_match_spec(argument) if "conda" in program or "mamba" in program else parse(argument)
    except NoRequirement as error:
        found.note(number, f"{argument[:120]!r} is no requirement: {error}")
        return
    if requirement:
        place = {"file": found.file, "line": number}
        found.requirements.append(msgspec.structs.replace(requirement, **place))
