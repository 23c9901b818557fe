"""``lora-doctor lint`` as users and programs meet it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

LINUX = ("--python-version", "3.11", "--os", "linux", "--arch", "x86_64")
BROKEN, GOOD = "transformers==5.24.0\npeft==0.17.1\n", "transformers==5.24.0\npeft==0.21.2\n"


class Folder:
    """A folder in which the command runs."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def write(self, name: str, text: str | bytes) -> str:
        data = text if isinstance(text, bytes) else text.encode()
        (self.path / name).write_bytes(data)
        return name

    def lint(self, *arguments: str, code: int = 0, stdin: str = "") -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [sys.executable, "-m", "doctor", "lint", *LINUX, *arguments],
            cwd=self.path,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert "Traceback" not in done.stdout + done.stderr
        assert done.returncode == code, done.stdout + done.stderr
        return done

    def reports(self, *arguments: str, code: int = 0) -> list[dict[str, Any]]:
        told = self.lint("--format", "jsonl", *arguments, code=code).stdout
        return [json.loads(line) for line in told.splitlines()]


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


def test_a_file_for_people(folder: Folder) -> None:
    told = folder.lint(folder.write("requirements.txt", BROKEN), code=1).stdout
    assert told.startswith("requirements.txt\n")
    assert "imports HybridCache" in told
    assert "change peft==0.17.1 to peft>=0.18.0 in line 2" in " ".join(told.split())
    assert "(line 2)" in told
    assert told.rstrip().splitlines()[-1].startswith("Broken: 1 error")


def test_many_files_one_report_a_line_in_their_order(folder: Folder) -> None:
    names = [
        folder.write("a.txt", GOOD),
        folder.write("b.txt", bytes(range(256)) * 9),
        folder.write("c.txt", BROKEN),
    ]
    reports = folder.reports(*names, code=2)
    assert [one["subject"] for one in reports] == [{"kind": "requirements", "name": name} for name in names]
    assert [one["verdict"] for one in reports] == ["healthy", "undetermined", "broken"]
    assert "binary" in next(gap["reason"] for gap in reports[1]["gaps"] if gap["kind"] == "failed")


def test_exit_codes(folder: Folder) -> None:
    folder.write("good.txt", GOOD)
    folder.write("wide.txt", "transformers==5.24.0\npeft>=0.7\n")
    folder.lint("good.txt")
    folder.lint("wide.txt")
    folder.lint("--strict", "wide.txt", code=1)
    folder.lint("--strict", "--ignore", "python/range", "--ignore", "peft/", "good.txt")
    folder.lint("gone.txt", code=2)
    folder.lint("--gpu", "no such thing", "good.txt", code=2)
    folder.lint("--python-version", "three", "good.txt", code=2)
    folder.lint("--format", "json", "good.txt", "wide.txt", code=2)


def test_an_unreadable_file_is_named_where_the_report_is_for_programs(folder: Folder) -> None:
    done = folder.lint("--format", "github", "gone.txt", code=2)
    assert "lora-doctor: gone.txt: it cannot be read: No such file or directory" in done.stderr
    assert done.stdout.startswith("::error file=gone.txt,title=cannot be read::")


def test_standard_input(folder: Folder) -> None:
    told = folder.lint("--format", "json", "-", code=1, stdin=BROKEN).stdout
    assert json.loads(told)["subject"]["name"] == "standard input"


def test_a_folder(folder: Folder) -> None:
    folder.write("requirements.txt", GOOD)
    folder.write("README.md", "pip install peft==0.1")
    assert [one["subject"]["name"] for one in folder.reports(".")] == ["./requirements.txt"]
    (folder.path / "empty").mkdir()
    assert "nothing to read in empty" in folder.lint("empty", code=2).stderr


def test_annotations_for_github(folder: Folder) -> None:
    told = folder.lint("--format", "github", folder.write("requirements.txt", BROKEN), code=1).stdout
    [error] = [line for line in told.splitlines() if line.startswith("::error")]
    assert error.startswith("::error file=requirements.txt,line=2,title=peft/too-old-for-transformers::")
    assert "%0A" in error


def test_sarif(folder: Folder) -> None:
    folder.write("requirements.txt", BROKEN)
    folder.write("b.txt", "[[")
    folder.lint("--format", "sarif", "-o", "out.sarif", "requirements.txt", "uv.lock", code=2)
    [run] = json.loads((folder.path / "out.sarif").read_text())["runs"]
    [result] = [one for one in run["results"] if one["level"] == "error"]
    assert result["ruleId"] == "peft/too-old-for-transformers"
    where = result["locations"][0]["physicalLocation"]
    assert where == {"artifactLocation": {"uri": "requirements.txt"}, "region": {"startLine": 2}}
    assert run["invocations"][0]["executionSuccessful"] is False
    assert {rule["id"] for rule in run["tool"]["driver"]["rules"]} >= {"peft/too-old-for-transformers"}


def test_markdown(folder: Folder) -> None:
    told = folder.lint("--format", "markdown", folder.write("requirements.txt", BROKEN), code=1).stdout
    assert told.startswith("## `requirements.txt`\n\n**Broken: 1 error")
    assert "`requirements.txt:2`" in told


def test_nothing_is_named_that_names_a_person(folder: Folder) -> None:
    text = "--extra-index-url https://someone:secretword@x.org/simple\npeft==0.21.2\n"
    told = folder.lint("--format", "json", folder.write("requirements.txt", text)).stdout
    assert "secretword" not in told


@pytest.mark.parametrize("form", ["terminal", "json", "jsonl", "markdown", "github", "sarif"])
def test_what_cannot_be_read_tells_no_secret_and_steers_no_terminal(folder: Folder, form: str) -> None:
    name = folder.write("\x1b[31mx.txt", "no requirement https://user:hunter33@example.com/\n")
    done = folder.lint(name, "--format", form, code=2)
    assert "hunter33" not in done.stdout + done.stderr
    assert "\x1b" not in done.stdout + done.stderr
    assert "is no requirement" in done.stdout + done.stderr


def test_an_interpreter_that_does_not_answer(folder: Folder) -> None:
    folder.write("train.py", "import peft\n")
    folder.write("python", "#!/bin/sh\nexit 3\n")
    (folder.path / "python").chmod(0o755)
    assert "ended with exit code 3" in folder.lint("train.py", "--python", "./python", code=3).stderr
    assert "names no interpreter" in folder.lint("train.py", "--python", "./gone", code=3).stderr
