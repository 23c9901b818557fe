"""Which reader a file is for: by its name where that is plain, else by what stands in it."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable
from fnmatch import fnmatch
from importlib import import_module

from doctor.readers import Source, Unreadable
from doctor.wanted import Wanted

LIMIT_BYTES = 1 << 20  # of what people write; locks and JSON have limits of their own
LONGEST_LINE = 20_000  # characters
OF_MACHINES = ("locks.read", "listings.read_json", "pipfile.read_lock")
SCRIPTS = ("*.py", "*.ipynb")

# The first pattern that fits the lower-case name decides; readers are imported when they are wanted.
BY_NAME = (
    ("uv.lock", "locks.read"),
    ("poetry.lock", "locks.read"),
    ("pdm.lock", "locks.read"),
    ("pylock*.toml", "locks.read"),
    ("pyproject*.toml", "pyproject.read"),
    ("pipfile.lock", "pipfile.read_lock"),
    ("pipfile", "pipfile.read"),
    ("setup.cfg", "setup_cfg.read"),
    ("*.json", "listings.read_json"),
    ("environment*.y*ml", "conda_environment.read"),
    ("dockerfile*", "commands.read"),
    ("*.dockerfile", "commands.read"),
    ("containerfile*", "commands.read"),
    ("*.sh", "commands.read"),
)
DEPENDENCIES = re.compile(r"(?m)^dependencies:[ \t]*(?:#.*)?$")
# Tried in this order on the text of any other file.
BY_CONTENT = (
    (re.compile(r"\A\s*\{\s*\"_meta\""), "pipfile.read_lock"),
    (re.compile(r"\A\s*(?:\[\s*(?:\{|\])|\{\s*\")"), "listings.read_json"),
    (re.compile(r"(?m)^\[\[packages?\]\]"), "locks.read"),
    (re.compile(r"(?m)^\[(?:project|tool\.poetry|dependency-groups|build-system)\b"), "pyproject.read"),
    (re.compile(r"(?m)^\[(?:dev-)?packages\]"), "pipfile.read"),
    (DEPENDENCIES, "conda_environment.read"),
)
# What is linted where a folder is named.
IN_FOLDERS = (
    *("*requirements*.txt", "constraints*.txt", "requirements/*.txt", "pyproject.toml", "setup.cfg"),
    *("uv.lock", "poetry.lock", "pdm.lock", "pylock*.toml", "pipfile", "pipfile.lock", "environment*.y*ml"),
    *("*.py", "*.ipynb"),
)


def is_script(name: str, text: str = "") -> bool:
    """Is it a training script, a notebook or a recipe: YAML that lists no dependencies?"""
    last = posixpath.basename(name).lower()
    if any(fnmatch(last, pattern) for pattern in SCRIPTS):
        return True
    return is_recipe(last) and bool(text) and not DEPENDENCIES.search(text)


def is_recipe(name: str) -> bool:
    """May it be a recipe of LLaMA-Factory or axolotl, by its name?"""
    return fnmatch(name.lower(), "*.y*ml") and not fnmatch(posixpath.basename(name.lower()), "environment*")


def is_looked_at(name: str) -> bool:
    """Would it be linted if its folder were named?"""
    return any(fnmatch(name.lower(), pattern) for pattern in IN_FOLDERS)


def refuse_excess(source: Source) -> None:
    """Raise :class:`Unreadable` for what no person has written."""
    if len(source.text) > LIMIT_BYTES:
        raise Unreadable(f"it is larger than {LIMIT_BYTES >> 20} MiB, which no list of requirements is")
    for number, line in enumerate(source.lines, 1):
        if len(line) > LONGEST_LINE:
            raise Unreadable(f"line {number} is longer than {LONGEST_LINE} characters")


def reader_of(source: Source) -> str:
    """The reader for a text, as "module.function"."""
    name = posixpath.basename(source.name.replace("\\", "/")).lower()
    by_name = next((reader for pattern, reader in BY_NAME if fnmatch(name, pattern)), None)
    if by_name:
        return by_name
    by_content = next((reader for mark, reader in BY_CONTENT if mark.search(source.text)), None)
    if by_content:
        return by_content
    from doctor.readers import commands, listings

    if listings.is_listing(source.text):
        return "listings.read"
    return "commands.read" if commands.has_commands(source.text) else "requirements_txt.read"


def read(source: Source) -> Wanted:
    """What a file asks for. Raises :class:`~doctor.readers.Unreadable`."""
    chosen = reader_of(source)
    if chosen not in OF_MACHINES:
        refuse_excess(source)
    module, _, function = chosen.partition(".")
    reader: Callable[[Source], Wanted] = getattr(import_module(f"doctor.readers.{module}"), function)
    return reader(source)
