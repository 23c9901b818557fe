"""``lora-doctor report`` as users, maintainers and programs meet it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from collectors.throwaway import Environment

from doctor.cli.report import FORM
from doctor.render.issue_url import WHOLE_REPORT

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the environments are laid out as on Unix")
OF_THE_SHELL = ("VIRTUAL_ENV", "CONDA_PREFIX", "CONDA_DEFAULT_ENV", "LD_LIBRARY_PATH", "CUDA_VISIBLE_DEVICES")


class Folder:
    """A folder in which the command runs, beside an environment that holds what a test puts there."""

    def __init__(self, path: Path, environment: Environment) -> None:
        self.path, self.target = path, environment

    def run(self, *words: str, code: int = 0, stdin: bytes = b"", **env: str) -> tuple[str, str]:
        """(standard output, standard error)"""
        kept = {name: text for name, text in os.environ.items() if name not in OF_THE_SHELL}
        done = subprocess.run(
            [sys.executable, "-m", "doctor", *words],
            cwd=self.path,
            env={**kept, "HOME": str(self.path), **env},
            input=stdin,
            capture_output=True,
            timeout=60,
        )
        out, err = done.stdout.decode(), done.stderr.decode()
        assert "Traceback" not in out + err, err
        assert done.returncode == code, out + err
        return out, err

    def report(self, *words: str, code: int = 0, **env: str) -> tuple[str, str]:
        return self.run("report", "--quick", "--python", str(self.target.python), *words, code=code, **env)

    def saved(self, **env: str) -> str:
        """The name of a file that holds the report of a check."""
        words = ("check", "--quick", "--python", str(self.target.python))
        self.run(*words, "--format", "json", "--output", "saved.json", code=1, **env)
        return "saved.json"


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Folder]:
    (tmp_path / "here").mkdir()
    yield Folder(tmp_path / "here", Environment(tmp_path / "env"))


def test_what_is_published_is_a_list_of_fields(folder: Folder) -> None:
    (folder.target.site / "sitecustomize.py").write_text("print('the merger of acme', flush=True)")
    out, _ = folder.report(SLURM_JOB_ID="4711001", HF_HUB_OFFLINE="1")
    assert "python/prints-at-startup" in out and "acme" not in out and "(withheld)" in out
    assert "4711001" not in out and "HF_HUB_OFFLINE" in out
    told, _ = folder.report("--format", "json")
    assert "acme" not in told and json.loads(told)["facts"]["interpreter"]["noise"] == ""


def test_an_environment_of_conda_has_a_number(folder: Folder) -> None:
    out, _ = folder.report(CONDA_DEFAULT_ENV="acme-merger")
    assert "acme" not in out and "`<env-1>`" in out


def test_the_report_of_another_machine(folder: Folder) -> None:
    name = folder.saved(HF_HUB_OFFLINE="1")
    out, err = folder.run("report", "--from", name)
    assert out.startswith("**Broken: ") and err == ""
    assert "python/stack-missing" in out and "HF_HUB_OFFLINE" in out
    data = (folder.path / name).read_bytes()
    assert folder.run("report", "--from", "-", stdin=data)[0] == out
    assert folder.run("report", "--from", name, "--output", "report.md")[0] == ""
    assert (folder.path / "report.md").read_text(encoding="utf-8") == out


def test_the_report_of_a_file_and_of_a_paste(folder: Folder) -> None:
    (folder.path / "requirements.txt").write_text("transformers==5.24.0\npeft==0.17.1\n")
    words = ("--python-version", "3.11", "--os", "linux", "--arch", "x86_64", "--format", "json")
    folder.run("lint", "requirements.txt", *words, "--output", "lint.json", code=1)
    out, _ = folder.run("report", "--from", "lint.json")
    assert "peft/too-old-for-transformers" in out and "`requirements.txt:2`" in out
    said = b"ImportError: cannot import name 'HybridCache' from 'transformers'\npeft==0.17.1\n"
    folder.run("triage", "-", "--format", "json", "--output", "paste.json", stdin=said, code=1)
    out, _ = folder.run("report", "--from", "paste.json")
    assert "peft/too-old-for-transformers" in out and "(withheld)" not in out


def test_a_saved_report_is_masked_once_more(folder: Folder) -> None:
    name = folder.saved()
    text = (folder.path / name).read_text(encoding="utf-8")
    secret = "hf_" + "a1B2c3D4" * 5
    (folder.path / name).write_text(
        text.replace("no CUDA", secret).replace('"kernel": "', f'"kernel": "{secret} ')
    )
    out, _ = folder.run("report", "--from", name)
    assert secret not in out and "<secret>" in out


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (None, "saved.json cannot be read: No such file or directory"),
        (b"{", "saved.json: not a report of lora-doctor: "),
        (b"[]", "saved.json: not a report of lora-doctor: "),
        (b'{"schema": 7}', "saved.json: this report has schema 7"),
        (b"\xff\xfe", "saved.json is no text in UTF-8"),
        (b"[" * 100_000, "saved.json: "),
    ],
)
def test_a_file_that_holds_no_report(folder: Folder, data: bytes | None, said: str) -> None:
    if data is not None:
        (folder.path / "saved.json").write_bytes(data)
    out, err = folder.run("report", "--from", "saved.json", code=2)
    assert out == "" and err.startswith(f"lora-doctor: {said}")
    assert "lora-doctor check --format json --output FILE" in err


def test_the_address_of_an_issue_stands_alone(folder: Folder) -> None:
    out, err = folder.report("--open-issue", "huggingface/peft")
    [url] = out.splitlines()
    query = parse_qs(urlsplit(url).query)
    assert url.startswith("https://github.com/huggingface/peft/issues/new?title=")
    assert query["body"][0].endswith(f"{WHOLE_REPORT}\n") and "python/stack-missing" in query["body"][0]
    assert "lora-doctor report --output report.md" in err


def test_the_address_and_the_whole_report(folder: Folder) -> None:
    name = folder.saved()
    words = ("report", "--from", name, "--open-issue", "a/b", "--template", "bug_report.yml")
    out, err = folder.run(*words, "--output", "report.md")
    assert out.startswith("https://github.com/a/b/issues/new?template=bug_report.yml&title=") and err == ""
    assert "&report=" in out
    assert (folder.path / "report.md").read_text(encoding="utf-8").startswith("**Broken: ")


def test_a_report_that_has_little_room_says_what_it_left_out(folder: Folder) -> None:
    for number in range(300):
        folder.target.install(f"package-{number:03d}-of-a-long-name")
    whole, _ = folder.report()
    short, _ = folder.report("--max-bytes", "9000")
    assert "package-299" in whole and "Left out" not in whole
    assert len(short.encode()) <= 9000 and "package-299" not in short
    assert "Left out, since there is no room for it: " in short and "the installed packages" in short


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--open-issue", "peft"), "'peft' names no repository"),
        (("--open-issue", "https://github.com/a/b"), "names no repository"),
        (("--open-issue", ""), "names no repository"),
        (("--open-issue", "a/b", "--template", "../x"), "'../x' names no template"),
        (("--template", "bug_report.yml"), "--template is of an issue, and none is asked for"),
        (("--max-bytes", "100"), "--max-bytes 100 holds no report"),
        (("--max-bytes", "x"), "not a whole number"),
        (("--max-bytes", "9000", "--format", "json"), "--max-bytes is of Markdown"),
        (("--from", "x", "--python", "y"), "--from and --python exclude one another"),
        (("--from", "saved.json", "--output", "/no/such/folder/x"), "cannot be written"),
    ],
)
def test_what_cannot_be_asked(folder: Folder, words: tuple[str, ...], said: str) -> None:
    out, err = folder.run("report", *words, code=2)
    assert out == "" and said in err


def test_no_target_ends_with_3(folder: Folder) -> None:
    assert "names no interpreter" in folder.run("report", "--python", "/nowhere", code=3)[1]


def test_the_form_is_written_where_github_looks_and_never_twice(folder: Folder) -> None:
    assert FORM in folder.run("report", "--issue-form")[0]
    assert "lora-doctor report" in (folder.path / FORM).read_text(encoding="utf-8")
    assert "is there already" in folder.run("report", "--issue-form", code=2)[1]
