"""``lora-doctor check``."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from doctor.cli import options
from doctor.cli.early import take_up, this_machine
from doctor.cli.examination import Examination, chosen_target
from doctor.cli.output import FILE_STYLE, deliver, exit_code, is_animated, refuse, rendered, style_of
from doctor.render.terminal import LiveTerminal
from doctor.smoke.trial import STAGE_LIMIT_S

if TYPE_CHECKING:
    from doctor.cli.planned import Planned
    from doctor.host import LocalHost


def check(
    python: options.Python = None,
    all_environments: Annotated[
        bool, typer.Option("--all-environments", help="Every interpreter found near here, one line each.")
    ] = False,
    quick: options.Quick = False,
    static: options.Static = False,
    plan: options.PlanFile = None,
    model: options.PlanModel = None,
    timeout: options.Timeout = STAGE_LIMIT_S,
    format: options.FormatOption = "terminal",
    output: options.Output = None,
    ignore: options.Ignore = None,
    strict: options.Strict = False,
    no_color: options.NoColor = False,
) -> None:
    """Examine this machine and the interpreter that trains."""
    host = this_machine()
    style = style_of(host, sys.stdout, no_color) if output is None else FILE_STYLE
    if all_environments:
        from doctor.cli.environments import check_all

        for option in ("--python" if python else "", "--plan" if plan else ""):
            if option:
                refuse(f"{option} and --all-environments exclude one another", "leave one of them out")
        raise typer.Exit(check_all(host, format, output, ignore or (), strict))
    target = chosen_target(host, python)
    examination = Examination(
        take_up(host, target),
        quick=quick,
        static=static,
        stage_limit_s=timeout,
        ignore=ignore or (),
        planned=planned_in(host, plan, model),
    )
    # A quick check that a program reads comes all at once: telling it bit by bit only costs time.
    if format == "terminal" and output is None and (sys.stdout.isatty() or not quick):
        live = examination.live = LiveTerminal(sys.stdout, animated=is_animated(host, sys.stdout), **style)
        report = examination.run()
        live.finish(report)
    else:
        report = examination.run()
        deliver(rendered(report, format, style), output)
    raise typer.Exit(exit_code(report, strict))


def planned_in(host: LocalHost, path: str | None, model: str | None) -> Planned | None:
    """The plan of a file, where one is named. Leaves with 2 where it states none."""
    if path is None:
        if model:
            refuse("--model says whose plan it is, and there is none", "name a file with --plan")
        return None
    from doctor.cli.planned import Planned

    return Planned(host, path, model)
