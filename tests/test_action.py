"""The GitHub Action: what it runs, and what it would tell GitHub."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[1]
ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
# Writes down its arguments, and the comment before its file is gone.
FAKE_GH = """#!/usr/bin/env bash
printf '%s\\n' "$*" >>"$GH_CALLS"
while [ $# -gt 0 ]; do
  if [ "$1" = --body-file ]; then cat "$2" >"$GH_COMMENT"; fi
  shift
done
"""
BROKEN = """ImportError: cannot import name 'HybridCache' from 'transformers'

peft==0.17.1
transformers==5.24.0
"""
NOTHING = "It does not work, please help."
HOSTILE = """$(touch pwned) `touch pwned`; touch pwned
' \" ${{ github.token }} @everyone <script>alert(1)</script>
"""

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the action runs in bash")


class Run:
    """One run of the second step against a fake gh."""

    def __init__(
        self, folder: Path, title: str, body: str, comment: str = "known", labels: str = "true"
    ) -> None:
        tools = folder / "bin"
        tools.mkdir()
        (tools / "gh").write_text(FAKE_GH)
        (tools / "gh").chmod(0o755)
        (tools / "lora-doctor").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m doctor "$@"\n')
        (tools / "lora-doctor").chmod(0o755)
        event = folder / "event.json"
        event.write_text(
            json.dumps({"action": "opened", "issue": {"number": 7, "title": title, "body": body}})
        )
        self.folder, self._calls, self._comment = folder, folder / "calls", folder / "comment"
        variables = {
            "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}",
            "GITHUB_EVENT_PATH": str(event),
            "GITHUB_REPOSITORY": "o/r",
            "GH_TOKEN": "t",
            "GH_CALLS": str(self._calls),
            "GH_COMMENT": str(self._comment),
            "COMMENT": comment,
            "LABELS": labels,
        }
        script = str(ROOT / "scripts" / "triage_issue.sh")
        self.done = subprocess.run(
            ["bash", script],
            cwd=folder,
            env={**os.environ, **variables},
            capture_output=True,
            text=True,
            check=False,
        )

    @property
    def calls(self) -> list[str]:
        return self._calls.read_text().splitlines() if self._calls.exists() else []

    @property
    def comment(self) -> str:
        return self._comment.read_text() if self._comment.exists() else ""


def test_a_known_cause_is_answered_and_labelled(tmp_path: Path) -> None:
    run = Run(tmp_path, "import fails", BROKEN)
    assert run.done.returncode == 0, run.done.stderr
    assert run.calls[0].startswith("issue comment 7 --repo o/r --body-file ")
    assert "issue edit 7 --repo o/r --add-label environment" in run.calls
    assert "issue edit 7 --repo o/r --add-label cause: peft" in run.calls
    assert "`peft/too-old-for-transformers`" in run.comment
    assert "python -m pip install 'peft>=0.18.0'" in run.comment


def test_what_is_not_known_is_asked_for_and_not_commented(tmp_path: Path) -> None:
    run = Run(tmp_path, "help", NOTHING)
    assert run.done.returncode == 0, run.done.stderr
    assert run.comment == ""
    assert run.calls == [
        "label create needs info --repo o/r",
        "issue edit 7 --repo o/r --add-label needs info",
    ]


def test_every_issue_is_answered_where_that_is_wanted(tmp_path: Path) -> None:
    run = Run(tmp_path, "help", NOTHING, comment="always", labels="false")
    assert len(run.calls) == 1 and "No known cause was recognised" in run.comment


def test_the_text_of_an_issue_is_never_obeyed(tmp_path: Path) -> None:
    run = Run(tmp_path, HOSTILE, HOSTILE + BROKEN, comment="always")
    assert run.done.returncode == 0, run.done.stderr
    assert not (run.folder / "pwned").exists()
    assert "<script>" not in run.comment and "@everyone" not in run.comment


def test_the_action_is_composite_and_asks_for_no_secret() -> None:
    assert ACTION["runs"]["using"] == "composite"
    assert ACTION["inputs"]["token"]["default"] == "${{ github.token }}"
    text = (ROOT / "action.yml").read_text(encoding="utf-8")
    assert "secrets." not in text


def test_no_step_puts_foreign_text_into_a_command() -> None:
    for step in ACTION["runs"]["steps"]:
        assert step["shell"] == "bash"
        assert "${{" not in step["run"]  # values come by the environment alone
    assert "scripts/triage_issue.sh" in ACTION["runs"]["steps"][-1]["run"]
