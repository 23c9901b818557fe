"""Where findings stand in files: a line for each, for formats that mark lines."""

from __future__ import annotations

import re
from typing import NamedTuple

from doctor.findings import Finding, Report

WHERE = re.compile(r"(.*?):(\d+)(?::(\d+))?$", re.S)


class Place(NamedTuple):
    """A place in a file; lines and columns from 1, 0 where they are not known."""

    file: str
    line: int = 0
    column: int = 0


def place_of(finding: Finding, report: Report) -> Place:
    """The line of the first evidence that has one, else the file as a whole."""
    for evidence in finding.evidence:
        found = WHERE.match(evidence.where)
        if found:
            return Place(found[1], int(found[2]), int(found[3] or 0))
    return Place(report.subject.name)
