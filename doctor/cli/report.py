"""``lora-doctor report``."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from doctor.cli import options
from doctor.cli.early import take_up, this_machine
from doctor.cli.examination import Examination, chosen_target
from doctor.cli.output import FILE_STYLE, deliver, refuse, rendered
from doctor.smoke.trial import STAGE_LIMIT_S

FORM = ".github/ISSUE_TEMPLATE/bug_report.yml"  # where GitHub looks for it


def write_form(output: str | None) -> None:
    """Write the form into the repository, or where ``--output`` says; "-" is standard output."""
    from doctor.issue_form import issue_form

    if output is None and os.path.exists(FORM):
        refuse(f"{FORM} is there already", "compare it with: lora-doctor report --issue-form --output -")
    if output is None:
        os.makedirs(os.path.dirname(FORM), exist_ok=True)
    deliver(issue_form(), output or FORM)
    if output is None:
        typer.echo(f"wrote {FORM}")


def report(
    issue_form: Annotated[
        bool,
        typer.Option("--issue-form", help=f"Write {FORM}, a GitHub issue form that asks for this report."),
    ] = False,
    python: options.Python = None,
    quick: options.Quick = False,
    timeout: options.Timeout = STAGE_LIMIT_S,
    format: options.FormatOption = "markdown",
    output: options.Output = None,
    ignore: options.Ignore = None,
) -> None:
    """The redacted report that goes into an issue; its exit code says only that it was written."""
    if issue_form:
        write_form(output)
        return
    host = this_machine()
    target = chosen_target(host, python)
    examined = Examination(
        take_up(host, target), quick=quick, stage_limit_s=timeout, ignore=ignore or ()
    ).run()
    deliver(rendered(examined, format, FILE_STYLE), output)
