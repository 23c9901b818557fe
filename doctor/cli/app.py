"""The commands by name. Only what is called is imported, and all of them where a list is asked for."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

import typer

from doctor.cli.words import Command, Group

# In the order of the list. Each is a module of this package with a function of its name.
COMMANDS: dict[str, dict[str, Any]] = {
    "check": {},
    "triage": {},
    "explain": {},
    "report": {},
    "lint": {},
    "resolve": {},
    "fix": {},
    "install": {},
    "fit": {},
    # What stands behind the first word that is no option belongs to the watched command.
    "watch": {"allow_interspersed_args": False},
    "fleet": {},
    "completion": {},
}

app = typer.Typer(
    cls=Group,
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Finds the true cause of a broken LoRA or QLoRA environment and gives the command that cures it.",
)
called = [word for word in sys.argv[1:2] if word in COMMANDS]
for name in called or COMMANDS:
    command = getattr(import_module(f"doctor.cli.{name}"), name)
    if isinstance(command, typer.Typer):
        app.add_typer(command, name=name)
        continue
    app.command(cls=Command, context_settings=COMMANDS[name] or None)(command)


@app.callback(invoke_without_command=True)
def version(show: bool = typer.Option(False, "--version", help="Print the doctor's version.")) -> None:
    """Print the version where it is asked for."""
    if show:
        from doctor import __version__

        typer.echo(f"lora-doctor {__version__}")
        raise typer.Exit
