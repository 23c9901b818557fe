"""What may be published is on a list; a canary in any other field of the facts never shows."""

from __future__ import annotations

import json
import types
from collections.abc import Mapping
from itertools import count
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import healthy
import msgspec
import pytest

from doctor import disclosure
from doctor.diagnosis import diagnose
from doctor.disclosure import TOLD, WITHHELD, disclosed, told_of
from doctor.facts import Facts, StageRun, System, Trial
from doctor.findings import Evidence, Finding, Fix, Question, Report, Subject
from doctor.render import json_report
from doctor.render.issue_url import issue_url
from doctor.render.markdown import render

MACHINES = sorted((Path(__file__).parent / "machines").glob("*.json"))
replace = msgspec.structs.replace


class Canaries:
    """Facts in which every text is a word of its own, and which of the words may not be told."""

    def __init__(self) -> None:
        self.numbers, self.secrets, self.open = count(), list[str](), list[str]()

    def facts(self) -> Facts:
        facts: Facts = self.full(Facts, True)
        return facts

    def word(self, is_told: bool) -> str:
        word = f"canary-{next(self.numbers)}x"
        (self.open if is_told else self.secrets).append(word)
        return word

    def full(self, kind: Any, is_told: bool, depth: int = 0) -> Any:
        """A value of a type with every field filled."""
        origin, arguments = get_origin(kind), get_args(kind)
        if origin in (Union, types.UnionType):
            return self.full(next(one for one in arguments if one is not type(None)), is_told, depth)
        if origin is Literal:
            return arguments[0]
        if origin is tuple:
            several = [one for one in arguments if one is not Ellipsis]
            return tuple(self.full(one, is_told, depth) for one in several) if depth < 12 else ()
        if origin is not None and issubclass(origin, Mapping):
            return {self.word(is_told): self.full(arguments[1], is_told, depth)}
        if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
            return self.struct(kind, is_told, depth)
        plain = {str: lambda: self.word(is_told), int: lambda: 1, float: lambda: 1.0, bool: lambda: True}
        return plain[kind]() if kind in plain else self.word(is_told)

    def struct(self, kind: type[msgspec.Struct], is_told: bool, depth: int) -> Any:
        told, hints = TOLD.get(kind, frozenset()), get_type_hints(kind)
        fields = {}
        for name in kind.__struct_fields__:
            if name == "environment":
                fields[name] = {"LD_LIBRARY_PATH": self.word(True), "SLURM_JOB_ID": self.word(False)}
            elif depth < 8 or not get_origin(hints[name]):
                fields[name] = self.full(hints[name], is_told and name in told, depth + 1)
        return kind(**fields)


def report_of(facts: Facts, words: list[str]) -> Report:
    """A report whose findings repeat all that they can."""
    quoting = Finding(
        id="python/prints-at-startup",
        severity="warning",
        confidence="confirmed",
        title=f"it prints {words[0]}",
        why=words[1],
        evidence=tuple(Evidence(word, f"said: {word}", word, word) for word in words),
        fixes=tuple(Fix(word, ((word, f"x={word}"),)) for word in words),
        symptoms=(Finding(id="a/b", severity="note", confidence="likely", title=words[2]),),
    )
    return Report(
        tool_version="1",
        matrix_reviewed="2026-01-01",
        subject=Subject("live", "/usr/bin/python"),
        verdict="impaired",
        primary=quoting.id,
        findings=(quoting,),
        gaps=facts.gaps,
        questions=(Question(words[3]),),
        facts=facts,
    )


def test_a_text_that_is_not_on_the_list_shows_nowhere() -> None:
    canaries = Canaries()
    facts = canaries.facts()
    report = report_of(facts, canaries.secrets)
    assert len(canaries.secrets) > 30 and len(canaries.open) > 100
    for text in (render(report), json_report.render(disclosed(report)), issue_url(report, "a/b")):
        assert [word for word in canaries.secrets if word in text] == []
    assert WITHHELD in render(report)


def test_what_is_on_the_list_shows() -> None:
    canaries = Canaries()
    facts = canaries.facts()
    told = json_report.render(disclosed(report_of(facts, canaries.secrets)))
    assert [word for word in canaries.open if word not in told] == []


def test_a_field_that_is_added_later_stays_out() -> None:
    class Newer(System, frozen=True, kw_only=True):
        owner: str = ""
        place: str

    assert healthy.FACTS.system is not None
    known = msgspec.structs.asdict(healthy.FACTS.system)
    told = told_of(Newer(**known | {"owner": "canary-1x", "place": "canary-2x"}))
    assert "canary" not in json.dumps(told)
    assert told["place"] == ""


def test_a_field_that_leaves_the_list_leaves_the_report(monkeypatch: pytest.MonkeyPatch) -> None:
    report = diagnose(healthy.FACTS, Subject("live", healthy.PYTHON))
    assert healthy.FACTS.system is not None and healthy.FACTS.system.kernel in render(report)
    monkeypatch.setitem(disclosure.TOLD, System, TOLD[System] - {"kernel"})
    disclosure._fields.cache_clear()
    try:
        assert healthy.FACTS.system.kernel not in render(report)
    finally:
        monkeypatch.undo()
        disclosure._fields.cache_clear()


def test_the_list_names_fields_that_there_are() -> None:
    for kind, names in TOLD.items():
        assert names <= set(kind.__struct_fields__), kind


def test_a_long_line_that_is_quoted_cut_is_withheld_whole() -> None:
    noise = "canary " * 60
    run = StageRun(stage="import-torch", outcome="failed", noise=noise)
    facts = Facts(trial=Trial(device=None, runs=(run,)))
    evidence = (Evidence("import torch", noise.splitlines()[0][:200]),)
    finding = Finding(
        id="torch/import-failed", severity="error", confidence="likely", title="t", evidence=evidence
    )
    report = replace(report_of(facts, ["aaaaaa"] * 4), findings=(finding,), primary=finding.id)
    assert "canary" not in render(report)


def test_what_a_told_fact_says_too_is_no_secret() -> None:
    run = StageRun(stage="import-torch", outcome="failed", noise=healthy.PYTHON)
    facts = replace(healthy.FACTS, trial=Trial(device=None, runs=(run,)))
    assert WITHHELD not in render(diagnose(facts, Subject("live", healthy.PYTHON)))


def test_of_a_file_the_findings_say_where_it_is_wrong_and_the_facts_do_not_repeat_it() -> None:
    canaries = Canaries()
    facts = canaries.facts()
    report = replace(report_of(facts, canaries.secrets), subject=Subject("requirements", "requirements.txt"))
    told = disclosed(report)
    assert told.findings == report.findings
    assert not any(word in json.dumps(told_of(told.facts)) for word in canaries.secrets)


@pytest.mark.parametrize("path", MACHINES, ids=lambda path: path.stem)
def test_what_is_told_is_judged_as_all_was(path: Path) -> None:
    facts = msgspec.convert(json.loads(path.read_bytes())["facts"], Facts)
    report = diagnose(facts, Subject("live", "python"))
    told = disclosed(report)
    assert told.findings == report.findings
    again = diagnose(told.facts, Subject("live", "python"))
    assert [one.id for one in again.findings] == [one.id for one in report.findings]
    assert disclosed(told) == told
