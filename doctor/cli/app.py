"""The commands by name."""

from __future__ import annotations

import typer

from doctor.cli.check import check
from doctor.cli.explain import explain
from doctor.cli.fit import fit
from doctor.cli.lint import lint
from doctor.cli.report import report
from doctor.cli.resolve import resolve
from doctor.cli.triage import triage
from doctor.cli.watch import watch
from doctor.cli.words import Command, Group

app = typer.Typer(
    cls=Group,
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Finds the true cause of a broken LoRA or QLoRA environment and gives the command that cures it.",
)
for command in (check, triage, explain, report, lint, resolve, fit):
    app.command(cls=Command)(command)
# What stands behind the first word that is no option belongs to the watched command.
app.command(cls=Command, context_settings={"allow_interspersed_args": False})(watch)


@app.callback(invoke_without_command=True)
def version(show: bool = typer.Option(False, "--version", help="Print the doctor's version.")) -> None:
    """Print the version where it is asked for."""
    if show:
        from doctor import __version__

        typer.echo(f"lora-doctor {__version__}")
        raise typer.Exit
