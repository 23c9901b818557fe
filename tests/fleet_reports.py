"""Reports of nodes, made of the healthy machine, as ``check --format json`` writes them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
from healthy import but, facts, packages

from doctor.diagnosis import diagnose
from doctor.facts import Facts
from doctor.findings import Finding, Report, Subject
from doctor.fleet.comparison import Comparison
from doctor.fleet.judging import compare
from doctor.fleet.roll import Roll
from doctor.render.json_report import encode

SUBJECT = Subject("live", "/env/bin/python")
HEALTHY = facts()


def gpus(count: int = 1, seed: str = "", **changes: Any) -> tuple[Any, ...]:
    """The healthy GPU so many times, each with a number of its own."""
    own = HEALTHY.gpus[0]  # type: ignore[index]
    return tuple(
        but(own, index=index, uuid_hash=f"{seed}{index}" if seed else "", **changes) for index in range(count)
    )


def report(*findings: Finding, verdict: str = "", of: Facts | None = None, **changes: Any) -> Report:
    """A node's report: the healthy facts with some replaced, and the findings that it is given."""
    found = of or facts(**{"gpus": gpus(), **changes})
    severities = {one.severity for one in findings}
    worst = "broken" if "error" in severities else "impaired" if "warning" in severities else "healthy"
    return Report(
        tool_version="0.1.0",
        matrix_reviewed="2026-11-29",
        subject=SUBJECT,
        verdict=verdict or worst,  # type: ignore[arg-type]
        primary=findings[0].id if findings else None,
        findings=findings,
        gaps=found.gaps,
        facts=found,
    )


def finding(id: str, severity: Any = "error", title: str = "something is wrong") -> Finding:
    """A finding by its name."""
    return Finding(id=id, severity=severity, confidence="confirmed", title=title)


def with_versions(**versions: Any) -> Report:
    """A node on which some packages have other versions; None is absent."""
    return report(packages=packages(**versions))


def with_driver(version: str) -> Report:
    """A node with another driver."""
    return report(driver=but(HEALTHY.driver, version=version))


def diagnosed(found: Facts) -> Report:
    """What the rules say of facts."""
    return diagnose(found, SUBJECT)


def enveloped(node: str, told: Report | None, **fields: Any) -> bytes:
    """A node's line as a launcher writes it."""
    told_json = None if told is None else msgspec.to_builtins(told)
    return encode({"schema": 1, "node": node, "report": told_json, "failure": "", **fields})


def roll_of(nodes: Mapping[str, Report]) -> Roll:
    """The reports of nodes by name, called up."""
    roll = Roll()
    for name, told in nodes.items():
        roll.add(encode(told), "a test", name)
    return roll


def compared(nodes: Mapping[str, Report], **options: Any) -> Comparison:
    """The comparison of nodes by name."""
    return compare(roll_of(nodes), **options)


def odd(told: Comparison) -> dict[str, list[str]]:
    """The odd nodes and what about."""
    return {one.node: [reason.about for reason in one.reasons] for one in told.odd}


def alike(count: int, told: Report | None = None, start: int = 1) -> dict[str, Report]:
    """So many nodes with one report: node001, node002 and so on."""
    one = told or report()
    return {f"node{number:03}": one for number in range(start, start + count)}
