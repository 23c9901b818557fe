"""``lora-doctor fit``."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import typer

from doctor.cli.early import this_machine
from doctor.cli.fit_options import FitOptions
from doctor.cli.gathered import taking
from doctor.cli.output import (
    EXIT_ERROR,
    EXIT_NOT_EXAMINED,
    EXIT_USAGE,
    FILE_STYLE,
    deliver,
    is_animated,
    refuse,
    style_of,
)

if TYPE_CHECKING:
    from doctor.cli.fit_subject import Subject
    from doctor.estimating import Estimators
    from doctor.host import LocalHost
    from doctor.memory.answer import Answer
    from doctor.memory.answering import Question
    from doctor.memory.estimator import Estimator
    from doctor.memory.shapes import ModelShape


@taking(FitOptions)
def fit(asked: FitOptions) -> None:
    """Say how much memory a fine-tune will need, part by part, whether that fits, and what makes it fit."""
    host = this_machine()
    if asked.image and not asked.image.lower().endswith(".svg"):
        refuse(f"--image {asked.image!r} would be no SVG", "name a file that ends in .svg")
    from doctor.cli.fit_subject import subject_of
    from doctor.estimating import Estimators

    subject = subject_of(host, asked)
    estimators = Estimators(host, subject.target, subject.versions, trusted=asked.trust_remote_code)
    if asked.measure or asked.bisect:
        refuse_without_device(subject)
    if asked.bisect:
        raise typer.Exit(bisected(host, asked, subject, estimators))
    answer, code = measured(host, asked, subject, answer_to(host, asked, subject, estimators))
    tell(host, redacted(host, answer), asked)
    is_bad = answer.verdict == "does-not-fit" or (asked.strict and answer.verdict == "tight")
    raise typer.Exit(max(code, EXIT_ERROR if is_bad else 0))


def answer_to(host: LocalHost, asked: FitOptions, subject: Subject, estimators: Estimators) -> Answer:
    """Estimate, search, advise. Leaves with 3 where nothing can be estimated."""
    from doctor.cli.lint import plainly
    from doctor.measuring.calibration import calibrated
    from doctor.memory.answering import Unestimated, answered

    tier, note = tier_of(asked, subject, estimators)
    sure = calibrated(host, tier, subject.versions)
    quick = calibrated(host, estimators.formula, subject.versions)
    levers = {"formula": quick, "traced": sure, "none": None}[asked.levers]
    try:
        with working(host, asked):
            answer = answered(question_of(asked, subject, estimators), sure, quick, levers)
    except Unestimated as error:
        code = EXIT_USAGE if error.is_of_plan else EXIT_NOT_EXAMINED
        hint = "what a plan may say is told by --help" if error.is_of_plan else "try --estimator formula"
        refuse(plainly(host, str(error)), hint, code)
    return finished(answer, subject, note)


def finished(answer: Answer, subject: Subject, note: tuple[str, ...]) -> Answer:
    """The answer with its notes, and with the plan as text where that can be carried out."""
    import msgspec

    from doctor.memory.snippets import snippets
    from doctor.memory.targets import unmatched
    from doctor.memory.validity import remarks

    best = answer.best.estimate if answer.best else None
    told = best or answer.estimate
    plan = answer.estimate.plan
    missed = [f"{answer.model.name} has no module called {name}." for name in unmatched(subject.shape, plan)]
    notes = (*answer.notes, *subject.notes, *note, *remarks(plan, subject.shape), *missed)
    texts = snippets(loadable(subject.shape), told.plan, subject.versions)
    changed: Answer = msgspec.structs.replace(answer, notes=notes, snippets=texts)
    return changed


def loadable(shape: ModelShape) -> str:
    """What from_pretrained takes for a model."""
    from doctor.memory import models

    if shape.source == "list":
        return models.repository(shape.name) if "/" not in shape.name else shape.name
    return "path/to/model" if shape.source == "parameters" else shape.name


def refuse_without_device(subject: Subject) -> None:
    """Leave with 2 where there is nothing to run on, and with 3 where nothing could run there."""
    if subject.target is None:
        refuse("there is no target to run", "name one with --python", EXIT_NOT_EXAMINED)
    if subject.device.kind == "cuda" and not subject.device.driver:
        refuse("no GPU is seen here to run on", "add --cpu to run on the processor")


def measured(host: LocalHost, asked: FitOptions, subject: Subject, answer: Answer) -> tuple[Answer, int]:
    """The answer beside a run of its plan, where one is asked for, and the exit code that the run means."""
    if not asked.measure or subject.target is None:
        return answer, 0
    import msgspec

    from doctor.cli.measuring import EXIT_CODES, measured_beside

    found = measured_beside(
        host,
        subject.target,
        subject.shape,
        answer.estimate,
        subject.device,
        limit_bytes=limit_of(asked),
    )
    return msgspec.structs.replace(answer, measured=found), EXIT_CODES[found.measurement.outcome]


def bisected(host: LocalHost, asked: FitOptions, subject: Subject, estimators: Estimators) -> int:
    """Run plans until the largest is known; tells itself."""
    from doctor.cli.measuring import bisect_and_tell

    assert subject.target is not None
    return bisect_and_tell(
        host,
        subject.target,
        subject.shape,
        estimators.settled(subject.plan, subject.shape),
        subject.device,
        limit_bytes=limit_of(asked),
        format=asked.format,
        output=asked.output,
        no_color=asked.no_color,
    )


def limit_of(asked: FitOptions) -> int | None:
    """The memory that a run may take. Leaves with 2 for what is no size."""
    from doctor.stated import StatementInvalid, size_bytes

    try:
        return size_bytes(asked.limit) if asked.limit else None
    except StatementInvalid:
        refuse(f"--limit {asked.limit} is no size", "give a size such as 4GiB")


@contextmanager
def working(host: LocalHost, asked: FitOptions) -> Iterator[None]:
    """A moving line on standard error while plans are estimated, where something may move there."""
    if not is_animated(host, sys.stderr):
        yield
        return
    from doctor.render.layout import Layout
    from doctor.render.spinner import Spinner

    spinner = Spinner(sys.stderr, Layout(**style_of(host, sys.stderr, asked.no_color)), "estimating memory")
    spinner.start()
    try:
        yield
    finally:
        spinner.stop()


def tier_of(asked: FitOptions, subject: Subject, estimators: Estimators) -> tuple[Estimator, tuple[str, ...]]:
    """The estimator that is asked for, and a word where it is not the best one there is."""
    if asked.estimator == "formula":
        return estimators.formula, ()
    lacking = estimators.lacks(subject.plan)
    if not lacking and subject.target is not None:
        return estimators.trace, ()
    said = f"the target has no {' and no '.join(lacking)}" if lacking else "there is no target"
    if asked.estimator == "trace":
        refuse(f"no trace: {said}", "name another interpreter with --python", EXIT_NOT_EXAMINED)
    return estimators.formula, (f"Estimated by formula, for {said}.",)


def question_of(asked: FitOptions, subject: Subject, estimators: Estimators) -> Question:
    """What is asked: of a model and a device alone, the best plan; else of the plan that is described."""
    from doctor.memory.answering import Question

    return Question(
        shape=subject.shape,
        plan=estimators.settled(subject.plan, subject.shape),
        pinned=subject.pinned,
        device=subject.device,
        searched=not subject.pinned and asked.plan is None,
        best=asked.best,
        table=asked.table,
    )


def redacted(host: LocalHost, answer: Answer) -> Answer:
    """The same without names and secrets."""
    from doctor.cli.examination import identity_of
    from doctor.redact import redact_fact

    return redact_fact(answer, identity_of(host))


def tell(host: LocalHost, answer: Answer, asked: FitOptions) -> None:
    """Write the answer, then the picture where one is asked for: if that fails, the answer stands."""
    style = style_of(host, sys.stdout, asked.no_color) if asked.output is None else FILE_STYLE
    deliver(rendered(answer, asked.format, style), asked.output)
    if asked.image:
        from doctor.render import fit_svg

        deliver(fit_svg.render(answer), asked.image)


def rendered(answer: Answer, form: str, style: dict[str, Any]) -> str:
    """The answer in one of the formats."""
    if form in ("json", "jsonl"):
        from doctor.render import fit_json

        return fit_json.render(answer) if form == "json" else fit_json.render_line(answer)
    if form in ("markdown", "html"):
        from doctor.render import fit_html, fit_markdown

        return fit_markdown.render(answer) if form == "markdown" else fit_html.render(answer)
    from doctor.render import fit_terminal

    return fit_terminal.render(answer, **style)
