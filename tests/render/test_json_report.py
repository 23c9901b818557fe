from __future__ import annotations

import json

import pytest
from hypothesis import given

from doctor.findings import Report
from doctor.render.json_report import read, render, render_line

from .hostile import reports
from .machines import MACHINES, broken_pair


@pytest.mark.parametrize("machine", MACHINES)
def test_read_gives_back_what_was_rendered(machine: str) -> None:
    report = MACHINES[machine]()
    assert read(render(report)) == report
    assert read(render_line(report)) == report


@given(reports())
def test_any_string_can_be_rendered_and_read(report: Report) -> None:
    text = render(report)
    again = read(text)
    assert render(again) == text
    assert render_line(report).count("\n") == 1
    json.loads(text)


def test_the_shape_that_was_promised() -> None:
    told = json.loads(render(broken_pair()))
    assert list(told) == [
        "schema", "tool_version", "matrix_reviewed", "subject", "verdict", "primary",
        "findings", "gaps", "not_judged", "questions", "facts",
    ]  # fmt: skip
    assert told["schema"] == 1
    assert told["subject"] == {"kind": "live", "name": "~/train/.venv/bin/python"}
    finding = told["findings"][0]
    assert list(finding) == [
        "id", "severity", "confidence", "title", "why", "breaks", "evidence", "against", "fixes",
        "symptoms",
    ]  # fmt: skip
    assert finding["evidence"][0] == {"subject": "peft", "seen": "0.17.0", "wanted": ">=0.18.0", "where": ""}
    assert finding["fixes"][0] == {
        "title": "Upgrade peft",
        "commands": [["~/train/.venv/bin/python", "-m", "pip", "install", "peft>=0.18.0"]],
        "scope": "environment",
        "verified": True,
    }
    assert told["gaps"][0]["about"] == "driver"
    assert told["not_judged"][1] == {"id": "gpu/bf16-unsupported", "missing": ["gpus"]}
    assert told["facts"]["torch"]["version"] == "2.13.0+cpu"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda told: told.update(schema=2), "schema 2; this lora-doctor reads schema 1"),
        (lambda told: told.pop("schema"), "missing required field `schema`"),
        (lambda told: told.update(verdict="fine"), r"Invalid enum value 'fine' - at `\$.verdict`"),
        (lambda told: told["findings"][1].update(severity=3), r"at `\$.findings\[1\].severity`"),
        (lambda told: told["facts"].update(system=[]), r"at `\$.facts.system`"),
    ],
)
def test_a_refusal_names_the_field(change: object, words: str) -> None:
    told = json.loads(render(broken_pair()))
    assert callable(change)
    change(told)
    with pytest.raises(ValueError, match=words):
        read(json.dumps(told))


@pytest.mark.parametrize("text", ["", "{", "[]", "null", "\ud800", "plain text"])
def test_what_is_no_report_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not a report of lora-doctor"):
        read(text)


def test_a_newer_report_with_more_fields_is_read() -> None:
    told = json.loads(render(broken_pair())) | {"added": 1}
    assert read(json.dumps(told)) == broken_pair()
