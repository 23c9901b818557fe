"""``lora-doctor check --all-environments``: one line each."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from doctor.cli.examination import Examination
from doctor.cli.output import EXIT_ERROR, deliver, exit_code, refuse, rendered
from doctor.environments import find_environments
from doctor.host import LocalHost
from doctor.probes import Looks
from doctor.stack import STACK

if TYPE_CHECKING:
    from doctor.findings import Report


def check_all(host: LocalHost, form: str, output: str | None, ignore: Sequence[str], strict: bool) -> int:
    """Look through every interpreter without importing anything, tell each, and return the exit code.

    An interpreter that holds nothing of the stack is no patient: it is told and does not count.
    """
    if form not in ("terminal", "jsonl"):
        refuse(f"--format {form} is for one environment", "use jsonl, which gives one report a line")
    targets = find_environments(host, os.getcwd())
    if not targets:
        refuse("no interpreter was found near here", "name one: lora-doctor check --python PATH", 3)
    first = Looks(host, targets[0])
    looks = [first, *(Looks(host, target, driver_of=first) for target in targets[1:])]
    reports = [Examination(one, quick=True, stage_limit_s=1.0, ignore=ignore).run() for one in looks]
    told = [
        rendered(one, "jsonl", {}) if form == "jsonl" else line_of(one, origin.target.chosen_by)
        for one, origin in zip(reports, looks, strict=True)
    ]
    deliver("".join(told), output)
    codes = [exit_code(report, strict) for report in reports if holds_stack(report)]
    return EXIT_ERROR if any(codes) else 0


def holds_stack(report: Report) -> bool:
    """Is any library of the stack installed there?"""
    packages = report.facts.packages
    return bool(packages and any(name in packages.installed for name in STACK))


def line_of(report: Report, origin: str) -> str:
    """One environment in one line: path, where it was found, versions, verdict."""
    facts = report.facts
    python = f"Python {facts.interpreter.version}" if facts.interpreter else "not examined"
    versions = " ".join(f"{name} {version}" for name in STACK if (version := facts.version_of(name)))
    state = f"{report.verdict}: {report.primary}" if report.primary else report.verdict
    stack = (
        f"{versions} | {state}" if holds_stack(report) or not facts.interpreter else "nothing of the stack"
    )
    return f"{report.subject.name} ({origin}) | {python} | {stack}\n"
