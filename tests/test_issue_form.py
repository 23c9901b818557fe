"""The form against GitHub's schema for issue forms, as its documentation states it."""

from __future__ import annotations

import re
from typing import Any

import pytest
import yaml

from doctor.issue_form import issue_form

TOP_LEVEL = {"name", "description", "title", "labels", "assignees", "projects", "type", "body"}
# https://docs.github.com/en/communities/using-templates-to-encourage-useful-issues-and-pull-requests/syntax-for-githubs-form-schema
ATTRIBUTES = {
    "markdown": {"value"},
    "textarea": {"label", "description", "placeholder", "value", "render"},
}


def form(command: str = "lora-doctor report") -> dict[str, Any]:
    parsed = yaml.safe_load(issue_form(command))
    assert isinstance(parsed, dict)
    return parsed


def fields() -> dict[str, dict[str, Any]]:
    return {field["id"]: field for field in form()["body"] if "id" in field}


def test_github_accepts_it() -> None:
    parsed = form()
    assert set(parsed) <= TOP_LEVEL
    assert all(isinstance(parsed[key], str) and parsed[key] for key in ("name", "description"))
    assert all(isinstance(label, str) for label in parsed["labels"])
    for field in parsed["body"]:
        assert set(field) <= {"type", "id", "attributes", "validations"}
        assert set(field["attributes"]) <= ATTRIBUTES[field["type"]]
        assert all(isinstance(value, str) and value for value in field["attributes"].values())
        assert field.get("validations", {"required": True}) == {"required": True}
    inputs = [field for field in parsed["body"] if field["type"] != "markdown"]
    assert all(re.fullmatch(r"[A-Za-z0-9_-]+", field["id"]) for field in inputs)
    assert len({field["id"] for field in inputs}) == len(inputs)
    labels = [field["attributes"]["label"] for field in inputs]
    assert len(set(labels)) == len(labels)


def test_the_report_is_required_and_shown_as_markdown() -> None:
    report = fields()["report"]
    assert report["validations"]["required"] is True
    assert "render" not in report["attributes"]
    assert "`lora-doctor report`" in report["attributes"]["description"]


def test_it_asks_for_what_was_run_what_was_expected_and_the_traceback() -> None:
    assert list(fields()) == ["report", "tried", "expected", "traceback"]
    assert fields()["traceback"]["attributes"]["render"] == "shell"


@pytest.mark.parametrize("command", ["uvx lora-doctor report", 'x: "y" # z\n- é {0}', "'", "\\", "{command}"])
def test_any_command_is_a_scalar(command: str) -> None:
    body = form(command)["body"][1]["attributes"]
    assert body["placeholder"] == f"The output of: {command}"
