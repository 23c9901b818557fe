"""Findings in the formats that mark lines, whatever stands in them."""

from __future__ import annotations

import json

import msgspec
import pytest
from hypothesis import given

from doctor.facts import Facts, Gap
from doctor.findings import Evidence, Finding, Fix, Report, Subject
from doctor.render import file_markdown, file_terminal, github, sarif
from doctor.render.places import Place, place_of

from .hostile import TEXTS

FINDING = Finding(
    id="peft/too-old",
    severity="error",
    confidence="likely",
    title="peft is too old",
    breaks=("import-peft",),
    evidence=(Evidence("torch", "2.0"), Evidence("peft", "0.1", ">=0.2", "a b/r.txt:7")),
    fixes=(Fix("Take a newer one"),),
)


def report(*findings: Finding, name: str = "a b/r.txt", gaps: tuple[Gap, ...] = ()) -> Report:
    return Report(
        tool_version="0",
        matrix_reviewed="2026-01-01",
        subject=Subject("requirements", name),
        verdict="broken" if findings else "undetermined",
        primary=None,
        findings=findings,
        gaps=gaps,
        facts=Facts(),
    )


@pytest.mark.parametrize(
    ("where", "place"),
    [
        ("r.txt:3", Place("r.txt", 3)),
        ("train.py:3:9", Place("train.py", 3, 9)),
        ("C:\\x\\r.txt:3", Place("C:\\x\\r.txt", 3)),
        ("nb.ipynb:cell 3, line 4", Place("subject")),
        ("", Place("subject")),
    ],
)
def test_places(where: str, place: Place) -> None:
    finding = msgspec.structs.replace(FINDING, evidence=(Evidence("x", "y", "", where),))
    assert place_of(finding, report(name="subject")) == place


def test_an_annotation() -> None:
    assert github.render(report(FINDING)) == (
        "::error file=a b/r.txt,line=7,title=peft/too-old::"
        "peft is too old (likely)%0Abreaks: import-peft%0Afix: Take a newer one\n"
    )


def test_a_file_that_was_not_read() -> None:
    gap = Gap(about="packages", kind="failed", reason="it is binary")
    told = report(gaps=(gap,))
    assert github.render(told) == "::error file=a b/r.txt,title=cannot be read::it is binary\n"
    [run] = json.loads(sarif.render([told]))["runs"]
    assert run["invocations"][0]["executionSuccessful"] is False
    assert "it is binary" in file_terminal.render([told]) and "it is binary" in file_markdown.render([told])


def test_a_result_of_sarif() -> None:
    [run] = json.loads(sarif.render([report(FINDING), report(FINDING)]))["runs"]
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == ["peft/too-old"]
    result = run["results"][0]
    assert result["message"]["text"] == "peft is too old. Fix: Take a newer one."
    assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "a%20b/r.txt"


def test_several_files_are_counted() -> None:
    told = file_terminal.render([report(FINDING), report(), report(FINDING)])
    assert told.endswith("3 files, 2 with errors, 1 not judged\n")
    assert "(line 7)" in told


@given(TEXTS)
def test_foreign_text_breaks_no_format(text: str) -> None:
    evil = msgspec.structs.replace(
        FINDING,
        title=text,
        evidence=(Evidence(text, text, text, f"{text}:3"),),
        fixes=(Fix(text),),
    )
    told = report(evil, name=text)
    assert len(github.render(told).splitlines()) == 1
    json.loads(sarif.render([told]))
    for shown in (file_terminal.render([told]), file_markdown.render([told])):
        assert "\x1b" not in shown and "\r" not in shown
        shown.encode()
