"""``lora-doctor fix``."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

import typer

from doctor.cli import fix_options as asked
from doctor.cli import options
from doctor.cli.checking import Checking
from doctor.cli.early import this_machine
from doctor.cli.examination import chosen_target
from doctor.cli.output import FILE_STYLE, deliver, exit_code, is_animated, refuse_unwritable, style_of
from doctor.render.terminal import LiveTerminal
from doctor.smoke.trial import STAGE_LIMIT_S

if TYPE_CHECKING:
    from doctor.findings import Report
    from doctor.host import LocalHost
    from doctor.treatment.plan import Plan

PROGRAMS = ("conda", "mamba", "micromamba", "uv", "pixi", "poetry", "pdm")


class Telling(NamedTuple):
    """How and where the plan and its outcome are told."""

    form: str
    output: str | None
    style: dict[str, Any]

    @property
    def is_for_programs(self) -> bool:
        """Is one document wanted, and nothing beside it?"""
        return self.form in ("json", "jsonl")


def fix(
    python: options.Python = None,
    apply: asked.Apply = False,
    yes: asked.Yes = False,
    dry_run: asked.DryRun = False,
    undo: asked.Undo = False,
    new_venv: asked.NewVenv = None,
    words: asked.As = "own",
    saved: asked.From = None,
    torch_index: options.TorchIndex = "",
    quick: options.Quick = False,
    timeout: options.Timeout = STAGE_LIMIT_S,
    format: options.FormatOption = "terminal",
    output: options.Output = None,
    ignore: options.Ignore = None,
    strict: options.Strict = False,
    no_color: options.NoColor = False,
) -> None:
    """Turn the findings into one plan for the whole environment; carry it out, and take it back."""
    asked.refuse_contradictions(
        apply=apply, dry_run=dry_run, undo=undo, new_venv=new_venv, saved=saved, python=python
    )
    refuse_unwritable(output)
    host = this_machine()
    style = style_of(host, sys.stdout, no_color) if output is None else FILE_STYLE
    telling = Telling(format, output, style)
    if undo:
        raise typer.Exit(taken_back(host, python, dry_run, yes, telling))
    checking = Checking(quick, timeout, tuple(ignore or ()), strict)
    report = read_report(saved) if saved else examined(host, python, checking, telling)
    plan = worded_plan(host, report, words, torch_index)
    if dry_run:
        plan = asked_about(host, plan)
    carries_out = apply and (plan.refusal is not None or any(step.is_applied for step in plan.steps))
    from doctor.cli import treating

    if not (carries_out and telling.is_for_programs):
        told = treating.in_public(host, plan)
        deliver(rendered(told, format, style, following=not (apply or new_venv or saved)), output)
    if new_venv:
        raise typer.Exit(treating.make_beside(host, report, new_venv, checking, torch_index, no_color))
    if carries_out:
        asked.refuse_foreign_words(words, own_language(host, report))
        raise typer.Exit(treating.carry_out(host, report, plan, checking, yes, telling))
    raise typer.Exit(exit_code(report, strict))


def taken_back(host: LocalHost, python: str | None, dry_run: bool, yes: bool, telling: Telling) -> int:
    """Take back what the last ``--apply`` changed, or only say it. Returns the exit code."""
    from doctor.cli.treating import take_back

    return take_back(host, chosen_target(host, python), dry_run, yes, telling)


def read_report(path: str) -> Report:
    """A saved report. Leaves with 2 where the file holds none."""
    from doctor.cli.report import saved_report

    return saved_report(path)


def examined(host: LocalHost, python: str | None, checking: Checking, telling: Telling) -> Report:
    """The report of a check, as it is; a terminal sees each subject as it becomes known.

    What a run left that was cut off, as by a loss of power, is put right before.
    """
    from doctor.applying.applied import settled
    from doctor.cli.treating import masked

    target = chosen_target(host, python)
    for prefix in settled(host):
        typer.echo(masked(host, f"An earlier fix of {prefix} was cut off: it is as it was."), err=True)
    examination = checking.examination(host, target)
    if telling.form == "terminal" and telling.output is None:
        live = LiveTerminal(sys.stdout, animated=is_animated(host, sys.stdout), **telling.style)
        examination.live = live
    examination.run()
    if examination.live:
        typer.echo()
    assert examination.facts is not None
    return examination.diagnosed(examination.facts)


def asked_about(host: LocalHost, plan: Plan) -> Plan:
    """The plan with the word of the target's own installer on each step."""
    from doctor.applying.verifying import verified

    return verified(host, plan)


def own_language(host: LocalHost, report: Report) -> str:
    """The words of the installer that made the target."""
    from doctor.treatment.languages import language_of

    return language_of(report.facts, (), programs_here(host))


def programs_here(host: LocalHost) -> tuple[str, ...]:
    """The installers that can be called."""
    return tuple(name for name in PROGRAMS if host.find_program(name))


def worded_plan(host: LocalHost, report: Report, words: asked.Words, torch_index: str) -> Plan:
    """The plan in the words that are asked for."""
    import msgspec

    from doctor.treatment.languages import language_of, lasting, worded
    from doctor.treatment.planning import planned

    facts = report.facts
    files = project_files(host, report)
    programs = programs_here(host)
    language = language_of(facts, (), programs) if words == "own" else words
    plan = planned(report, language, torch_index=torch_index)
    steps = tuple(worded(step, facts, language, programs) for step in plan.steps)
    last = lasting(steps, facts, files) if words == "own" else None
    return msgspec.structs.replace(plan, steps=(*steps, *([last] if last else [])))


def project_files(host: LocalHost, report: Report) -> tuple[str, ...]:
    """Names in the folder that holds the environment, where a project's own tool leaves its lock."""
    interpreter = report.facts.interpreter
    if interpreter is None or interpreter.kind != "venv" or report.subject.kind != "live":
        return ()
    return host.list_folder(os.path.dirname(interpreter.prefix.rstrip("/")))


def rendered(plan: Plan, form: str, style: dict[str, Any], following: bool) -> str:
    """The plan in one of the formats; ``following``: with the command that carries it out."""
    if form in ("json", "jsonl"):
        from doctor.render.json_report import document

        return document(plan, indented=form == "json")
    if form in ("markdown", "html"):
        from doctor.render import html, plan_markdown

        text = plan_markdown.render(plan)
        return text if form == "markdown" else html.render(text)
    from doctor.render import plan_terminal
    from doctor.treatment.plan import OF_THE_TARGET

    can_apply = plan.language in OF_THE_TARGET and following and any(step.is_applied for step in plan.steps)
    command = ("lora-doctor", "fix", "--python", plan.target, "--apply") if can_apply else ()
    return plan_terminal.render(plan, command, windows=sys.platform == "win32", **style)
