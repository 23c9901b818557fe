"""The doctor's command line on machines of the stubs, as processes of their own."""

from __future__ import annotations

import atexit
import os
import shutil
import subprocess
import sys
import venv
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, NamedTuple

import msgspec

from doctor.facts import Facts
from doctor.findings import Report

from . import machine

PATIENCE_S = 120.0  # the doctor must end by itself, long before
# Of the shell of whoever runs the tests.
NOT_INHERITED = ("CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES", "VIRTUAL_ENV", "PYTHONPATH", "COLUMNS")


class Case(NamedTuple):
    """A machine with faults, and variables of the user's own."""

    profile: str
    faults: tuple[str, ...] = ()
    options: tuple[tuple[str, Any], ...] = ()  # of stubs.machine
    env: tuple[tuple[str, str], ...] = ()


def case(profile: str, *faults: str, env: dict[str, str] | None = None, **options: Any) -> Case:
    return Case(profile, faults, tuple(options.items()), tuple((env or {}).items()))


def environment(case: Case) -> dict[str, str]:
    """All variables of a process on that machine."""
    own = {name: value for name, value in os.environ.items() if name not in NOT_INHERITED}
    return {**own, **machine(case.profile, *case.faults, **dict(case.options)), **dict(case.env)}


@cache
def empty_python() -> str:
    """A target without a single package."""
    folder = mkdtemp(prefix="lora-doctor-test-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    venv.create(folder, with_pip=False, symlinks=True)
    return str(Path(folder, "bin", "python"))


class Outcome(NamedTuple):
    """One run of the command line."""

    code: int
    report: Report

    @property
    def facts(self) -> Facts:
        return self.report.facts

    def ids(self, severity: str) -> set[str]:
        return {one.id for one in self.report.findings if one.severity == severity}

    def gap(self, about: str) -> str:
        """Why a fact is not there; there must be a reason."""
        [gap] = [one for one in self.facts.gaps if one.about == about]
        return gap.reason


def start(case: Case, *arguments: str) -> subprocess.Popen[str]:
    """``lora-doctor check --format json`` of the empty target, started."""
    command = [sys.executable, "-m", "doctor", "check", "--python", empty_python(), "--format", "json"]
    return subprocess.Popen(
        [*command, *arguments],
        env=environment(case),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(process: subprocess.Popen[str]) -> Outcome:
    """Wait for its report. Whatever the machine does, there is one and no traceback."""
    stdout, stderr = process.communicate(timeout=PATIENCE_S)
    assert "Traceback" not in stdout + stderr
    assert process.returncode in (0, 1), stderr
    return Outcome(process.returncode, msgspec.json.decode(stdout, type=Report))


@cache
def run(case: Case) -> Outcome:
    """A quick look at that machine; each is run once."""
    return finish(start(case, "--quick"))
