"""``fleet compare`` as people and schedulers call it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from collectors.throwaway import Environment
from fleet_reports import alike, enveloped, finding, report, with_driver

from doctor.cli.fleet_compare import compare_lines
from doctor.findings import Report
from doctor.host import LocalHost
from doctor.render.json_report import render

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the environments are laid out as on Unix")


def doctor(*arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "doctor", *arguments]
    done = subprocess.run(command, input=stdin, capture_output=True, text=True, timeout=60)
    assert "Traceback" not in done.stdout + done.stderr
    return done


def written(folder: Path, nodes: dict[str, Report]) -> str:
    folder.mkdir(exist_ok=True)
    for name, told in nodes.items():
        (folder / f"{name}.json").write_text(render(told), encoding="utf-8")
    return str(folder)


@pytest.mark.parametrize(
    ("others", "options", "code"),
    [
        ({}, (), 0),
        ({"x": with_driver("580.95.06")}, (), 0),
        ({"x": with_driver("580.95.06")}, ("--strict",), 1),
        ({"x": with_driver("535.104.05")}, (), 1),
        ({"x": with_driver("535.104.05")}, ("--ignore", "driver"), 0),
        ({"x": report(finding("torch/cpu-only-build"))}, (), 1),
        ({}, ("--expect", "4"), 1),
        ({}, ("--nodes", "node[001-003]"), 0),
        ({}, ("--nodes", "node[001-004]"), 1),
        ({}, ("--nodes", "node[001-"), 2),
        ({}, ("--expect", "0"), 2),
        ({}, ("--expect", "3", "--nodes", "node[001-003]"), 2),
    ],
)
def test_exit_codes(tmp_path: Path, others: dict[str, Report], options: tuple[str, ...], code: int) -> None:
    folder = written(tmp_path / "reports", {**alike(3), **others})
    assert doctor("fleet", "compare", folder, *options).returncode == code


@pytest.mark.parametrize("given", [("absent.json",), ("-",), ()])
def test_nothing_to_read(given: tuple[str, ...], tmp_path: Path) -> None:
    done = doctor("fleet", "compare", *given)
    assert done.returncode == 2 and "No node could be compared" in done.stdout


@pytest.mark.parametrize("form", ["terminal", "json", "jsonl", "markdown", "html"])
def test_every_format_names_the_odd_node(tmp_path: Path, form: str) -> None:
    stream = "".join(enveloped(name, told).decode() + "\n" for name, told in alike(3).items())
    odd = enveloped("node099", with_driver("535.104.05")).decode()
    output = tmp_path / "told"
    done = doctor("fleet", "compare", "-", "--format", form, "--output", str(output), stdin=stream + odd)
    text = output.read_text(encoding="utf-8")
    assert done.returncode == 1 and "node099" in text and "535.104.05" in text
    if form.startswith("json"):
        assert json.loads(text)["odd"][0]["node"] == "node099"


def test_real_checks_of_several_environments(tmp_path: Path) -> None:
    for number in range(4):
        environment = Environment(tmp_path / f"env{number}")
        environment.install("peft", "0.17.1" if number == 2 else "0.18.0")
        told = doctor(
            *("check", "--quick", "--python", str(environment.python), "--format", "json"),
            *("--output", str(tmp_path / f"node{number}.json")),
        )
        assert told.returncode in (0, 1)
    done = doctor(
        "fleet", "compare", *(str(tmp_path / f"node{number}.json") for number in range(4)), "--format", "json"
    )
    told_of = json.loads(done.stdout)
    assert [one["node"] for one in told_of["odd"]] == ["node2"]
    about = [reason["about"] for reason in told_of["odd"][0]["reasons"]]
    assert "package.peft" in about and told_of["compared"] == 4
    assert {one["about"] for one in told_of["differences"]} <= {"package.peft", "python.executable"}


def test_lines_of_a_launcher(capsys: pytest.CaptureFixture[str]) -> None:
    lines = [enveloped(name, told) for name, told in alike(3).items()]
    missing = [*alike(3), "node004"]
    code = compare_lines(LocalHost(), (line.decode() for line in lines), missing, format="json")
    told = json.loads(capsys.readouterr().out)
    assert code == 1 and [one["node"] for one in told["troubles"]] == ["node004"]


def test_a_collective_test_that_nobody_could_have_written_is_a_row(
    capsys: pytest.CaptureFixture[str],
) -> None:
    line = enveloped("a", None, collective={"outcome": "lies"})
    assert compare_lines(LocalHost(), [line], format="json") == 1
    assert "collective test of a rank" in capsys.readouterr().out
