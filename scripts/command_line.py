"""The command line as it describes itself: what the man page and the completions are written from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import typer

from doctor.cli.app import app

PROGRAM = "lora-doctor"
OF_FILES = ("FILE", "PATH", "FOLDER", "DIR")  # metavars of what is completed by file names


@dataclass(frozen=True)
class Option:
    """One option of a command."""

    names: tuple[str, ...]  # ("-o", "--output"), those that switch off behind those that switch on
    metavar: str  # "" of a switch
    choices: tuple[str, ...]
    help: str
    default: str  # "" where there is none, or none to tell of

    @property
    def takes_file(self) -> bool:
        """Is its value the name of a file or folder?"""
        return any(word in self.metavar for word in OF_FILES)


@dataclass(frozen=True)
class Command:
    """One command, or a group of them."""

    path: str  # "check", "fleet compare"; "" for the program itself
    help: str  # its first paragraph is one sentence
    arguments: tuple[tuple[str, str], ...]  # as they are written, and what they are
    options: tuple[Option, ...]
    children: tuple[str, ...]  # names of the commands of a group

    @property
    def summary(self) -> str:
        """The first sentence, on one line."""
        return " ".join(self.help.split("\n\n")[0].split())


def commands() -> tuple[Command, ...]:
    """The program, then every command in the order of the list."""
    root = typer.main.get_command(app)
    return tuple(_told(root, root.make_context(PROGRAM, [], resilient_parsing=True), ""))


def _told(command: Any, context: Any, path: str) -> Iterator[Command]:
    parts = [part for part in command.get_params(context) if not getattr(part, "hidden", False)]
    inner = {name: one for name, one in getattr(command, "commands", {}).items() if not one.hidden}
    yield Command(
        path,
        (command.help or "").replace("\f", ""),
        tuple((_argument(part), part.help or "") for part in parts if part.param_type_name == "argument"),
        tuple(_option(part) for part in parts if part.param_type_name == "option"),
        tuple(inner),
    )
    for name, one in inner.items():
        yield from _told(one, type(context)(one, parent=context, info_name=name), f"{path} {name}".strip())


def _argument(part: Any) -> str:
    return part.metavar or f"{part.name.upper()}{'...' if part.nargs == -1 else ''}"


def _option(part: Any) -> Option:
    described = getattr(part, "type_descriptor", None) or part.type
    choices = tuple(map(str, getattr(described, "choices", None) or ())) or _alternatives(part.metavar or "")
    named = part.metavar or "|".join(choices) or _kind(part)
    default = (
        "" if part.default in (None, False, True, "", ()) or callable(part.default) else str(part.default)
    )
    names = (*sorted(part.opts, key=len), *part.secondary_opts)
    return Option(names, "" if part.is_flag else named, choices, part.help or "", default)


def _alternatives(metavar: str) -> tuple[str, ...]:
    """Words that a metavar lists: "linux|darwin|win32"."""
    return tuple(metavar.split("|")) if "|" in metavar and metavar == metavar.lower() else ()


def _kind(part: Any) -> str:
    described = getattr(part, "type_descriptor", None)
    kind = getattr(described, "annotation", None) or getattr(part.type, "name", str)
    return {"int": "N", "integer": "N", "float": "NUMBER"}.get(getattr(kind, "__name__", str(kind)), "TEXT")
