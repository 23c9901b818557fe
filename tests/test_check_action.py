"""The GitHub Action that checks a repository: what it runs, what it tells GitHub, and how it ends."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / ".github" / "actions" / "check"
ACTION: dict[str, Any] = yaml.safe_load((FOLDER / "action.yml").read_text(encoding="utf-8"))
BROKEN = "peft==0.17.1\ntransformers==5.24.0\n"
SOUND = "peft==0.18.0\ntransformers==5.0.0\n"

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the action runs in bash")


class Run:
    """The second step in a repository that holds these files."""

    def __init__(self, folder: Path, there: dict[str, str], **inputs: str) -> None:
        tools, repository = folder / "bin", folder / "repository"
        tools.mkdir()
        repository.mkdir()
        (tools / "lora-doctor").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m doctor "$@"\n')
        (tools / "lora-doctor").chmod(0o755)
        for name, text in there.items():
            (repository / name).write_text(text, encoding="utf-8")
        self.repository, self._summary = repository, folder / "summary.md"
        step = ACTION["runs"]["steps"][-1]
        given = {name: one["default"] for name, one in ACTION["inputs"].items()} | inputs
        variables = {
            name: given[value.removeprefix("${{ inputs.").removesuffix(" }}")]
            for name, value in step["env"].items()
        }
        # As a runner does it: the step's own line, with the variables of the runner.
        self.done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
            cwd=repository,
            env={
                **os.environ,
                **variables,
                "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}",
                "RUNNER_TEMP": str(folder),
                "GITHUB_ACTION_PATH": str(FOLDER),
                "GITHUB_STEP_SUMMARY": str(self._summary),
            },
            capture_output=True,
            text=True,
            check=False,
        )

    @property
    def summary(self) -> str:
        return self._summary.read_text(encoding="utf-8")


def test_a_fault_in_a_file_is_annotated_and_fails_the_job(tmp_path: Path) -> None:
    run = Run(tmp_path, {"requirements.txt": BROKEN})
    assert run.done.returncode == 1, run.done.stderr
    annotation = "::error file=requirements.txt,line=1,title=peft/too-old-for-transformers::"
    assert annotation in run.done.stdout.replace("file=./", "file=")
    assert "Broken: 1 error" in run.summary


def test_a_sound_file_passes(tmp_path: Path) -> None:
    run = Run(tmp_path, {"requirements.txt": SOUND})
    assert run.done.returncode == 0, run.done.stdout + run.done.stderr
    assert "::error" not in run.done.stdout


def test_strict_fails_for_warnings(tmp_path: Path) -> None:
    run = Run(tmp_path, {"requirements.txt": "torch>=2.0\n"}, strict="true")
    lenient = tmp_path / "lenient"
    lenient.mkdir()
    assert Run(lenient, {"requirements.txt": "torch>=2.0\n"}).done.returncode <= run.done.returncode


def test_an_environment_is_checked_too_and_the_graver_code_counts(tmp_path: Path) -> None:
    venv.create(tmp_path / "empty")
    run = Run(tmp_path, {"requirements.txt": SOUND}, environment=str(tmp_path / "empty"), quick="true")
    assert run.done.returncode == 1, run.done.stderr
    assert "python/stack-missing" in run.summary and "python/stack-missing" in run.done.stdout


def test_an_environment_that_is_not_there_is_said(tmp_path: Path) -> None:
    run = Run(tmp_path, {"requirements.txt": SOUND}, environment="absent")
    assert run.done.returncode == 3
    assert "--python absent names no interpreter" in run.done.stderr


def test_several_files_and_odd_names(tmp_path: Path) -> None:
    names = {"a b.txt": BROKEN, "$(touch pwned).txt": BROKEN, "--strict.txt": BROKEN}
    run = Run(tmp_path, names, files="\n".join(names) + "\n")
    assert run.done.returncode == 1, run.done.stderr
    assert run.done.stdout.count("::error") == 3
    assert not (run.repository / "pwned").exists()


def test_no_step_puts_foreign_text_into_a_command() -> None:
    for step in ACTION["runs"]["steps"]:
        assert step["shell"] == "bash"
        assert "${{" not in step["run"]  # values come by the environment alone
    assert "secrets." not in (FOLDER / "action.yml").read_text(encoding="utf-8")


def test_the_install_step_names_this_project(tmp_path: Path) -> None:
    assert (FOLDER / ".." / ".." / ".." / "pyproject.toml").resolve() == ROOT / "pyproject.toml"
    assert "$GITHUB_ACTION_PATH/../../.." in ACTION["runs"]["steps"][0]["run"]
