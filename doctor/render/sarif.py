"""Findings as SARIF 2.1.0, which code hosts and editors read.

Reference: https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from doctor import __version__
from doctor.findings import Finding, Report
from doctor.plain import one_line
from doctor.render.places import Place, place_of

ESCAPE = re.compile(r"[^A-Za-z0-9._~/-]")
SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def render(reports: Sequence[Report]) -> str:
    """One run with the results of every file."""
    findings = [(finding, report) for report in reports for finding in report.findings]
    failed = [(gap.reason, report) for report in reports for gap in report.gaps if gap.kind == "failed"]
    driver = {
        "name": "lora-doctor",
        "version": __version__,
        "rules": [described(finding) for finding in {one.id: one for one, _ in findings}.values()],
    }
    invocation = {
        "executionSuccessful": not failed,
        "toolExecutionNotifications": [
            {"level": "error", "message": {"text": f"{report.subject.name}: {reason}"}}
            for reason, report in failed
        ],
    }
    run = {
        "tool": {"driver": driver},
        "invocations": [invocation],
        "results": [result(finding, report) for finding, report in findings],
    }
    document = {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}
    return json.dumps(document, indent=2, ensure_ascii=True) + "\n"


def described(finding: Finding) -> dict[str, Any]:
    """The rule of a finding, as a viewer shows it beside its results."""
    described: dict[str, Any] = {"id": finding.id}
    if finding.why:
        described["fullDescription"] = {"text": one_line(finding.why)}
    return described


def result(finding: Finding, report: Report) -> dict[str, Any]:
    """One finding, with its first place and its first way out in words."""
    fix = f" Fix: {one_line(finding.fixes[0].title)}." if finding.fixes else ""
    return {
        "ruleId": finding.id,
        "level": finding.severity,
        "message": {"text": f"{one_line(finding.title)}.{fix}"},
        "locations": [location(place_of(finding, report))],
        "properties": {"confidence": finding.confidence, "breaks": list(finding.breaks)},
    }


def uri(path: str) -> str:
    """A path as a relative reference of RFC 3986."""
    return ESCAPE.sub(escaped, path.replace("\\", "/"))


def escaped(sign: re.Match[str]) -> str:
    """A character as a URI holds it."""
    return "".join(f"%{byte:02X}" for byte in sign[0].encode("utf-8", "replace"))


def location(place: Place) -> dict[str, Any]:
    """A place as a physical location; one without a line is the file as a whole."""
    where: dict[str, Any] = {"artifactLocation": {"uri": uri(place.file)}}
    if place.line:
        where["region"] = {"startLine": place.line}
        if place.column:
            where["region"]["startColumn"] = place.column
    return {"physicalLocation": where}
