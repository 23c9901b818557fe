"""``lora-doctor fleet``: its sub-commands, of which only the one that is called is imported."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

import typer

from doctor.cli.words import Command, Group

# In the order of the list. Each is a function of its name in a module fleet_NAME of this package.
SUBCOMMANDS: dict[str, dict[str, Any]] = {"run": {}, "compare": {}, "node": {}}

fleet = typer.Typer(
    cls=Group,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Check many machines at once: run it on all of them, see what differs and which one is the odd one.",
)
called = [word for word in sys.argv[2:3] if word in SUBCOMMANDS and sys.argv[1:2] == ["fleet"]]
for name in called or SUBCOMMANDS:
    command = getattr(import_module(f"doctor.cli.fleet_{name}"), name)
    fleet.command(cls=Command, context_settings=SUBCOMMANDS[name] or None)(command)
