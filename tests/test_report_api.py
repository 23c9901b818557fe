"""``doctor.report`` as a framework calls it: always an answer, and nothing of the caller's is changed."""

from __future__ import annotations

import gc
import json
import os
import signal
import subprocess
import sys
import threading
import warnings
from pathlib import Path

import pytest
from collectors.throwaway import Environment

from doctor import report
from doctor.cli.examination import Examination
from doctor.render.header import MARK

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the environments are laid out as on Unix")
HEAVY = {"torch", "transformers", "peft", "bitsandbytes", "numpy", "typer", "rich", "pydantic", "asyncio"}


def test_the_caller_is_the_one_that_is_examined() -> None:
    told = report.text()
    assert told.startswith("**") and told.endswith("\n")
    assert f"| Python | {sys.version.split()[0]} |" in told


def test_another_interpreter(tmp_path: Path) -> None:
    environment = Environment(tmp_path / "env")
    environment.install("peft", "0.17.1")
    told = report.text(str(environment.python))
    assert "| peft | 0.17.1 |" in told and "was left out by --quick" not in told


def test_nothing_of_the_caller_is_changed() -> None:
    handlers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)}
    before = (gc.isenabled(), sys.getswitchinterval(), dict(os.environ), sys.stdout, sys.stderr, sys.path[:])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        report.text()
    after = (gc.isenabled(), sys.getswitchinterval(), dict(os.environ), sys.stdout, sys.stderr, sys.path[:])
    assert before == after
    assert handlers == {number: signal.getsignal(number) for number in handlers}
    assert [one for one in threading.enumerate() if not one.daemon] == [threading.main_thread()]


def test_it_works_beside_the_main_thread() -> None:
    told: list[str] = []
    thread = threading.Thread(target=lambda: told.append(report.text()))
    thread.start()
    thread.join(60)
    assert told[0].startswith("**")


def test_nothing_heavy_is_imported() -> None:
    program = (
        "import json, sys; before = set(sys.modules)\n"
        "from doctor.report import text\n"
        "few = sorted(set(sys.modules) - before); text()\n"
        "print(json.dumps([few, sorted({name.split('.')[0] for name in sys.modules})]))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    few, loaded = json.loads(done.stdout)
    assert done.stderr == ""
    assert {"doctor", "doctor.report"} <= set(few) and "msgspec" not in few
    assert set(loaded) & HEAVY == set()


@pytest.mark.parametrize("python", ["/nowhere/python", os.devnull, ".", "hf_" + "a1B2c3D4" * 5])
def test_what_cannot_be_examined_is_said(python: str) -> None:
    for told in (report.text(python), "\n".join(report.header(python))):
        assert told and "Traceback" not in told and "hf_a1" not in told


def test_a_fault_of_its_own_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(self: Examination) -> None:
        raise RuntimeError(f"of our own making, hf_{'a1B2c3D4' * 5}")

    monkeypatch.setattr(Examination, "run", fails)
    wanted = "lora-doctor could not look at this environment: RuntimeError: of our own making, <secret>"
    assert report.text() == f"{wanted}\n"
    assert report.header() == [wanted]


def test_the_header_is_two_lines() -> None:
    versions, standing = report.header()
    assert versions.startswith(f"{MARK}Python {sys.version.split()[0]}") and standing.startswith(MARK)


def run(*words: str, code: int = 0, cwd: Path | None = None) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "doctor.report", *words], capture_output=True, text=True, timeout=60, cwd=cwd
    )
    assert (done.returncode, "Traceback" in done.stderr) == (code, False), done.stderr
    return done.stdout + done.stderr


def test_as_a_program(tmp_path: Path) -> None:
    environment = Environment(tmp_path / "env")
    assert run(str(environment.python)).startswith("**Broken: 1 error")
    assert [line.startswith(MARK) for line in run("--header").splitlines()] == [True, True]
    assert "usage: " in run("--what", code=2) and "usage: " in run("a", "b", code=2)
    assert run("/nowhere").startswith("lora-doctor could not look")


def test_a_file_in_the_working_folder_does_not_break_it(tmp_path: Path) -> None:
    for name in ("json", "msgspec", "random", "tempfile"):
        (tmp_path / f"{name}.py").write_text("raise RuntimeError('a local file was imported')")
    assert run(cwd=tmp_path).startswith("**")
