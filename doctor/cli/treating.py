"""What ``fix`` does beyond printing: carry a plan out, take it back, or make a cured environment beside."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, TypeVar

import typer

from doctor.cli.output import EXIT_ERROR, deliver, exit_code, refuse, style_of

if TYPE_CHECKING:
    from msgspec import Struct

    from doctor.cli.checking import Checking
    from doctor.cli.fix import Telling
    from doctor.findings import Finding, Report
    from doctor.host import LocalHost
    from doctor.target import Target
    from doctor.treatment.outcome import Outcome, Treatment
    from doctor.treatment.plan import Plan, Refusal

    Told = TypeVar("Told", bound=Struct)

EXIT_INTERRUPTED = 130


def carry_out(
    host: LocalHost,
    report: Report,
    plan: Plan,
    checking: Checking,
    yes: bool,
    telling: Telling,
) -> int:
    """Carry the plan out after a yes. Returns the exit code: 0 where no error is left."""
    from doctor.applying.applied import Before, applied
    from doctor.applying.workplace import CannotApply
    from doctor.target import Target
    from doctor.treatment.outcome import Treatment

    if plan.refusal:
        refuse(f"it cannot be applied: {masked(host, plan.refusal.why)}", way_out(host, plan.refusal))
    ask(f"Apply it to {masked(host, plan.target)}?", yes)
    try:
        outcome = applied(
            host,
            Target(plan.target, "--python"),
            plan,
            lambda python: checking.report(host, python),
            lambda line: typer.echo(masked(host, f"  {line}"), err=True),
            before=Before(tuple(ids_of(report.findings)), blocked_stages(report)),
        )
    except CannotApply as error:
        refuse(masked(host, str(error)), masked(host, error.hint))
    except KeyboardInterrupt:
        typer.echo("Interrupted: the environment is as it was.", err=True)
        return EXIT_INTERRUPTED
    tell(host, Treatment(plan=plan, outcome=outcome), telling)
    return EXIT_ERROR if outcome.state == "restored" or still_ill(report, outcome, checking.strict) else 0


def way_out(host: LocalHost, refusal: Refusal) -> str:
    """What to run where a target must not be changed."""
    from doctor.render.shell import command_line

    return masked(
        host, "; ".join(command_line(one, windows=sys.platform == "win32") for one in refusal.commands)
    )


def ask(question: str, yes: bool) -> None:
    """Go on only after a yes; leaves with 2 where nobody can be asked."""
    if yes:
        return
    if sys.stdin is None or sys.stdin.closed or not sys.stdin.isatty():
        refuse("nobody is here to say yes", "say it beforehand with --yes")
    try:
        if typer.confirm(question, err=True):
            return
        code = EXIT_ERROR
    except typer.Abort:  # Ctrl-C or Ctrl-D
        typer.echo(err=True)
        code = EXIT_INTERRUPTED
    typer.echo("Nothing was changed.", err=True)
    raise typer.Exit(code)


def blocked_stages(report: Report) -> tuple[str, ...]:
    """Stages that could not be tried, for one that they need had failed."""
    runs = report.facts.trial.runs if report.facts.trial else ()
    return tuple(run.stage for run in runs if run.outcome == "blocked")


def ids_of(findings: tuple[Finding, ...]) -> list[str]:
    """The ids of findings and of what they explain."""
    return [id for one in findings for id in (one.id, *ids_of(one.symptoms))]


def still_ill(report: Report, outcome: Outcome, strict: bool) -> bool:
    """Is an error of the check left, or a finding new? ``strict``: or a warning left."""
    grave = ("error", "warning") if strict else ("error",)
    before = {finding.id for finding in report.findings if finding.severity in grave}
    return bool(outcome.new) or bool(before - set(outcome.cured))


def tell(host: LocalHost, treatment: Treatment, telling: Telling) -> None:
    """Tell the outcome: as one document to programs, else in words."""
    from doctor.render import outcome_terminal

    told = in_public(host, treatment)
    if telling.is_for_programs:
        tell_document(told, telling)
        return
    text = outcome_terminal.render(told.outcome, told.plan.target, **telling.style)
    is_page = telling.form in ("markdown", "html") and telling.output is None  # which the plan is, and whole
    typer.echo(text, nl=False, err=is_page)


def tell_document(told: Struct, telling: Telling) -> None:
    """One JSON document, where it is wanted."""
    from doctor.render.json_report import document

    deliver(document(told, indented=telling.form == "json"), telling.output)


def in_public(host: LocalHost, told: Told) -> Told:
    """The same without names and secrets."""
    from doctor.cli.examination import identity_of
    from doctor.redact import redact_fact

    return redact_fact(told, identity_of(host))


def masked(host: LocalHost, text: str) -> str:
    """A text for the screen without names and secrets."""
    from doctor.cli.examination import identity_of
    from doctor.redact import redact_text

    return redact_text(text, identity_of(host))


def take_back(host: LocalHost, target: Target, dry_run: bool, yes: bool, telling: Telling) -> int:
    """Restore what the last ``--apply`` kept. Returns the exit code."""
    from doctor.applying.undoing import undone
    from doctor.applying.workplace import CannotApply

    try:
        if dry_run:
            return tell_past(host, target)
        ask(f"Take back what was applied to {masked(host, target.executable)}?", yes)
        back = undone(host, target, on_step=lambda line: typer.echo(masked(host, f"  {line}"), err=True))
    except CannotApply as error:
        refuse(masked(host, str(error)), masked(host, error.hint))
    if telling.is_for_programs:
        tell_document(in_public(host, back), telling)
    else:
        typer.echo(f"Taken back: {masked(host, target.executable)} is what it was before ({back.name}).")
    return 0


def tell_past(host: LocalHost, target: Target) -> int:
    """Say what ``--undo`` would take back."""
    from doctor.applying.journal import last

    past = last(host, target)
    if past is None:
        refuse("nothing was applied that could be taken back", "see what to do with: lora-doctor fix")
    typer.echo(masked(host, f"{past.name}: " + "; ".join(past.steps)))
    return 0


def make_beside(
    host: LocalHost, report: Report, folder: str, checking: Checking, torch_index: str, no_color: bool
) -> int:
    """Make a cured environment in a new folder and check it. Returns the exit code of that check."""
    from doctor import __version__
    from doctor.installing.making import made
    from doctor.installing.outcome import NotMade
    from doctor.render import installing
    from doctor.render.installing import Installation
    from doctor.render.shell import command_line
    from doctor.treatment.planning import set_for

    interpreter = report.facts.interpreter
    python = interpreter.executable if interpreter else sys.executable
    whole = set_for(report)
    if not whole.pins:
        refuse(
            f"no set is known that would be well: {'; '.join(whole.because)}", "pin less: lora-doctor resolve"
        )
    outcome = made(
        host,
        folder,
        whole,
        python=python,
        index_url=torch_index,
        on_progress=lambda line: typer.echo(masked(host, f"  {line}"), err=True),
    )
    if isinstance(outcome, NotMade):
        hint = command_line(outcome.command) if outcome.command else outcome.advice
        refuse(
            masked(host, f"{outcome.why}: {outcome.seen}" if outcome.seen else outcome.why),
            masked(host, hint),
        )
    found = checking.report(host, outcome.python)
    told = Installation(
        tool_version=__version__, folder=outcome.folder, state="made", python=outcome.python, proof=found
    )
    style = style_of(host, sys.stderr, no_color)
    text = installing.render(in_public(host, told), windows=sys.platform == "win32", **style)
    typer.echo(text, err=True, nl=False)
    return exit_code(found, checking.strict)
