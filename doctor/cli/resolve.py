"""``lora-doctor resolve``."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from doctor.cli import machine, options
from doctor.cli.early import this_machine
from doctor.cli.output import EXIT_ERROR, EXIT_NOT_EXAMINED, FILE_STYLE, deliver, refuse, style_of

if TYPE_CHECKING:
    from packaging.requirements import Requirement

    from doctor.facts import Facts
    from doctor.host import LocalHost
    from doctor.resolution import Resolution
    from doctor.stated import Stated

Output = Annotated[
    str | None,
    typer.Option(
        "--output", "-o", metavar="FILE", help="The set, for pip install -c; or what --format names."
    ),
]
Strict = Annotated[bool, typer.Option("--strict", help="Exit with 1 for a set with warnings as well.")]
FIELDS = ("system", "driver", "gpus", "interpreter", "packages")  # of Facts: what a set depends on


def resolve(
    pins: Annotated[
        list[str] | None,
        typer.Argument(metavar="[PIN]...", help='What it must hold: "peft==0.17.1" "transformers>=5".'),
    ] = None,
    closest: Annotated[
        bool, typer.Option("--closest", help="The fewest changes to what the target has, not the newest set.")
    ] = False,
    verify: Annotated[
        bool,
        typer.Option("--verify", help="Ask the target's own installer for a dry run; needs the network."),
    ] = False,
    python: options.Python = None,
    python_version: machine.PythonVersion = None,
    os: machine.Os = None,
    arch: machine.Arch = None,
    driver: machine.DriverVersion = None,
    gpu: machine.GpuName = None,
    compute_capability: machine.ComputeCapability = None,
    gpu_memory: machine.GpuMemory = None,
    torch_cuda: machine.TorchCuda = None,
    format: options.FormatOption = "terminal",
    output: Output = None,
    strict: Strict = False,
    no_color: options.NoColor = False,
) -> None:
    """Find versions that work together, newest first, for this machine or a described one; says why."""
    host = this_machine()
    asked = parsed(host, pins or [])
    words = (python_version, os, arch, driver, gpu, compute_capability, gpu_memory, torch_cuda)
    found = resolution(host, asked, machine.stated_by(words), python, closest, verify)
    tell(host, found, format, output, no_color)
    is_good = found.pins and found.verified is not False and not (strict and found.warnings)
    raise typer.Exit(0 if is_good else EXIT_ERROR)


def resolution(
    host: LocalHost, asked: list[Requirement], stated: Stated, python: str | None, closest: bool, verify: bool
) -> Resolution:
    """The set, verified where that is asked for, without names and secrets."""
    from doctor.proposal import propose

    facts = facts_of(host, stated, python, needs_target=closest or verify)
    found = propose(facts, asked, stay_close=closest, torch_cuda=stated.torch_cuda)
    return redacted(host, verified(host, found) if verify and found.pins else found)


def tell(host: LocalHost, found: Resolution, form: str, output: str | None, no_color: bool) -> None:
    """Write the set: without a format a file gets the constraints, and the screen the reasons."""
    style = style_of(host, sys.stdout, no_color)
    if output and form == "terminal" and found.pins:
        from doctor.render.resolution import constraints

        deliver(constraints(found), output)
        output = None
    deliver(rendered(found, form, style if output is None else FILE_STYLE), output)


def parsed(host: LocalHost, pins: list[str]) -> list[Requirement]:
    """Pins as requirements. Leaves with 2 where one is none, or no table of releases can speak of it."""
    from doctor.cli.examination import identity_of
    from doctor.proposal import PinInvalid, pin
    from doctor.redact import redact_text

    try:
        return [pin(text) for text in pins]
    except PinInvalid as error:
        refuse(redact_text(str(error), identity_of(host)), error.hint)


def facts_of(host: LocalHost, stated: Stated, python: str | None, *, needs_target: bool) -> Facts:
    """The machine that is described, or this one; of the target only where the set depends on it."""
    import msgspec

    described = machine.stated_or_leave(stated)
    is_elsewhere = any((stated.os, stated.arch, stated.driver, stated.gpu, stated.compute_capability))
    if is_elsewhere and not (python or needs_target):
        return described
    facts = seen(host, python)
    if is_elsewhere:
        system, driver, gpus, gaps = described.system, described.driver, described.gpus, described.gaps
        facts = msgspec.structs.replace(facts, system=system, driver=driver, gpus=gpus, gaps=gaps)
    if stated.python and facts.interpreter:
        interpreter = msgspec.structs.replace(facts.interpreter, version=stated.python)
        facts = msgspec.structs.replace(facts, interpreter=interpreter)
    return facts


def seen(host: LocalHost, python: str | None) -> Facts:
    """What is seen of this machine and the target. Leaves with 3 where the target does not answer."""
    from doctor.checkup import gather
    from doctor.cli.early import take_up
    from doctor.cli.examination import chosen_target

    looks = take_up(host, chosen_target(host, python))
    looks.quick = True
    facts = gather(looks, fields=FIELDS)
    if facts.interpreter is None:
        reason = next((gap.reason for gap in facts.gaps if gap.about == "interpreter"), "it does not answer")
        refuse(f"{looks.target.executable}: {reason}", "name another one with --python", EXIT_NOT_EXAMINED)
    return facts


def verified(host: LocalHost, found: Resolution) -> Resolution:
    """The set with the word of the target's own installer."""
    import msgspec

    from doctor.dry_run import dry_run

    agrees, said = dry_run(host, found.commands)
    warnings = (*found.warnings, f"the installer says: {said}") if said else found.warnings
    return msgspec.structs.replace(found, verified=agrees, warnings=warnings)


def redacted(host: LocalHost, found: Resolution) -> Resolution:
    """The same without names and secrets."""
    from doctor.cli.examination import identity_of
    from doctor.redact import redact_resolution

    return redact_resolution(found, identity_of(host))


def rendered(found: Resolution, form: str, style: dict[str, Any]) -> str:
    """The set in one of the formats."""
    from doctor.render import resolution

    if form == "json":
        return resolution.json(found)
    if form == "jsonl":
        return resolution.json_line(found)
    if form in ("markdown", "html"):
        from doctor.render import html

        text = resolution.markdown(found)
        return text if form == "markdown" else html.render(text)
    return resolution.render(found, windows=sys.platform == "win32", **style)
