"""``lora-doctor fix`` as people and programs meet it: a real environment of tiny wheels, real processes."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import shutil
import subprocess
import sys
import sysconfig
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest
from installing.wheels import wheel

from doctor.treatment.outcome import Treatment
from doctor.treatment.plan import Plan

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the environments are laid out as on Unix")
STACK = {
    "torch": "2.13.0+cpu",
    "transformers": "5.20.2",
    "accelerate": "1.15.0",
    "peft": "0.17.1",
    "trl": "1.16.0",
    "datasets": "5.2.0",
    "bitsandbytes": "0.50.2",
    "numpy": "2.2.6",
    "huggingface-hub": "2.4.0",
    "tokenizers": "0.23.3",
    "setuptools": "84.2.1",
}
ILL = "peft/too-old-for-transformers"
# A tiny bitsandbytes has no library, which is no matter here.
LOOK = ("--quick", "--ignore", "bitsandbytes")
PATIENCE_S = 120


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheels")
    for name, version in {**STACK}.items():
        wheel(folder, name, version)
    wheel(folder, "peft", "0.18.0")
    return folder


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory, wheels: Path) -> Path:
    """An environment as ``python -m venv`` and pip make it."""
    folder = tmp_path_factory.mktemp("template") / "venv"
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    pins = [f"{name}=={version}" for name, version in STACK.items()]
    pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "-q", "--no-deps"]
    subprocess.run([*pip, *pins], check=True, env={**os.environ, **only(wheels)}, capture_output=True)
    return folder


def only(wheels: Path) -> dict[str, str]:
    """Variables under which pip knows these wheels alone."""
    return {"PIP_CONFIG_FILE": os.devnull, "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(wheels)}


class Desk:
    """An environment of a test's own, and a state folder."""

    def __init__(self, folder: Path, template: Path, wheels: Path) -> None:
        self.folder, self.venv = folder, folder / "venv"
        shutil.copytree(template, self.venv, symlinks=True)
        hidden = ("PIP_", "UV_", "VIRTUAL_ENV", "CONDA", "COLUMNS", "CI", "NO_COLOR", "TORCH_INDEX")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(hidden)}
        self.env = {**kept, **only(wheels), "XDG_STATE_HOME": str(folder / "state"), "PATH": "/usr/bin:/bin"}

    @property
    def argv(self) -> list[str]:
        return [sys.executable, "-m", "doctor", "fix", "--python", str(self.venv / "bin" / "python")]

    @property
    def site(self) -> Path:
        return next((self.venv / "lib").glob("python*/site-packages"))

    @property
    def registered(self) -> list[str]:
        return sorted(path.name for path in self.site.glob("peft-*"))

    def fix(self, *arguments: str, code: int, **how: Any) -> subprocess.CompletedProcess[str]:
        how.setdefault("stdin", subprocess.DEVNULL)
        return run([*self.argv, *arguments], code, {**self.env, **how.pop("env", {})}, self.folder, **how)


def run(
    argv: list[str], code: int, env: Mapping[str, str], folder: Path, **how: Any
) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        argv, env=env, cwd=folder, capture_output=True, text=True, timeout=PATIENCE_S, **how
    )
    assert "Traceback" not in done.stderr + done.stdout
    assert done.returncode == code, done.stdout + done.stderr
    return done


@pytest.fixture
def desk(tmp_path: Path, template: Path, wheels: Path) -> Desk:
    return Desk(tmp_path, template, wheels)


def test_the_plan_is_told_with_the_one_command_to_run_next(desk: Desk) -> None:
    told = desk.fix(*LOOK, code=1).stdout
    assert "1. Install peft 0.18.0 in place of 0.17.1" in told and ILL in told
    assert told.rstrip().splitlines()[-1] == f"  lora-doctor fix --python {desk.venv}/bin/python --apply"
    assert desk.registered == ["peft-0.17.1.dist-info"]


def test_a_narrow_terminal_without_colour(desk: Desk) -> None:
    told = desk.fix(*LOOK, code=1, env={"COLUMNS": "40", "NO_COLOR": "1"}).stdout
    assert "\x1b" not in told
    whole = re.compile(r"run |lora-doctor|/venv/|cures ")  # what is copied, and a word that is longer
    assert [line for line in told.splitlines() if len(line) > 40 and not whole.search(line)] == []


def test_programs_are_given_one_document(desk: Desk) -> None:
    plan = msgspec.json.decode(desk.fix(*LOOK, "--format", "json", code=1).stdout, type=Plan)
    assert [step.packages for step in plan.steps] == [("peft==0.18.0",)]


def test_applied_then_nothing_to_do_then_taken_back(desk: Desk) -> None:
    done = desk.fix(*LOOK, "--apply", "--yes", "--format", "json", code=0)
    treatment = msgspec.json.decode(done.stdout, type=Treatment)
    assert (treatment.outcome.state, treatment.outcome.cured) == ("cured", (ILL,))
    assert desk.registered == ["peft-0.18.0.dist-info"]
    assert "nothing to do" in desk.fix(*LOOK, "--apply", "--yes", code=0).stdout
    back = json.loads(desk.fix("--undo", "--yes", "--format", "json", code=0).stdout)
    assert back["name"] == treatment.outcome.past
    assert desk.registered == ["peft-0.17.1.dist-info"]


def test_the_way_back_names_the_target(desk: Desk) -> None:
    told = desk.fix(*LOOK, "--apply", "--yes", code=0).stdout
    assert f"lora-doctor fix --python {desk.venv}/bin/python --undo" in told


def test_a_package_without_record_is_replaced_all_the_same(desk: Desk) -> None:
    (desk.site / "peft-0.17.1.dist-info" / "RECORD").unlink()
    told = desk.fix(*LOOK, code=1).stdout
    assert "1. Lay peft down anew" in told and "--ignore-installed --no-deps peft==0.17.1" in told
    desk.fix(*LOOK, "--apply", "--yes", code=0)
    assert desk.registered == ["peft-0.18.0.dist-info"]


def test_metadata_over_which_pip_stumbles(desk: Desk) -> None:
    (desk.site / "trl-1.16.0.dist-info" / "METADATA").write_bytes(b"\xff\xfe")
    (desk.site / "datasets-5.2.0.dist-info" / "METADATA").unlink()
    desk.fix(*LOOK, "--apply", "--yes", code=0)
    assert desk.registered == ["peft-0.18.0.dist-info"]
    assert (desk.site / "trl-1.16.0.dist-info" / "METADATA").read_text().startswith("Metadata-Version")


def test_nobody_to_say_yes(desk: Desk) -> None:
    assert "say it beforehand with --yes" in desk.fix(*LOOK, "--apply", code=2).stderr
    closed = desk.fix(*LOOK, "--apply", code=2, stdin=None, preexec_fn=lambda: os.close(0))
    assert "say it beforehand with --yes" in closed.stderr
    assert desk.registered == ["peft-0.17.1.dist-info"]


@pytest.mark.parametrize(("key", "code"), [("n\n", 1), ("\x03", 130), ("\x04", 130)])
def test_anything_but_a_yes_changes_nothing(desk: Desk, key: str, code: int) -> None:
    pid, terminal = pty.fork()
    if not pid:
        os.chdir(desk.folder)
        os.execve(sys.executable, [*desk.argv, *LOOK, "--apply"], {**desk.env, "TERM": "dumb"})
    told = read_until(terminal, "[y/N]")
    os.write(terminal, key.encode())
    # Python's input() misses an interrupt that comes just before it begins to wait; people press it again.
    told += read_until(terminal, "Nothing was changed.", press=key if key == "\x03" else "")
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == code, told
    os.close(terminal)
    assert desk.registered == ["peft-0.17.1.dist-info"]


def of_the_system(desk: Desk) -> Path:
    """A Python as a distribution has it: no virtual environment, marked by PEP 668, the same packages."""
    stdlib, home = Path(sysconfig.get_path("stdlib")), desk.folder / "usr"
    lib = home / "lib" / stdlib.name
    for folder in (lib, home / "bin"):
        folder.mkdir(parents=True)
    for entry in stdlib.iterdir():
        if entry.name != "site-packages":
            (lib / entry.name).symlink_to(entry)
    desk.site.rename(lib / "site-packages")
    (lib / "EXTERNALLY-MANAGED").write_text("[externally-managed]\n")
    return Path(shutil.copy2(os.path.realpath(sys.executable), home / "bin" / stdlib.name))


def test_a_python_of_the_system_is_left_alone(desk: Desk) -> None:
    python = of_the_system(desk)
    peft = next(python.parents[1].glob("lib/python*/site-packages/peft-0.17.1.dist-info"))
    twin = peft.with_name("numpy.egg-info")  # the same release once more, as Debian packs cryptography
    shutil.copytree(peft.with_name("numpy-2.2.6.dist-info"), twin)
    (twin / "METADATA").rename(twin / "PKG-INFO")
    asked = [*desk.argv[:-1], str(python), *LOOK]
    told = run(asked, 1, desk.env, desk.folder).stdout
    assert "1 step" in told and "--new-venv .venv" in told and ILL in told
    assert "pip install" not in told and "rm -r" not in told and "duplicate-metadata" not in told
    refused = run([*asked, "--apply", "--yes"], 2, desk.env, desk.folder)
    assert "belongs to the system" in refused.stderr and "--new-venv .venv" in refused.stderr
    assert peft.is_dir()


def read_until(terminal: int, words: str, press: str = "") -> str:
    """What a program writes to a terminal up to these words; in each second of silence a key is pressed."""
    told, end = "", time.monotonic() + PATIENCE_S
    while words not in told and time.monotonic() < end:
        if select.select([terminal], [], [], 1)[0]:
            told += os.read(terminal, 4096).decode(errors="replace")
        else:
            os.write(terminal, press.encode())
    assert words in told
    return told


@pytest.mark.parametrize("words", ["conda", "poetry", "dockerfile"])
def test_only_the_targets_own_installer_carries_a_plan_out(desk: Desk, words: str) -> None:
    assert f"--as {words}" in desk.fix(*LOOK, "--apply", "--yes", "--as", words, code=2).stderr
    assert desk.registered == ["peft-0.17.1.dist-info"]


@pytest.mark.parametrize(
    "arguments",
    [
        ("--apply", "--undo"),
        ("--apply", "--new-venv", "v"),
        ("--apply", "--dry-run"),
        ("--new-venv", "v", "--dry-run"),
        ("--from", "report.json"),
        ("--output", "no/such/folder/plan.md"),
    ],
)
def test_contradictions_are_told_before_anything_is_examined(desk: Desk, arguments: tuple[str, ...]) -> None:
    done = desk.fix(*arguments, code=2)
    assert done.stdout == "" and len(done.stderr.splitlines()) == 2


def test_nothing_to_take_back(desk: Desk) -> None:
    assert "is kept" in desk.fix("--undo", "--yes", code=2).stderr
    assert "nothing was applied" in desk.fix("--undo", "--dry-run", code=2).stderr


def test_an_interpreter_that_does_not_start(desk: Desk) -> None:
    python = desk.folder / "python"
    python.write_text("#!/bin/sh\nexit 3\n")
    python.chmod(0o755)
    argv = [*desk.argv[:-1], str(python), "--apply", "--yes", "--format", "json"]
    plan = msgspec.json.decode(run(argv, 3, desk.env, desk.folder).stdout, type=Plan)
    assert [step.kind for step in plan.steps] == ["hand"]


def test_a_saved_report(desk: Desk) -> None:
    check = [*desk.argv[:3], "check", *desk.argv[4:], *LOOK, "--format", "json"]
    saved = run(check, 1, desk.env, desk.folder).stdout
    (desk.folder / "report.json").write_text(saved)
    from_file = [*desk.argv[:4], "--from"]
    told = run([*from_file, "report.json"], 1, desk.env, desk.folder).stdout
    assert "Install peft 0.18.0" in told and "--apply" not in told  # the target may be of another machine
    assert run([*from_file, "-"], 1, desk.env, desk.folder, input=saved).stdout == told


@pytest.mark.parametrize("content", ["", "{", "[]", '{"schema": 9}', '{"schema": 1}', "\x00", "[" * 100_000])
def test_a_file_that_is_no_report(tmp_path: Path, content: str) -> None:
    (tmp_path / "report.json").write_text(content)
    argv = [sys.executable, "-m", "doctor", "fix", "--from", "report.json"]
    done = run(argv, 2, os.environ, tmp_path)
    assert done.stdout == "" and "lora-doctor check --format json --output FILE" in done.stderr
