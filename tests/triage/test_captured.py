"""What real environments said, and what triage makes of it: the same that ``check`` names there."""

from __future__ import annotations

import pytest

from doctor.facts import Facts
from doctor.findings import Report
from doctor.triage.judging import judge
from doctor.triage.reading import read

from .said import FOLDER, OTHERWISE, SILENT, expected, wanted

CHECKED = expected()
NAMES = sorted(path.stem for path in FOLDER.glob("*.txt"))


def triaged(name: str) -> Report:
    return judge(read((FOLDER / f"{name}.txt").read_text(encoding="utf-8"), Facts()), name)


@pytest.mark.parametrize("name", NAMES)
def test_triage_names_what_check_names(name: str) -> None:
    report = triaged(name)
    assert report.primary == wanted(name, CHECKED[name])
    if report.primary is None:  # nothing shows, so nobody is blamed
        assert [finding.id for finding in report.findings if finding.severity == "error"] == []
        assert report.verdict in ("healthy", "undetermined")


def test_few_faults_are_told_otherwise() -> None:
    assert set(OTHERWISE) <= set(NAMES)
    told = [name for name in NAMES if name not in SILENT and name not in OTHERWISE and CHECKED[name]]
    assert len(told) >= 70
    assert len(OTHERWISE) <= 24


def test_every_environment_is_accounted_for() -> None:
    assert set(CHECKED) == set(NAMES) | {name for name, why in SILENT.items() if why == "it hangs"}
