"""What of a report is read, and what is said of one that is none."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from fleet_reports import compared, enveloped, report
from machine_record import read_machine
from machines.test_machines import FILES

from doctor.fleet.reports import Document, Facts, Told, fault, read
from doctor.fleet.values import FIELDS, groups_of
from doctor.render.json_report import encode

REPORT = json.loads(encode(report()))


def told(data: bytes) -> Told:
    found = read(data).told
    assert found is not None
    return found


def test_a_bare_report_and_one_in_an_envelope_are_read_alike() -> None:
    bare = told(encode(report()))
    assert told(enveloped("a", report())) == bare
    assert bare.facts.packages and bare.facts.packages.installed["peft"].version


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_recorded_machines_have_values_in_every_group_that_was_seen(file: Any) -> None:
    facts = read_machine(file).facts
    groups = groups_of(told(encode(report(of=facts))).facts)
    for name, group in zip(FIELDS, groups, strict=True):
        assert group is not None or getattr(facts, name) is None


def test_recorded_machines_are_compared() -> None:
    machines = {file.stem: read_machine(file).facts for file in FILES}
    told_of = compared({name: report(of=facts) for name, facts in machines.items()})
    by_topic = {one.about: one for one in told_of.differences}
    assert told_of.compared == len(machines) and told_of.verdict == "differing"
    assert by_topic["gpu.model"].norm is None and by_topic["gpu.model"].distinct == len(machines)
    assert "trl" not in by_topic and not told_of.troubles


def test_every_field_that_is_compared_is_a_field_of_the_facts() -> None:
    from doctor.facts import Facts as All

    assert set(FIELDS) <= set(Facts.__struct_fields__) <= set(All.__struct_fields__)


def nested(depth: int) -> bytes:
    return b'{"a":' * depth + b"1" + b"}" * depth


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b'{"schema": 1', "cut off"),
        (b"{not JSON}", "no JSON"),
        (b'{"schema": NaN}', "no JSON"),
        (b'{"schema": "1"}', "Expected `int | null`"),
        (b'{"schema": 2, "facts": 7}', "schema 2"),
        (nested(100_000), "nested too deeply"),
        (encode({**REPORT, "facts": {**REPORT["facts"], "driver": {"version": 5}}}), "driver.version"),
        (b'{"schema":1,"node":"\xff\xfe"}', "."),
    ],
)
def test_what_cannot_be_read_says_why(data: bytes, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        read(data)


@pytest.mark.parametrize("number", ["1e999", "-1", "1e-400"])
def test_numbers_that_no_clock_shows_are_read(number: str) -> None:
    data = encode(REPORT).replace(b'"seconds":1.0', f'"seconds":{number}'.encode())
    try:
        read(data)
    except ValueError as error:
        assert "no JSON" in str(error) or "not as it must be" in str(error)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda told: {**told, "schema": 3}, "schema 3"),
        (
            lambda told: {**told, "subject": {"kind": "requirements", "name": "r.txt"}},
            "one of requirements",
        ),
        (lambda told: {**told, "verdict": "broken"}, "names no error"),
        (lambda told: {**told, "primary": "torch/cpu-only-build"}, "none of its findings"),
    ],
)
def test_what_is_not_to_be_believed_says_why(change: Callable[[Any], Any], said: str) -> None:
    assert said in fault(told(encode(change(REPORT))))


def test_a_document_without_a_report_has_none() -> None:
    assert Document().told is None and read(b"{}").told is None
