"""Reports of the doctor itself, pasted back: triage says what they say."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

from doctor.diagnosis import diagnose
from doctor.facts import Facts
from doctor.findings import Report, Subject
from doctor.render import json_report, markdown
from doctor.triage.judging import judge
from doctor.triage.reading import read

MACHINES = sorted((Path(__file__).parents[1] / "machines").glob("*.json"))
BODY = "### What happened\n\nIt fails.\n\n### Report\n\n{}\n\n### More\n\nThanks!\n"


def recorded(path: Path) -> Report:
    facts = msgspec.convert(json.loads(path.read_bytes())["facts"], Facts)
    return diagnose(facts, Subject("live", "python"))


def triaged(text: str) -> Report:
    return judge(read(text, Facts()), "paste")


@pytest.mark.parametrize("path", MACHINES, ids=lambda path: path.stem)
@pytest.mark.parametrize("form", ["json", "in an issue", "quoted", "markdown"])
def test_a_whole_report_says_the_same_again(path: Path, form: str) -> None:
    report = recorded(path)
    text = markdown.render(report) if form == "markdown" else json_report.render(report)
    if form == "in an issue":
        text = BODY.format(f"```json\n{text}\n```")
    if form == "quoted":
        text = "\n".join(f"> {line}" for line in text.splitlines())
    again = triaged(text)
    assert (again.primary, again.verdict) == (report.primary, report.verdict)


@pytest.mark.parametrize("path", MACHINES, ids=lambda path: path.stem)
def test_what_was_cut_blames_nothing_else(path: Path) -> None:
    report = recorded(path)
    for text in (json_report.render(report), markdown.render(report)):
        cut = triaged(text[: len(text) * 6 // 10])
        known = {finding.id for finding in report.findings}
        assert {finding.id for finding in cut.findings if finding.severity == "error"} <= known


def test_there_are_machines() -> None:
    assert len(MACHINES) >= 5
    assert all(json.loads(path.read_text(encoding="utf-8"))["facts"] for path in MACHINES)
