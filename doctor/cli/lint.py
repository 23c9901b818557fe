"""``lora-doctor lint``."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from doctor.cli import machine, options
from doctor.cli.early import this_machine
from doctor.cli.output import (
    EXIT_NOT_EXAMINED,
    EXIT_USAGE,
    FILE_STYLE,
    deliver,
    exit_code,
    refuse,
    rendered_all,
    style_of,
)

if TYPE_CHECKING:
    from doctor.findings import Report
    from doctor.host import Host
    from doctor.lint.run import Lint

Against = Annotated[
    str | None,
    typer.Option("--against", metavar="FILE", help="A lock or requirements file: the versions for scripts."),
]
Python = Annotated[
    str | None, typer.Option("--python", metavar="PATH", help="An interpreter: the versions for scripts.")
]


def lint(
    files: Annotated[
        list[str], typer.Argument(metavar="FILE...", help="Files or folders; - is standard input.")
    ],
    against: Against = None,
    python: Python = None,
    diff: Annotated[
        bool, typer.Option("--diff", help="Print what to change in scripts, as a patch.")
    ] = False,
    python_version: machine.PythonVersion = None,
    os: machine.Os = None,
    arch: machine.Arch = None,
    driver: machine.DriverVersion = None,
    gpu: machine.GpuName = None,
    compute_capability: machine.ComputeCapability = None,
    gpu_memory: machine.GpuMemory = None,
    torch_cuda: machine.TorchCuda = None,
    format: options.FileFormatOption = "terminal",
    output: options.Output = None,
    ignore: options.Ignore = None,
    strict: options.Strict = False,
    no_color: options.NoColor = False,
) -> None:
    """Say what will break with the versions that files ask for; nothing is installed or run."""
    from doctor.lint.run import Lint
    from doctor.stated import Stated

    host = this_machine()
    stated = Stated.of(python_version, os, arch, driver, gpu, compute_capability, gpu_memory, torch_cuda)
    facts = machine.stated_or_leave(stated)
    run = Lint(host, facts, stated.torch_cuda, tuple(ignore or ()), against, python, diff)
    reports = reports_or_leave(run, files)
    style = style_of(host, sys.stdout, no_color) if output is None else FILE_STYLE
    deliver("".join(run.patches) if diff else rendered_all(reports, format, style), output)
    # On a terminal the report has said it.
    for name, reason in run.unreadable if format != "terminal" or output or diff else ():
        typer.echo(f"lora-doctor: {plainly(host, f'{name}: {reason}')}", err=True)
    worst = max(exit_code(report, strict) for report in reports)
    raise typer.Exit(EXIT_USAGE if run.unreadable else worst)


def reports_or_leave(run: Lint, files: list[str]) -> list[Report]:
    """The redacted reports of all files. Leaves where there is nothing to judge, or to judge by."""
    from doctor.cli.examination import identity_of
    from doctor.lint.scripts import Unexamined, Unjudged
    from doctor.redact import redact

    try:
        reports = list(run.reports(files))
    except Unjudged as error:
        code = EXIT_NOT_EXAMINED if isinstance(error, Unexamined) else EXIT_USAGE
        refuse(plainly(run.host, str(error)), "see: lora-doctor lint --help", code)
    if not reports:
        said = plainly(run.host, f"nothing to read in {', '.join(files)}")
        refuse(said, "name a requirements file, a lock or a script")
    identity = identity_of(run.host)
    return [redact(report, identity) for report in reports]


def plainly(host: Host, text: str) -> str:
    """A text for standard error in one line, without names and secrets."""
    from doctor.cli.examination import identity_of
    from doctor.plain import one_line
    from doctor.redact import redact_text

    return one_line(redact_text(text, identity_of(host)))
