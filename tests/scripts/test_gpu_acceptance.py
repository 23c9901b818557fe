"""The script for a machine with a GPU, as far as it goes without one."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from doctor.rules import code_rules

SCRIPT = Path(__file__).parents[2] / "scripts" / "gpu_acceptance.sh"
BASH = shutil.which("bash")
pytestmark = pytest.mark.skipif(sys.platform == "win32" or not BASH, reason="a script of bash")


def run(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(BASH), *arguments, str(SCRIPT)],
        env={"PATH": "/usr/bin:/bin", "PYTHON": sys.executable, **variables},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_it_parses_and_may_be_run() -> None:
    assert run("-n").returncode == 0
    assert os.access(SCRIPT, os.X_OK)


@pytest.mark.skipif(shutil.which("nvidia-smi", path="/usr/bin:/bin") is not None, reason="a driver is here")
def test_without_a_driver_it_does_not_begin() -> None:
    done = run()
    assert done.returncode == 3
    assert done.stderr == "gpu_acceptance: no nvidia-smi is on PATH, so no GPU is here\n"
    assert done.stdout == ""


@pytest.mark.parametrize("python", ["/nowhere/python", "no-such-python"])
def test_without_a_python_it_does_not_begin(python: str) -> None:
    done = run(PYTHON=python)
    assert done.returncode == 3
    assert python in done.stderr


def test_every_finding_that_it_waits_for_is_one_of_ours() -> None:
    waited = set(
        re.findall(r"(?<![\w/.-])(?:bitsandbytes|gpu|cuda)/[a-z][a-z-]+\b(?![\w/*.])", SCRIPT.read_text())
    )
    assert len(waited) == 5
    assert waited <= {rule.id for rule in code_rules()}
