"""``lora-doctor triage``."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated

import typer

from doctor.cli import machine, options
from doctor.cli.early import this_machine
from doctor.cli.output import EXIT_USAGE, FILE_STYLE, deliver, exit_code, refuse, rendered_pastes, style_of

if TYPE_CHECKING:
    from doctor.facts import Facts
    from doctor.findings import Report
    from doctor.host import LocalHost
    from doctor.stated import Stated

Files = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[FILE]...", help="Issue bodies, logs, reports or JSON dumps of issues; - is standard input."
    ),
]


def triage(
    files: Files = None,
    reply: Annotated[
        bool, typer.Option("--reply", help="Write the answer as a comment for the issue.")
    ] = False,
    labels: Annotated[
        bool, typer.Option("--labels", help="Print the labels for the issue, one a line.")
    ] = False,
    python_version: machine.PythonVersion = None,
    os: machine.Os = None,
    arch: machine.Arch = None,
    driver: machine.DriverVersion = None,
    gpu: machine.GpuName = None,
    compute_capability: machine.ComputeCapability = None,
    gpu_memory: machine.GpuMemory = None,
    torch_cuda: machine.TorchCuda = None,
    format: options.FormatOption = "terminal",
    output: options.Output = None,
    ignore: options.Ignore = None,
    strict: options.Strict = False,
    no_color: options.NoColor = False,
) -> None:
    """Name the root cause of a pasted error, log or report, offline and with nothing but the text."""
    from doctor.stated import Stated
    from doctor.triage.run import Triage

    host = this_machine()
    if reply and labels:
        refuse("--reply and --labels exclude one another", "ask for one, then for the other")
    if not files and sys.stdin is not None and sys.stdin.isatty():
        typer.echo("Paste the text, then press Ctrl-D (on Windows Ctrl-Z, then Enter).", err=True)
    stated = Stated.of(python_version, os, arch, driver, gpu, compute_capability, gpu_memory, torch_cuda)
    run = Triage(host, said_of(stated), tuple(ignore or ()))
    reports = redacted(host, run.reports(files or ["-"]))
    form = "reply" if reply else "labels" if labels else format
    style = style_of(host, sys.stdout, no_color) if output is None else FILE_STYLE
    deliver(rendered_pastes(reports, form, style), output)
    for name, reason in run.unreadable:
        from doctor.cli.lint import plainly

        typer.echo(f"lora-doctor: {plainly(host, f'{name}: {reason}')}", err=True)
    worst = max((exit_code(report, strict) for report in reports), default=0)
    raise typer.Exit(EXIT_USAGE if run.unreadable else worst)


def said_of(stated: Stated) -> Facts:
    """What options say of the machine of the paste, which need not be like this one."""
    import msgspec

    from doctor.facts import Facts

    if stated == type(stated)():
        return Facts()
    facts = machine.stated_or_leave(stated)
    return facts if stated.os or stated.arch else msgspec.structs.replace(facts, system=None)


def redacted(host: LocalHost, reports: Iterable[Report]) -> list[Report]:
    """Every report without names and secrets."""
    from doctor.cli.examination import identity_of
    from doctor.redact import redact

    identity = identity_of(host)
    return [redact(report, identity) for report in reports]
