"""Runs the doctor as its users do, as a process of its own, and keeps all that came of it."""

from __future__ import annotations

import json
import subprocess
import sys
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import psutil
from sandboxes import ENVIRONMENT

from .environment import Target

MODULE = (sys.executable, "-m", "doctor")
SCRIPT = (str(Path(sys.executable).with_name("lora-doctor")),)
# Far beyond what a run may take: the doctor must end by itself.
PATIENCE_S = 400.0
MARK = "LORA_DOCTOR_TEST_RUN"
# Of the developer's shell, and not of the run.
NOT_INHERITED = (
    "VIRTUAL_ENV",
    "CONDA_PREFIX",
    "PYTHONPATH",
    "CUDA_VISIBLE_DEVICES",
    "COLUMNS",
    "NO_COLOR",
    "TORCH_INDEX_URL",
)


@dataclass(frozen=True)
class Outcome:
    """One run of the doctor."""

    target: Target
    code: int
    stdout: str
    stderr: str
    seconds: float
    left_running: tuple[str, ...]  # processes of this run that outlived it

    @cached_property
    def report(self) -> dict[str, Any]:
        """The JSON report, which must be all that was printed."""
        loaded = json.loads(self.stdout)
        assert isinstance(loaded, dict)
        return loaded

    @property
    def facts(self) -> dict[str, Any]:
        return dict(self.report["facts"])

    def finding(self, id: str) -> dict[str, Any]:
        """The finding of this id at the top level; there must be one."""
        return next(finding for finding in self.report["findings"] if finding["id"] == id)

    def ids(self, severity: str) -> list[str]:
        """Ids of the findings of one severity, in the order of the report."""
        return [finding["id"] for finding in self.report["findings"] if finding["severity"] == severity]


def run_environment(target: Target, mark: str) -> dict[str, str]:
    """The variables of a run: ours, less what belongs to the shell, and what the target asks for."""
    variables: dict[str, str | None] = {**ENVIRONMENT, **dict.fromkeys(NOT_INHERITED), MARK: mark}
    variables.update(target.variables)
    return {name: value for name, value in variables.items() if value is not None}


def run_doctor(
    target: Target, working_folder: Path, *arguments: str, doctor: Sequence[str] = MODULE
) -> Outcome:
    """``lora-doctor check --python TARGET`` with further arguments, from start to end."""
    mark = uuid.uuid4().hex
    command = [*doctor, "check", "--python", str(target.python), *arguments]
    began = time.monotonic()
    done = subprocess.run(
        command,
        cwd=working_folder,
        env=run_environment(target, mark),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=PATIENCE_S,
    )
    seconds = time.monotonic() - began
    return Outcome(target, done.returncode, done.stdout, done.stderr, seconds, left_running(mark))


def left_running(mark: str) -> tuple[str, ...]:
    """Command lines of living processes that carry a run's mark in their environment; they are ended."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.environ().get(MARK) == mark and process.status() != psutil.STATUS_ZOMBIE:
                found.append(" ".join(process.cmdline()))
                process.kill()
        except psutil.Error:
            continue
    return tuple(found)


def merged(target: Target, variables: Mapping[str, str | None]) -> Target:
    """The same target with more variables around the run."""
    return Target(target.python, target.working_folder, {**target.variables, **variables})
