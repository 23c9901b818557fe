"""The published JSON Schemas are those of the types, and all that the doctor writes keeps to them."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import write_schemas
from jsonschema import Draft202012Validator
from machine_record import SUBJECT, read_machine
from render.test_fit import ANSWERS
from render.test_watch import LEAKING, findings

from doctor.cli.app import COMMANDS
from doctor.diagnosis import diagnose
from doctor.memory.bisection import Found, Trial
from doctor.render import bisected, fit_json, json_report, watch_json
from doctor.treatment.outcome import Outcome, Treatment
from doctor.treatment.plan import Plan, Refusal, Step, Uncured

TESTS = Path(__file__).parents[1]
MACHINES = sorted((TESTS / "machines").glob("*.json"))
GOLDEN = sorted((TESTS / "render" / "golden").glob("*.json"))
STEP = Step(title="Install it", kind="install", scope="environment", cures=("a/b",), replaces={"peft": ""})
PLAN = Plan(
    tool_version="0",
    target="python",
    language="pip",
    steps=(STEP,),
    uncured=(Uncured("a/b", "a", "b"),),
    refusal=Refusal("why", (("python", "-m", "venv", ".venv"),)),
)


def closed(node: Any) -> Any:
    """The schema without room for fields that it does not name: here a new one must be published."""
    if isinstance(node, list):
        return [closed(one) for one in node]
    if not isinstance(node, dict):
        return node
    tight = {key: closed(value) for key, value in node.items()}
    return {**tight, "additionalProperties": False} if isinstance(node.get("properties"), dict) else tight


def published(name: str) -> dict[str, Any]:
    schema: dict[str, Any] = json.loads((write_schemas.FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    return schema


def faults(name: str, text: str | bytes) -> list[str]:
    """What is not as published, with its place."""
    validator = Draft202012Validator(closed(published(name)))
    return [f"{error.json_path}: {error.message[:200]}" for error in validator.iter_errors(json.loads(text))]


def test_the_files_are_as_they_would_be_written() -> None:
    assert list(write_schemas.differences(write_schemas.wanted())) == []


def test_a_file_that_is_not_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(write_schemas, "FOLDER", tmp_path / "schema")
    assert write_schemas.main(["--check"]) == 1
    assert "docs/schema/report.json" in capsys.readouterr().err
    assert write_schemas.main([]) == 0 and write_schemas.main(["--check"]) == 0
    (tmp_path / "schema" / "stale.json").write_text("{}")
    assert write_schemas.main(["--check"]) == 1
    assert write_schemas.main([]) == 0 and not (tmp_path / "schema" / "stale.json").exists()


@pytest.mark.parametrize("name", write_schemas.DOCUMENTS)
def test_each_is_a_schema_that_refuses_what_is_no_such_document(name: str) -> None:
    schema = published(name)
    Draft202012Validator.check_schema(schema)
    assert list(Draft202012Validator(schema).iter_errors({"schema": 2}))


def test_a_reader_is_told_to_allow_for_more() -> None:
    document = json.loads(GOLDEN[0].read_text(encoding="utf-8"))
    document["added_later"] = 1
    assert list(Draft202012Validator(published("report")).iter_errors(document)) == []
    assert faults("report", json.dumps(document))


@pytest.mark.parametrize("file", GOLDEN, ids=lambda file: file.stem)
def test_reports(file: Path) -> None:
    assert faults("report", file.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("file", MACHINES, ids=lambda file: file.stem)
def test_reports_of_recorded_machines(file: Path) -> None:
    assert faults("report", json_report.render(diagnose(read_machine(file).facts, SUBJECT))) == []


@pytest.mark.parametrize("name", ANSWERS)
def test_estimates(name: str) -> None:
    assert faults("fit", fit_json.render(ANSWERS[name]())) == []


def test_a_search_by_trials() -> None:
    found = Found(length=64, trials=(Trial(batch_size=1, sequence_length=64, outcome="ok"),))
    assert faults("bisect", bisected.json(found)) == []


def test_a_watched_run() -> None:
    assert faults("watch", watch_json.render(LEAKING, findings(LEAKING))) == []


def test_a_treatment() -> None:
    outcome = Outcome(state="cured", cured=("a/b",), past="20261130T132518Z", after=("peft==0.18.0",))
    assert faults("fix", json_report.encode(PLAN)) == []
    assert faults("treatment", json_report.encode(Treatment(plan=PLAN, outcome=outcome))) == []


REQUIREMENTS = "peft==0.17.1\ntransformers==5.24.0\ntorch==2.13.0\n"
RED = (
    "ImportError: cannot import name 'HybridCache' from 'transformers'\n\npeft==0.17.1\ntransformers==5.0.0\n"
)
SCRIPT = "from transformers import TrainingArguments\nTrainingArguments('out', evaluation_strategy='no')\n"
# What is called, and which schema holds what it writes; {folder} has the files.
CALLS: tuple[tuple[str, str], ...] = (
    ("report", "check --quick --format json --python {python}"),
    ("report", "check --quick --format json --python /bin/true"),
    ("report", "check --static --format json --python {python}"),
    ("report", "report --quick --format json --python {python}"),
    ("report", "lint --format json {folder}/requirements.txt"),
    ("report", "lint --format json {folder}/train.py --against {folder}/requirements.txt"),
    ("report", "lint --format jsonl {folder}/requirements.txt {folder}/train.py"),
    ("report", "triage --format json {folder}/error.txt"),
    ("resolve", "resolve --format json --gpu T4 --driver 535.104.05 peft==0.17.1"),
    ("resolve", "resolve --format json --python-version 3.13 --os linux torch==1.13.0"),
    ("resolve", "resolve --format jsonl --os linux"),
    ("fit", "fit llama-3.1-8b --estimator formula --levers formula --gpu T4 --format json"),
    ("fit", "fit llama-3.1-8b --estimator formula --levers none --method full --gpu T4 --format jsonl"),
    ("explain", "explain torch/cpu-only-build --format json"),
    ("explain", "explain --list --format json"),
    ("explain", "explain torch/cpu-only-build --lang zh --format json"),
    ("fix", "fix --quick --format json --python {python}"),
    ("install", "install --dry-run --format json {folder}/new"),
    ("fleet", "fleet compare --format json {golden}/broken_pair.json {golden}/healthy_cpu.json"),
    ("watch", "watch --interval 100ms --output {folder}/run.json -- {python} -c pass"),
)


def test_every_command_is_called() -> None:
    assert set(COMMANDS) - {words.split()[0] for _, words in CALLS} <= {"completion"}


@pytest.fixture(scope="module")
def say(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], str]:
    """Runs one command for real and gives what it writes."""
    folder = tmp_path_factory.mktemp("asked")
    for name, text in (("requirements.txt", REQUIREMENTS), ("error.txt", RED), ("train.py", SCRIPT)):
        (folder / name).write_text(text, encoding="utf-8")

    def run(words: str) -> str:
        command = words.format(
            folder=folder, python=sys.executable, golden=TESTS / "render" / "golden"
        ).split()
        done = subprocess.run(
            [sys.executable, "-m", "doctor", *command],
            capture_output=True,
            text=True,
            cwd=folder,
            timeout=120,
        )
        assert done.returncode in (0, 1, 3), done.stderr
        written = folder / "run.json"
        return written.read_text(encoding="utf-8") if "run.json" in words else done.stdout

    return run


def documents(text: str) -> Iterator[str]:
    """One document, or one a line."""
    lines = text.splitlines()
    yield from lines if len(lines) > 1 and lines[0].endswith("}") else [text]


@pytest.mark.parametrize(("name", "words"), CALLS, ids=lambda value: value.replace("{folder}/", ""))
def test_what_the_commands_really_write(name: str, words: str, say: Callable[[str], str]) -> None:
    assert [fault for one in documents(say(words)) for fault in faults(name, one)] == []
