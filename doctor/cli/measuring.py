"""``fit --measure`` and ``fit --bisect``: run the plan on this machine, tell as it goes."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

import typer

from doctor.cli.examination import identity_of
from doctor.cli.output import EXIT_ERROR, EXIT_NOT_EXAMINED, deliver, refuse, style_of
from doctor.host import LocalHost
from doctor.memory.bisection import Bisection, Found, Trial
from doctor.memory.estimate import Device, Estimate
from doctor.memory.measured import Measured, differences
from doctor.memory.plan import Plan
from doctor.memory.shapes import ModelShape
from doctor.target import Target

if TYPE_CHECKING:
    from doctor.render.layout import Layout

EXIT_CODES = {"ok": 0, "out-of-memory": EXIT_ERROR, "failed": EXIT_NOT_EXAMINED, "hung": EXIT_NOT_EXAMINED}


def measured_beside(
    host: LocalHost,
    target: Target,
    shape: ModelShape,
    estimate: Estimate,
    device: Device,
    *,
    limit_bytes: int | None = None,
) -> Measured:
    """One run of the estimate's plan beside the estimate; its residual is kept for the next one.

    Leaves with 2 where the run would take more than this machine has, or more than one device.
    """
    from doctor.measuring.calibration import remember
    from doctor.measuring.limits import NotMeasurable, bound_bytes, check
    from doctor.measuring.run import measure

    try:
        check(estimate.plan, device, estimate, limit_bytes)
    except NotMeasurable as error:
        refuse(str(error), error.hint)
    say = told_on_standard_error()
    measurement = measure(
        host,
        target,
        shape,
        estimate.plan,
        device,
        on_phase=lambda phase, step: say(f"{phase}, step {step}" if step else phase),
        limit_bytes=bound_bytes(device, limit_bytes),
    )
    residual = remember(host, device, measurement, estimate)
    notes = () if residual is None else (f"Kept for predictions on this machine: {residual.plan}.",)
    return Measured(measurement=measurement, differences=differences(measurement, estimate), notes=notes)


def bisect_and_tell(
    host: LocalHost,
    target: Target,
    shape: ModelShape,
    plan: Plan,
    device: Device,
    *,
    limit_bytes: int | None = None,
    format: str = "terminal",
    output: str | None = None,
    no_color: bool = False,
) -> int:
    """Search the largest length and batch of a settled plan that run; the exit code.

    0 something runs, 1 nothing does, 3 a trial failed for another reason than memory.
    """
    from doctor.measuring.limits import NotMeasurable, check
    from doctor.measuring.trials import most_length, trials_of
    from doctor.redact import redact_fact
    from doctor.render import bisected
    from doctor.render.layout import Layout

    try:
        check(plan, device, None, limit_bytes)
    except NotMeasurable as error:
        refuse(str(error), error.hint)
    say = told_on_standard_error()
    if device.others:
        say(bisected.others_line(device.others))
    run = trials_of(host, target, shape, plan, device, limit_bytes)

    def told(batch_size: int, length: int) -> Trial:
        trial = run(batch_size, length)
        say(bisected.trial_line(trial))
        return trial

    found = redact_fact(Bisection(told, plan.sequence_length, most_length(shape)).search(), identity_of(host))
    layout = Layout(**style_of(host, sys.stdout, no_color)) if output is None else Layout(unicode=True)
    deliver(rendered(found, format, layout), output)
    return EXIT_NOT_EXAMINED if found.ended == "failed" else 0 if found.length else EXIT_ERROR


def rendered(found: Found, format: str, layout: Layout) -> str:
    """The end of a search in one of the formats."""
    from doctor.render import bisected

    if format in ("json", "jsonl"):
        return bisected.json(found) if format == "json" else bisected.json_line(found)
    if format in ("markdown", "html"):
        from doctor.render import html

        text = bisected.markdown(found)
        return text if format == "markdown" else html.render(text)
    return "\n".join(bisected.terminal(found, layout)) + "\n"


def told_on_standard_error() -> Callable[[str], None]:
    """Lines of progress, which are no part of the answer."""
    return lambda line: typer.echo(line, err=True)
