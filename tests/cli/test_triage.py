"""``lora-doctor triage`` as users, maintainers and programs meet it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

PAIR = """ImportError: cannot import name 'HybridCache' from 'transformers'

peft==0.17.1
transformers==5.24.0
"""
OWN_CODE = "RuntimeError: element 0 of tensors does not require grad and does not have a grad_fn\n"
NOISE = (
    "UserWarning: `use_cache=True` is incompatible with gradient checkpointing. Setting `use_cache=False`.\n"
)
UNKNOWN = "Traceback (most recent call last):\nFrobnicationError: the frobs do not add up\n"
DRIVER = (
    "UserWarning: CUDA initialization: The NVIDIA driver on your system is too old (found version 12040).\n"
)


class Folder:
    """A folder in which the command runs."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def write(self, name: str, text: str | bytes) -> str:
        (self.path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
        return name

    def triage(self, *arguments: str, code: int = 0, stdin: str | bytes = "") -> str:
        done = subprocess.run(
            [sys.executable, "-m", "doctor", "triage", *arguments],
            cwd=self.path,
            input=stdin if isinstance(stdin, bytes) else stdin.encode(),
            capture_output=True,
            timeout=60,
        )
        out, err = done.stdout.decode(), done.stderr.decode()
        assert "Traceback (most" not in err, err
        assert done.returncode == code, out + err
        return out + err

    def report(self, text: str, *arguments: str, code: int = 0) -> dict[str, Any]:
        loaded = json.loads(self.triage("--format", "json", *arguments, code=code, stdin=text))
        assert isinstance(loaded, dict)
        return loaded


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


def test_standard_input_is_read_where_no_file_is_named(folder: Folder) -> None:
    told = folder.triage(code=1, stdin=PAIR)
    assert told.startswith("The cause: peft/too-old-for-transformers\n")
    assert "python -m pip install 'peft>=0.18.0'" in told


def test_the_report_is_that_of_the_contract(folder: Folder) -> None:
    report = folder.report(PAIR, code=1)
    assert report["subject"] == {"kind": "report", "name": "standard input"}
    assert (report["verdict"], report["primary"]) == ("broken", "peft/too-old-for-transformers")
    first = report["findings"][0]
    assert (first["severity"], first["confidence"]) == ("error", "confirmed")
    assert first["evidence"][0] == {
        "subject": "error text",
        "seen": "ImportError: cannot import name 'HybridCache' from 'transformers'",
        "wanted": "",
        "where": "line 1",
    }
    assert report["questions"] == []


def test_a_fault_of_the_code_leaves_the_environment_healthy(folder: Folder) -> None:
    report = folder.report(OWN_CODE, code=1)
    assert (report["verdict"], report["primary"]) == ("healthy", "script/inputs-do-not-require-grad")


def test_noise_is_called_noise(folder: Folder) -> None:
    report = folder.report(NOISE)
    assert [finding["id"] for finding in report["findings"]] == ["report/harmless-lines"]
    assert (report["verdict"], report["primary"]) == ("healthy", None)


@pytest.mark.parametrize("text", [UNKNOWN, "", "It does not work.", NOISE + UNKNOWN])
def test_what_is_not_known_is_never_called_clean(folder: Folder, text: str) -> None:
    report = folder.report(text)
    assert (report["verdict"], report["primary"]) == ("undetermined", None)
    assert report["questions"]


def test_what_is_missing_is_asked_for_by_name(folder: Folder) -> None:
    told = folder.triage(stdin="RuntimeError: CUDA error: frobnicated\n")
    assert "python -m pip list" in told and "nvidia-smi" in told


def test_options_say_what_the_paste_does_not(folder: Folder) -> None:
    asked = folder.report(
        "RuntimeError: No CUDA GPUs are available\ntorch==2.13.0+cpu\n", "--gpu", "RTX 3060", code=1
    )
    assert (asked["primary"], asked["findings"][0]["confidence"]) == ("torch/cpu-only-build", "confirmed")


def test_a_number_in_an_error_becomes_a_fact(folder: Folder) -> None:
    report = folder.report(DRIVER + "torch==2.13.0+cu130\n", code=1)
    assert report["facts"]["driver"]["cuda_version"] == "12.4"
    assert report["primary"] == "driver/too-old-for-cuda-runtime"


def test_many_files_give_a_report_a_line_in_their_order(folder: Folder) -> None:
    names = [folder.write("a.md", PAIR), folder.write("b.md", UNKNOWN), folder.write("c.md", OWN_CODE)]
    told = folder.triage("--format", "jsonl", *names, code=1).splitlines()
    assert [json.loads(line)["subject"]["name"] for line in told] == names
    brief = folder.triage(*names, code=1)
    assert "b.md: undetermined, no cause known" in brief
    assert brief.endswith("3 pastes, of 2 a cause is known\n")


def test_a_dump_of_issues_is_read_issue_by_issue(folder: Folder) -> None:
    issues = [
        {"number": 3, "title": "peft import", "body": PAIR},
        {"number": 4, "title": OWN_CODE, "body": None},
        {"number": 5, "title": "a change", "body": PAIR, "pull_request": {"url": "x"}},
    ]
    for text in (json.dumps(issues), json.dumps({"items": issues}), "\n".join(map(json.dumps, issues))):
        name = folder.write("issues.json", text)
        told = [json.loads(line) for line in folder.triage("--format", "jsonl", name, code=1).splitlines()]
        assert [(one["subject"]["name"], one["primary"]) for one in told] == [
            ("#3", "peft/too-old-for-transformers"),
            ("#4", "script/inputs-do-not-require-grad"),
        ]


def test_a_file_that_cannot_be_read_loses_no_other(folder: Folder) -> None:
    told = folder.triage("--format", "jsonl", "absent.md", folder.write("a.md", PAIR), code=2)
    first, second, complaint = told.splitlines()
    assert json.loads(first)["verdict"] == "undetermined"
    assert json.loads(second)["primary"] == "peft/too-old-for-transformers"
    assert complaint == "lora-doctor: absent.md: it cannot be read: No such file or directory"


def test_the_labels_are_one_a_line(folder: Folder) -> None:
    assert folder.triage("--labels", code=1, stdin=PAIR) == "environment\ncause: peft\n"
    assert folder.triage("--labels", code=1, stdin=OWN_CODE) == "not environment\ncause: script\n"
    assert folder.triage("--labels", stdin=UNKNOWN) == "needs info\n"


def test_the_reply_is_a_comment(folder: Folder) -> None:
    told = folder.triage("--reply", code=1, stdin=PAIR)
    assert told.startswith("**The cause: peft 0.17.1 imports HybridCache")
    assert "```sh\npython -m pip install 'peft>=0.18.0'\n```" in told
    asked = folder.triage("--reply", stdin=UNKNOWN)
    assert asked.startswith("No known cause was recognised") and "Please add:" in asked


def test_a_reply_or_labels(folder: Folder) -> None:
    assert "exclude one another" in folder.triage("--reply", "--labels", code=2)


@pytest.mark.parametrize("form", ["markdown", "html"])
def test_other_forms(folder: Folder, form: str) -> None:
    told = folder.triage("--format", form, code=1, stdin=PAIR)
    assert "peft/too-old-for-transformers" in told
    assert told.startswith("<!doctype html>" if form == "html" else "## `standard input`")


def test_an_ignored_finding_is_left_out(folder: Folder) -> None:
    report = folder.report(PAIR, "--ignore", "peft/")
    assert all(not finding["id"].startswith("peft/") for finding in report["findings"])


@pytest.mark.parametrize("data", [b"\xff\xfe\x00\x01garbage\x00", b"\x00" * 5000, PAIR.encode("utf-16")])
def test_bytes_of_any_kind_are_read(folder: Folder, data: bytes) -> None:
    code = 1 if b"peft" in data.replace(b"\0", b"") else 0
    folder.triage(code=code, stdin=data)


def test_a_log_is_told_by_its_own_lines(folder: Folder) -> None:
    steps = "".join(f"{{'loss': {step / 7:.4f}, 'epoch': {step / 1000}}}\n" for step in range(40_000))
    name = folder.write("train.log", steps + PAIR + steps)
    told = json.loads(folder.triage("--format", "json", name, code=1))
    assert told["findings"][0]["evidence"][0]["where"] == "line 40001"


@pytest.mark.skipif(sys.platform == "win32", reason="a shell of POSIX closes it")
@pytest.mark.parametrize("command", ["triage", "explain -"])
def test_a_closed_standard_input_is_told(folder: Folder, command: str) -> None:
    line = f'"{sys.executable}" -m doctor {command} <&-'
    done = subprocess.run(["sh", "-c", line], cwd=folder.path, capture_output=True, text=True, timeout=60)
    assert (done.returncode, "it is closed" in done.stderr) == (2, True), done.stderr


def test_names_and_secrets_of_a_paste_are_told_nowhere(folder: Folder) -> None:
    token = "hf_" + "Ab3dE6gH9jK2mN5pQ8sT1vW4yZ7"
    paste = (
        f"alicesmith@gpu-node-17:~/x$ HF_TOKEN={token} python t.py\n{PAIR}OSError: {token} of alicesmith\n"
    )
    for how in (["--reply"], *(["--format", form] for form in ("terminal", "json", "markdown", "html"))):
        told = folder.triage(*how, code=1, stdin=paste)
        assert [one for one in (token, "alicesmith", "gpu-node-17") if one in told] == [], how
