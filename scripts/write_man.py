#!/usr/bin/env python3
"""Writes docs/man/lora-doctor.1, the manual page, from what the command line says of itself.

    scripts/write_man.py [--check]

The wheel installs it under share/man. ``--check`` writes nothing and ends with 1 where the page is not what
would be written.
"""

from __future__ import annotations

import re
import sys
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path

from command_line import PROGRAM, Command, Option, commands

from doctor import __version__
from doctor.matrix.rows import reviewed

PAGE = Path(__file__).resolve().parents[1] / "docs" / "man" / "lora-doctor.1"
AIM = "find and cure what stops a LoRA or QLoRA fine-tune"
EXIT_CODES = (
    ("0", "No error was found."),
    ("1", "At least one error was found; with --strict also a warning or a gap."),
    ("2", "Wrong usage, or an input that cannot be read."),
    ("3", "The target could not be examined at all, or the doctor itself failed."),
)
WATCH_ENDS = "watch -- COMMAND ends with the exit code of the command."
VARIABLES = (
    ("VIRTUAL_ENV, CONDA_PREFIX", "The active environment, whose interpreter is examined without --python."),
    ("NO_COLOR", "Plain text, whatever its value."),
    ("CI, TERM", "Nothing moves in CI or on a dumb terminal."),
    ("COLUMNS", "The width of the text."),
)
CAUTION = "A check looks from outside of the interpreter that trains; it installs nothing and sends nothing."
EXAMPLES = (
    ("Everything about one environment:", "lora-doctor check --python ~/train/.venv"),
    ("The cause of a pasted error:", "lora-doctor triage error.txt"),
    ("What these versions would break:", "lora-doctor lint requirements.txt"),
    ("A set of releases for a machine:", "lora-doctor resolve --gpu T4 --driver 535.104.05"),
    ("Whether a fine-tune fits:", 'lora-doctor fit llama-3.1-8b --gpu "RTX 3060"'),
    ("The memory of a run:", "lora-doctor watch -- python train.py"),
)


def escaped(text: str) -> str:
    """A text as roff reads it: backslashes, hyphens and what would be a request at the start of a line."""
    wrapped = "\n".join(textwrap.wrap(text, 72, break_long_words=False, break_on_hyphens=False))
    plain = wrapped.replace("\\", "\\e").replace("-", "\\-")
    return re.sub(r"^(?=[.'])", r"\\&", plain, flags=re.M)


def page() -> str:
    """The whole page."""
    return "\n".join(lines()) + "\n"


def lines() -> Iterator[str]:
    """The page, line by line."""
    root, *others = commands()
    yield '.\\" Written by scripts/write_man.py.'
    yield f'.TH {PROGRAM.upper()} 1 "{reviewed()["date"]}" "{PROGRAM} {__version__}" "User Commands"'
    yield from (".SH NAME", f"{escaped(PROGRAM)} \\- {escaped(AIM)}")
    yield from (".SH SYNOPSIS", f".B {escaped(PROGRAM)}", ".I command", "[options]")
    yield ".SH DESCRIPTION"
    yield escaped(f"{root.summary} {CAUTION}")
    yield ".SH OPTIONS"
    yield from options(root)
    yield ".SH COMMANDS"
    for command in others:
        yield from section(command)
    yield ".SH EXIT STATUS"
    yield from listed(EXIT_CODES)
    yield from (".PP", escaped(WATCH_ENDS), ".SH ENVIRONMENT")
    yield from listed(VARIABLES)
    yield ".SH EXAMPLES"
    for what, how in EXAMPLES:
        yield from (".TP", escaped(what), f".B {escaped(how)}")


def section(command: Command) -> Iterator[str]:
    """One command."""
    written = " ".join(name for name, _ in command.arguments) or ("command" if command.children else "")
    yield f".SS {escaped(f'{PROGRAM} {command.path} {written}'.strip())}"
    yield from ("\n.PP\n".join(escaped(" ".join(part.split())) for part in command.help.split("\n\n")),)
    yield from listed((name, help) for name, help in command.arguments if help)
    yield from options(command)


def options(command: Command) -> Iterator[str]:
    """The options of one command, without what all have."""
    yield from listed(
        (names(option), told(option)) for option in command.options if "--help" not in option.names
    )


def names(option: Option) -> str:
    """The names of an option, with what it takes."""
    return ", ".join(option.names) + f" {option.metavar}" * bool(option.metavar)


def told(option: Option) -> str:
    """What an option does, and what holds without it."""
    return option.help + (f" Default: {option.default}." if option.default else "")


def listed(pairs: Iterator[tuple[str, str]] | Sequence[tuple[str, str]]) -> Iterator[str]:
    """Words, each with what it means."""
    for word, meaning in pairs:
        yield from (".TP", f".B {escaped(word)}", escaped(meaning))


def main(arguments: Sequence[str]) -> int:
    """Write, or with ``--check`` look; the exit code."""
    if arguments not in ([], ["--check"]):
        print(__doc__, file=sys.stderr)
        return 2
    if arguments:
        same = PAGE.is_file() and PAGE.read_text(encoding="utf-8") == page()
        print("" if same else "not as written: docs/man/lora-doctor.1\n", file=sys.stderr, end="")
        return 0 if same else 1
    PAGE.parent.mkdir(parents=True, exist_ok=True)
    PAGE.write_text(page(), encoding="utf-8", newline="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
