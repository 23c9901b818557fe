"""``lora-doctor report``."""

from __future__ import annotations

from typing import Annotated

import typer

from doctor.cli import options
from doctor.cli.early import take_up
from doctor.cli.examination import Examination, chosen_target
from doctor.cli.output import deliver, rendered, style_of
from doctor.host import LocalHost


def report(
    issue_form: Annotated[
        bool, typer.Option("--issue-form", help="Print a GitHub issue form that asks for this report.")
    ] = False,
    python: options.Python = None,
    quick: options.Quick = False,
    timeout: options.Timeout = 180.0,
    format: options.FormatOption = "markdown",
    output: options.Output = None,
    ignore: options.Ignore = None,
) -> None:
    """The redacted report that goes into an issue; its exit code says only that it was written."""
    if issue_form:
        from doctor.issue_form import issue_form as form

        deliver(form(), output)
        return
    host = LocalHost()
    target = chosen_target(host, python)
    examined = Examination(
        take_up(host, target), quick=quick, stage_limit_s=timeout, ignore=ignore or ()
    ).run()
    deliver(rendered(examined, format, style_of(host, None, no_color=True)), output)
