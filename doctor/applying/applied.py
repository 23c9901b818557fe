"""The course of a plan: a place to work in, the steps, the check of the outcome, only then the exchange."""

from __future__ import annotations

import contextlib
import json
import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Literal, NamedTuple

import msgspec

from doctor.applying import journal as journals
from doctor.applying import recovery
from doctor.applying.aside import Aside, twin_of
from doctor.applying.environment import (
    Environment,
    examined,
    is_layered,
    is_pure,
    refuse_little_disk,
    refuse_unfit,
)
from doctor.applying.in_place import InPlace, copied_bytes
from doctor.applying.installing import PATIENCE, Failure, carried_out, refuse_configured_elsewhere
from doctor.applying.interrupts import uninterrupted
from doctor.applying.journal import Journal
from doctor.applying.lock import is_held, locked
from doctor.applying.workplace import CannotApply, ChangedMeanwhile, Workplace
from doctor.child import Patience
from doctor.findings import Finding, Report
from doctor.host import Host
from doctor.processes import Companion
from doctor.target import Target
from doctor.treatment.outcome import Outcome
from doctor.treatment.plan import OF_THE_TARGET, Plan, Step

OnStep = Callable[[str], None]
State = Literal["cured", "improved", "restored"]


class Before(NamedTuple):
    """What is known of the target before: ids of its findings, and stages that nobody could try."""

    known: tuple[str, ...] = ()
    blocked: tuple[str, ...] = ()


NOTHING = Before()


def applied(
    host: Host,
    target: Target,
    plan: Plan,
    recheck: Callable[[str], Report],
    on_step: OnStep,
    *,
    before: Before = NOTHING,
    patience: Patience = PATIENCE,
) -> Outcome:
    """Carry a plan out, so that the target is cured at the end or what it was.

    ``recheck`` examines an interpreter; ``before`` is what the check before found. Raises
    :class:`CannotApply` before anything is changed; whatever else is raised leaves the target as it was.
    """
    steps = fit_steps(plan)
    settled(host)
    names = [name for step in steps for name in map(name_of, step.packages)]
    environment = examined(host, target, names)
    refuse_unfit(host, environment)
    refuse_configured_elsewhere(host, environment.executable, steps)
    folder = journals.folder_of(host.env, environment.root)
    with locked(journals.lock_in(folder), environment.prefix) as lock:
        path = journals.journal_in(folder)
        journal = begun(path, environment)
        environment = examined(host, target, names)  # another run may have ended since
        place = workplace(host, environment, path, journal)
        with guarded(host, path, lock):
            try:
                return course(host, place, plan, steps, recheck, on_step, before, patience, environment)
            except BaseException:
                place.drop()
                raise


def fit_steps(plan: Plan) -> tuple[Step, ...]:
    """The steps that are carried out. Raises :class:`CannotApply` where that is not for the doctor."""
    if plan.refusal:
        ways = "; ".join(" ".join(command) for command in plan.refusal.commands)
        raise CannotApply(plan.refusal.why, ways or "make an environment of your own: lora-doctor install")
    steps = tuple(step for step in plan.steps if step.is_applied)
    if not steps:
        raise CannotApply("no step of this plan changes packages", "carry the steps out by hand")
    if plan.language not in OF_THE_TARGET or not all(step.commands or step.paths for step in steps):
        raise CannotApply(
            f"the steps are in the words of {plan.language}, which changes files of your project",
            "carry them out yourself, and check again: lora-doctor check",
        )
    return steps


def name_of(requirement: str) -> str:
    """The normalised name of the package that a requirement is about."""
    found = re.match(r"[A-Za-z0-9][\w.-]*", requirement)
    return re.sub(r"[-_.]+", "-", found[0]).lower() if found else ""


def begun(path: str, environment: Environment) -> Journal:
    """The journal of a target, after what was left unfinished has been brought to its end."""
    try:
        journal = recovery.recovered(path)
    except OSError as error:
        raise CannotApply(
            f"an earlier run was cut short, and what it left cannot be brought to an end: {error}",
            f"see what is in the way; what that run was about stands in {path}",
        ) from error
    return journal or Journal(target=os.path.abspath(environment.executable), prefix=environment.root)


def workplace(host: Host, environment: Environment, path: str, journal: Journal) -> Workplace:
    """A twin where there can be one, else the target itself. Raises :class:`CannotApply` for want of disk."""
    layered = is_layered(host, environment.root)
    twin = twin_of(environment) if not layered and is_pure(environment) else None
    refuse_little_disk(host, environment, copied_bytes(environment) if layered else 0)
    return Aside(environment, path, journal, twin) if twin else InPlace(environment, path, journal)


@contextlib.contextmanager
def guarded(host: Host, path: str, lock: int) -> Iterator[None]:
    """Have a guardian that puts back what a killed doctor leaves; it holds the lock until it has."""
    paths = [entry for entry in sys.path if entry]
    argv = [sys.executable, "-I", "-S", "-c", recovery.PROGRAM, json.dumps(paths), path]
    try:
        guardian = Companion(argv, host.env, [lock])
    except OSError as error:
        raise CannotApply(
            f"the guardian cannot be started: {error}", "carry the steps out by hand"
        ) from error
    try:
        yield
    finally:
        with uninterrupted():
            guardian.leave(recovery.DONE if is_over(path) else b"")


def is_over(path: str) -> bool:
    """Is no run of a journal still to be put back?"""
    journal = journals.read(path)
    return journal is None or journal.run is None


def course(
    host: Host,
    place: Workplace,
    plan: Plan,
    steps: Sequence[Step],
    recheck: Callable[[str], Report],
    on_step: OnStep,
    before: Before,
    patience: Patience,
    environment: Environment,
) -> Outcome:
    """Clone, change, check, exchange; restored where any of it is not well."""
    on_step(f"Keeping {environment.prefix} as it is")
    try:
        place.begin()
    except OSError as error:
        return restored(place, environment, Failure("keeping what is there", str(error)))
    failure = carried_out(host, place, steps, on_step, patience)
    if failure:
        return restored(place, environment, failure)
    on_step("Checking the outcome")
    outcome = msgspec.structs.replace(
        judged(recheck(place.python), plan, steps, before), before=environment.frozen
    )
    if outcome.state == "restored":
        place.drop()
        return msgspec.structs.replace(outcome, failed=place.told(outcome.failed))
    on_step(f"Keeping what {environment.prefix} was, for --undo")
    try:
        after = tuple(map(place.told, examined(host, Target(place.python, "the outcome")).frozen))
        past = place.keep(tuple(step.title for step in steps), after)
    except (OSError, ChangedMeanwhile, CannotApply) as error:
        return restored(place, environment, Failure("keeping the outcome", str(error)))
    return msgspec.structs.replace(outcome, past=past, after=after)


def restored(place: Workplace, environment: Environment, failure: Failure) -> Outcome:
    """The outcome of a plan that failed: the target as it was."""
    place.drop()
    return Outcome(
        state="restored", failed=failure.title, said=place.told(failure.said), before=environment.frozen
    )


def judged(report: Report, plan: Plan, steps: Sequence[Step], before: Before) -> Outcome:
    """What the check of the outcome says: it stands with a finding less and no new error.

    An error of a stage that nobody could try before was there, and hidden: it takes nothing back.
    """
    planned = dict.fromkeys(one for step in steps for one in step.cures)
    old = {*before.known, *planned, *(one.id for one in plan.uncured)}
    old |= {one for step in plan.steps for one in step.cures}
    found = list(all_of(report.findings))
    unsure = {*(one.id for one in found), *(one.id for one in report.not_judged)}
    cured = tuple(one for one in planned if one not in unsure)
    not_cured = tuple(one for one in planned if one in unsure)
    errors = [one for one in found if one.severity == "error" and one.id not in old]
    caused = [one.id for one in errors if not set(one.breaks) & set(before.blocked)]
    new = tuple(dict.fromkeys(one.id for one in errors))
    failed = fault_of(report, cured, list(dict.fromkeys(caused)))
    better: State = "improved" if not_cured or new else "cured"
    state: State = "restored" if failed else better
    return Outcome(state=state, cured=cured, not_cured=not_cured, new=new, failed=failed)


def fault_of(report: Report, cured: Sequence[str], new: Sequence[str]) -> str:
    """Why an outcome must not stand, "" where it may."""
    if report.verdict == "undetermined":
        reasons = [gap.reason for gap in report.gaps if gap.about in ("interpreter", "packages")]
        return f"the outcome cannot be examined: {(reasons or ['nothing is known of it'])[0]}"
    if new:
        return f"the outcome has an error that was not there before: {', '.join(new)}"
    return "" if cured else "the steps succeeded, and no finding of the plan is gone"


def all_of(findings: Sequence[Finding]) -> Iterator[Finding]:
    """Findings and those that they explain."""
    for finding in findings:
        yield finding
        yield from all_of(finding.symptoms)


def settled(host: Host) -> tuple[str, ...]:
    """Bring to an end what earlier runs left when they and their guardian died, as in a loss of power.

    Returns the environments that were put right. Targets on which a run works now are left alone.
    """
    told = []
    for folder, journal in journals.known(host):
        if journal.run is None and not journal.waste or is_held(journals.lock_in(folder)):
            continue
        with contextlib.suppress(OSError, CannotApply), locked(journals.lock_in(folder), journal.prefix):
            recovery.recovered(journals.journal_in(folder))
            told.append(journal.prefix)
    return tuple(told)
