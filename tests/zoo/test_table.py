"""docs/zoo.md is whole, and the same from any machine."""

from __future__ import annotations

import json
import re
from pathlib import Path

from .environment import ENVIRONMENTS, Target, faulty
from .running import Outcome
from .table import PAGE, line, page, row_of

NAME = "torch_segfaults"


def outcome(title: str) -> Outcome:
    """A run that found one thing."""
    report = {"primary": "a/b", "findings": [{"id": "c/d", "title": "no"}, {"id": "a/b", "title": title}]}
    return Outcome(Target(Path("python")), 1, json.dumps(report), "", 1.26, ())


def test_every_environment_stands_in_the_page() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert re.findall(r"^\| `(\w+)` \|", text, re.M) == [*ENVIRONMENTS, *faulty()]


def test_the_page_says_nothing_of_the_machine_that_wrote_it() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert [word for word in ("/root", "/home", "/tmp", "/work", ".cache", "run-") if word in text] == []


def test_a_row_says_what_was_found_first() -> None:
    row = row_of(NAME, outcome("cannot import x (~/lab/run-12/tmpa_b1/tmpc/venv/lib/x.py) | y"))
    assert row[1:] == ("a/b", "cannot import x (~/venv/lib/x.py) | y", 1, "full", 1.3)
    assert "x.py) \\| y | 1 | full | 1.3 |" in line(row)


def test_rows_stand_in_the_order_of_the_zoo() -> None:
    names = list(ENVIRONMENTS)[:3]
    rows = {name: row_of(name, outcome("x")) for name in reversed(names)}
    assert re.findall(r"^\| `(\w+)` \|", page(rows, {}), re.M) == names


def test_nothing_found_is_said_to_be_nothing() -> None:
    report = '{"primary": null, "findings": []}'
    row = row_of(NAME, Outcome(Target(Path("python")), 0, report, "", 0.2, ()))
    assert "| nothing | 0 |" in line(row)
