"""Where in a file a finding has its cause: each piece of evidence gets the line that names its subject."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from doctor.findings import Evidence, Finding, Report
from doctor.wanted import Wanted


def placed(report: Report, wanted: Wanted) -> Report:
    """The same report, its evidence with the places that the file knows."""
    places = {one.name: f"{one.file}:{one.line}" for one in reversed(wanted.requirements) if one.line}
    findings = tuple(with_places(finding, places) for finding in report.findings)
    return msgspec.structs.replace(report, findings=findings)


def with_places(finding: Finding, places: Mapping[str, str]) -> Finding:
    """A finding and all that it explains."""
    evidence = tuple(one if one.where else with_place(one, places) for one in finding.evidence)
    symptoms = tuple(with_places(symptom, places) for symptom in finding.symptoms)
    return msgspec.structs.replace(finding, evidence=evidence, symptoms=symptoms)


def with_place(evidence: Evidence, places: Mapping[str, str]) -> Evidence:
    """One piece of evidence with the line of its subject, where it has one."""
    return msgspec.structs.replace(evidence, where=places.get(evidence.subject, ""))
