"""Whole reports, compared letter by letter. ``UPDATE_GOLDEN=1 pytest tests/render`` writes them anew."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from doctor.findings import Report
from doctor.render import json_report, markdown, terminal

from .machines import MACHINES

GOLDEN = Path(__file__).parent / "golden"
FORMS: dict[str, Callable[[Report], str]] = {
    "txt": lambda report: terminal.render(report, width=80),
    "narrow.txt": lambda report: terminal.render(report, width=40, unicode=True),
    "md": markdown.render,
    "json": json_report.render,
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("machine", MACHINES)
def test_report(machine: str, form: str) -> None:
    told = FORMS[form](MACHINES[machine]())
    file = GOLDEN / f"{machine}.{form}"
    if os.environ.get("UPDATE_GOLDEN"):
        file.write_text(told, encoding="utf-8")
    assert told == file.read_text(encoding="utf-8")


def test_every_golden_file_is_compared() -> None:
    assert {file.name for file in GOLDEN.iterdir()} == {
        f"{machine}.{form}" for machine in MACHINES for form in FORMS
    }
