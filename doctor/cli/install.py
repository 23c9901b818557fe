"""``lora-doctor install``."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

import typer

from doctor.cli import machine, options
from doctor.cli.early import this_machine
from doctor.cli.output import (
    EXIT_ERROR,
    EXIT_NOT_EXAMINED,
    EXIT_USAGE,
    FILE_STYLE,
    deliver,
    exit_code,
    is_animated,
    refuse,
    style_of,
)
from doctor.stack import STACK

if TYPE_CHECKING:
    from packaging.requirements import Requirement

    from doctor.host import LocalHost
    from doctor.installing.outcome import Made, NotMade
    from doctor.render.installing import Installation
    from doctor.render.terminal import LiveTerminal
    from doctor.resolution import Resolution
    from doctor.stated import Stated

FOLDER = ".venv"
OPERATORS = ("=", "<", ">", "!", "[")  # a word with one of these is a pin and no folder
OF_THIS_MACHINE = ("driver/", "gpu/")  # faults of a machine that will not train
EXITS = {"no-set": EXIT_ERROR, "refused": EXIT_USAGE, "failed": EXIT_NOT_EXAMINED}
EXIT_BROKEN_OFF = 130


class Asked(NamedTuple):
    """What the call says."""

    folder: str  # a full path
    pins: tuple[str, ...]
    python: str | None
    stated: Stated  # the machine that will train, where it is not this one
    torch_index: str  # what stands in for torch's own index, "" for nothing
    dry_run: bool

    @property
    def is_elsewhere(self) -> bool:
        """Is the environment for another machine's driver and GPU, as in the building of an image?"""
        return any((self.stated.driver, self.stated.gpu, self.stated.compute_capability))


class Telling(NamedTuple):
    """How it is told."""

    format: str
    output: str | None
    strict: bool
    no_color: bool


def install(
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[FOLDER] [PIN]...", help=f'{FOLDER}, then what it must hold: "peft==0.17.1".'
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the commands and change nothing.")
    ] = False,
    python: Annotated[
        str | None,
        typer.Option("--python", metavar="PATH", help="The Python to build on; else the doctor's own."),
    ] = None,
    python_version: machine.PythonVersion = None,
    driver: machine.DriverVersion = None,
    gpu: machine.GpuName = None,
    compute_capability: machine.ComputeCapability = None,
    torch_cuda: machine.TorchCuda = None,
    torch_index: options.TorchIndex = "",
    format: Annotated[
        Literal["terminal", "json"], typer.Option("--format", help="How to tell it.")
    ] = "terminal",
    output: options.Output = None,
    strict: options.Strict = False,
    no_color: options.NoColor = False,
) -> None:
    """Set up the whole stack in a new environment, for this machine's driver and GPU, and prove it."""
    folder, pins = folder_and_pins(words or [])
    stated = machine.stated_by(
        (python_version, None, None, driver, gpu, compute_capability, None, torch_cuda)
    )
    asked = Asked(folder, pins, python, stated, torch_index, dry_run)
    run = Installing(this_machine(), asked, Telling(format, output, strict, no_color))
    raise typer.Exit(run.tell(run.outcome()))


def folder_and_pins(words: Sequence[str]) -> tuple[str, tuple[str, ...]]:
    """The first word is the folder, unless it is a pin."""
    if words and words[0] not in STACK and not any(mark in words[0] for mark in OPERATORS):
        return os.path.abspath(os.path.expanduser(words[0])), tuple(words[1:])
    return os.path.abspath(FOLDER), tuple(words)


class Installing:
    """One call of the command."""

    def __init__(self, host: LocalHost, asked: Asked, telling: Telling) -> None:
        self.host, self.asked, self.telling = host, asked, telling

    def outcome(self) -> Installation:
        """Take up what stands there, else plan or make it; then prove it."""
        from doctor.installing.making import standing_as
        from doctor.installing.outcome import NotMade

        pins = self.pins()
        standing = standing_as(self.host, self.asked.folder, pins)
        if isinstance(standing, NotMade):
            return self.not_made(standing)
        if standing:
            self.say(f"{self.asked.folder} is complete: nothing to install")
            return self.told("unchanged") if self.asked.dry_run else self.proven(standing)
        found = self.resolved(pins)
        if not found.pins:
            return self.told("no-set", set=found)
        return self.planned(found) if self.asked.dry_run else self.made(found, pins)

    def pins(self) -> list[Requirement]:
        """What is asked for; without a word, what an unfinished making was asked for."""
        from doctor.cli.resolve import parsed
        from doctor.installing import marker

        begun = marker.read(self.host, self.asked.folder)
        earlier = begun.pins if begun and begun.state == "unfinished" else ()
        return parsed(self.host, list(self.asked.pins or earlier))

    @cached_property
    def base(self) -> str:
        """The interpreter to build on, or for uv a version that it fetches. Leaves with 2 without one."""
        from doctor.installing.tools import GET_UV, python_on_path
        from doctor.target import TargetNotFound, named_target

        version = self.asked.stated.python
        if self.asked.python:
            try:
                return named_target(self.host, self.asked.python).executable
            except TargetNotFound as error:
                refuse(str(error), error.hint)
        if version in ("", "{}.{}".format(*sys.version_info)):
            return sys.executable
        if self.host.find_program("uv"):  # it tries each that it finds
            return version
        found = python_on_path(self.host, version)
        if not found:
            where = f"neither a python{version} that starts is on PATH nor uv, which fetches it"
            refuse(where, f"name one with --python PATH, or install uv: {GET_UV}")
        return found

    def resolved(self, pins: list[Requirement]) -> Resolution:
        """The set for this machine and the base interpreter."""
        from doctor.cli.resolve import facts_of
        from doctor.proposal import propose

        # Of an interpreter that is not fetched yet its version alone is known.
        looked_at = self.base if os.path.isabs(self.base) else sys.executable
        stated = self.asked.stated
        facts = facts_of(self.host, stated, looked_at, needs_target=True)
        return propose(facts, pins, torch_cuda=stated.torch_cuda)

    def planned(self, found: Resolution) -> Installation:
        """The commands alone."""
        from doctor.installing.making import commands_for, options_for
        from doctor.installing.outcome import Stopped

        folder, base, index_url = self.asked.folder, self.base, self.asked.torch_index
        try:
            commands = commands_for(self.host, folder, found, python=base, index_url=index_url)
        except Stopped as stopped:
            return self.not_made(stopped.outcome, found)
        try:
            options_for(self.host, folder, found)
        except Stopped as stopped:
            self.say(f"this would be refused: {stopped.outcome.why} {stopped.outcome.seen}".rstrip())
        return self.told("planned", set=found, commands=commands)

    def made(self, found: Resolution, pins: list[Requirement]) -> Installation:
        """Carry it out. Leaves with 130 where it is broken off."""
        from doctor.installing.making import made
        from doctor.installing.outcome import NotMade

        self.say(f"setting up {self.asked.folder} for {found.machine} (minutes the first time)")
        for warning in found.warnings:
            self.say(f"note: {warning}")
        try:
            outcome = made(
                self.host,
                self.asked.folder,
                found,
                python=self.base,
                pins=[str(one) for one in pins],
                index_url=self.asked.torch_index,
                on_progress=self.say,
                on_line=self.live.working,
            )
        except KeyboardInterrupt:
            self.say("broken off; the same command goes on from here")
            raise typer.Exit(EXIT_BROKEN_OFF) from None
        finally:
            self.live.stop()
        if isinstance(outcome, NotMade):
            return self.not_made(outcome, found)
        return self.proven(outcome, found)

    def proven(self, outcome: Made, found: Resolution | None = None) -> Installation:
        """The full check, in the environment's own interpreter.

        An environment for another machine is read instead, with a view to all that is not of this one.
        """
        from doctor.cli.early import take_up
        from doctor.cli.examination import Examination
        from doctor.render.terminal import LiveTerminal
        from doctor.smoke.trial import STAGE_LIMIT_S
        from doctor.target import Target

        looks = take_up(self.host, Target(outcome.python, "install"))
        elsewhere = self.asked.is_elsewhere
        examination = Examination(
            looks,
            quick=False,
            static=elsewhere,
            stage_limit_s=STAGE_LIMIT_S,
            ignore=OF_THIS_MACHINE if elsewhere else (),
        )
        tells = self.telling.format == "terminal" and self.telling.output is None
        if tells:
            style = style_of(self.host, sys.stdout, self.telling.no_color)
            animated = is_animated(self.host, sys.stdout)
            examination.live = LiveTerminal(sys.stdout, animated=animated, **style)
        report = examination.run()
        if examination.live:
            examination.live.finish(report)
        state = "made" if outcome.changed else "unchanged"
        return self.told(state, python=outcome.python, set=found, proof=report)

    def not_made(self, outcome: NotMade, found: Resolution | None = None) -> Installation:
        """The end before the end."""
        from doctor.render.installing import Problem

        words = {name: getattr(outcome, name) for name in Problem.__struct_fields__}
        state = "refused" if outcome.is_refusal else "failed"
        return self.told(state, set=found, problem=Problem(**words))

    def told(self, state: str, **fields: Any) -> Installation:
        """What programs read, without names and secrets."""
        from doctor import __version__
        from doctor.cli.examination import identity_of
        from doctor.redact import redact_fact
        from doctor.render.installing import Installation

        found = Installation(tool_version=__version__, folder=self.asked.folder, state=state, **fields)
        return redact_fact(found, identity_of(self.host))

    def tell(self, found: Installation) -> int:
        """Write it; its exit code."""
        from doctor.render import installing

        if self.telling.format == "json":
            deliver(installing.json(found), self.telling.output)
            return self.code_of(found)
        is_file, windows = self.telling.output is not None, sys.platform == "win32"
        style: dict[str, Any] = (
            FILE_STYLE if is_file else style_of(self.host, sys.stdout, self.telling.no_color)
        )
        text = installing.render(found, windows=windows, proof_is_told=not is_file, **style)
        if found.problem and not is_file:
            typer.echo(text, err=True, nl=False)
        else:
            deliver(text, self.telling.output)
        return self.code_of(found)

    def code_of(self, found: Installation) -> int:
        """The exit code."""
        return exit_code(found.proof, self.telling.strict) if found.proof else EXITS.get(found.state, 0)

    @cached_property
    def live(self) -> LiveTerminal:
        """Where progress is told: beside what the command prints, so that programs can read that."""
        from doctor.render.terminal import LiveTerminal

        style = style_of(self.host, sys.stderr, self.telling.no_color)
        return LiveTerminal(sys.stderr, animated=is_animated(self.host, sys.stderr), **style)

    def say(self, what: str) -> None:
        """One step, on a line of its own."""
        from doctor.cli.examination import identity_of
        from doctor.redact import redact_text

        self.live.stop()
        typer.echo(redact_text(what, identity_of(self.host)), err=True)
