"""A doctor that is killed, interrupted or loses its machine at any moment leaves the past or the cure."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from doctor.applying import journal as journals
from doctor.applying.applied import settled
from doctor.applying.lock import is_held
from doctor.host import LocalHost

from .workshop import Patient, fingerprint, normalised, records_that_lie

pytestmark = pytest.mark.environments
TESTS = Path(__file__).parents[1]
Make = Callable[..., Patient]

BEFORE, CURED = "as before", "cured"
ASIDE = {
    "with the lock": BEFORE,
    "with a guardian": BEFORE,
    "with a journal": BEFORE,
    "in the middle of cloning": BEFORE,
    "before the twin is moved in": BEFORE,
    "after cloning": BEFORE,
    "in a step": BEFORE,
    "after the steps": BEFORE,
    "in the check": BEFORE,
    "after the check": BEFORE,
    "after moving out": BEFORE,
    "before the exchange": BEFORE,
    "right after the exchange": CURED,
    "between two renames": CURED,
    "after two renames": CURED,
    "before the journal says kept": CURED,
    "after the journal says kept": CURED,
}
IN_PLACE = {
    "with a journal": BEFORE,
    "in the middle of cloning": BEFORE,
    "after cloning": BEFORE,
    "in a step": BEFORE,
    "after the steps": BEFORE,
    "in the check": BEFORE,
    "after the check": BEFORE,
    "before the journal says kept": BEFORE,
    "after the journal says kept": CURED,
}
SIGNALLED = ("in the middle of cloning", "in a step", "after the steps", "in the check", "after moving out")


def half_done(patient: Patient, marker: Path) -> tuple[str, ...]:
    """A step that has changed much and ended nothing when it is struck, as an installer at work."""
    program = (
        "import os, shutil, sys, sysconfig, time; site = sysconfig.get_path('purelib');"
        "shutil.rmtree(os.path.join(site, 'bystander'));"
        "os.unlink(os.path.join(site, 'demo', '__init__.py'));"
        "os.unlink(os.path.join(sysconfig.get_path('scripts'), 'demo-tool'));"
        f"open({str(marker)!r}, 'w').close();"  # and it goes on when its doctor is dead
        "[(open(f'{site}/half{n}.py', 'w').close(), time.sleep(0.01)) for n in range(6000)]"
    )
    return (str(patient.python), "-c", program)


def strike(
    patient: Patient, moment: str, number: str = "SIGKILL", **told: Any
) -> subprocess.CompletedProcess[str]:
    """Run a doctor that is struck, and wait until its guardian has ended too."""
    marker = patient.folder.parent.parent / "marker"
    commands = [patient.uv("demo==2.0")]
    if moment == "in a step":
        commands.append(half_done(patient, marker))
    told = {"python": str(patient.python), "moment": moment, "signal": number, "marker": str(marker), **told}
    argv = [sys.executable, "-m", "applying.victim", json.dumps({"commands": commands, **told})]
    path = os.pathsep.join([str(TESTS), str(TESTS.parent / "scripts"), str(TESTS.parent)])
    env = {**os.environ, "PYTHONPATH": path}
    done = subprocess.run(argv, env=env, capture_output=True, text=True, timeout=60, check=False)
    until = time.monotonic() + 30
    while any(is_held(journals.lock_in(folder)) for folder, _ in journals.known(LocalHost())):
        assert time.monotonic() < until, "the guardian does not end"
        time.sleep(0.02)
    return done


@cache
def reference(wheels: Path, folder: Path) -> dict[str, str]:
    """What the installer alone makes of such an environment."""
    healthy = Patient(folder, wheels, pip=False)
    healthy.install("demo==2.0")
    return normalised(healthy.folder)


def in_shared_folder(patient: Patient) -> Patient:
    """Somebody's work stands in the environment's own folder, which is then not exchanged."""
    (patient.folder / "train.py").write_text("print('my work')\n")
    return patient


def assert_cured(patient: Patient, tmp_path_factory: pytest.TempPathFactory) -> None:
    expected = reference(patient.wheels, tmp_path_factory.getbasetemp() / "reference")
    found = normalised(patient.folder)
    found.pop("train.py", None)
    assert found == expected
    assert records_that_lie(patient.site) == []


def litter(patient: Patient) -> set[str]:
    """What lies beside the environment and in it, and is neither."""
    beside = {path.name for path in patient.folder.parent.iterdir() if ".before-" not in path.name}
    inside = {path.name for path in patient.folder.glob(".lora-doctor*")}
    return (beside - {patient.folder.name}) | inside


@pytest.mark.parametrize("moment", ASIDE)
def test_killed_beside_a_twin(moment: str, patient: Make, tmp_path_factory: pytest.TempPathFactory) -> None:
    one = patient(pip=False)
    before = fingerprint(one.folder)
    done = strike(one, moment)
    assert done.returncode == -signal.SIGKILL, done.stdout + done.stderr
    assert litter(one) == set()
    if ASIDE[moment] == BEFORE:
        assert fingerprint(one.folder) == before
    else:
        assert_cured(one, tmp_path_factory)


@pytest.mark.parametrize("moment", IN_PLACE)
def test_killed_in_place(moment: str, patient: Make, tmp_path_factory: pytest.TempPathFactory) -> None:
    one = in_shared_folder(patient(pip=False))
    before = fingerprint(one.folder)
    done = strike(one, moment)
    assert done.returncode == -signal.SIGKILL, done.stdout + done.stderr
    if IN_PLACE[moment] == BEFORE:
        assert fingerprint(one.folder) == before
        assert litter(one) == set()
    else:
        assert_cured(one, tmp_path_factory)


@pytest.mark.parametrize(
    "moment", ["in the middle of cloning", "in a step", "right after the exchange", "between two renames"]
)
def test_power_is_lost_beside_a_twin(
    moment: str, patient: Make, tmp_path_factory: pytest.TempPathFactory
) -> None:
    one = patient(pip=False)
    before = fingerprint(one.folder)
    strike(one, moment, alone=True)
    if moment != "between two renames":  # one file system in a hundred, for a moment in a million
        assert fingerprint(one.folder) == before or normalised(one.folder)
    settled(LocalHost())
    assert litter(one) == set()
    if ASIDE[moment] == BEFORE:
        assert fingerprint(one.folder) == before
    else:
        assert_cured(one, tmp_path_factory)


@pytest.mark.parametrize(
    "moment", ["in the middle of cloning", "in a step", "after the steps", "before the journal says kept"]
)
def test_power_is_lost_in_place(moment: str, patient: Make) -> None:
    one = in_shared_folder(patient(pip=False))
    before = fingerprint(one.folder)
    strike(one, moment, alone=True)
    assert settled(LocalHost()) == (str(one.folder),)
    assert fingerprint(one.folder) == before
    assert litter(one) == set()


@pytest.mark.parametrize(
    ("moment", "number"),
    [
        *((moment, "SIGINT") for moment in SIGNALLED),
        ("in a step", "SIGTERM"),
        ("after moving out", "SIGTERM"),
    ],
)
def test_interrupted(moment: str, number: str, patient: Make) -> None:
    one = patient(pip=False)
    before = fingerprint(one.folder)
    done = strike(one, moment, number)
    assert done.returncode == {"SIGINT": 130, "SIGTERM": 143}[number], done.stdout + done.stderr
    assert fingerprint(one.folder) == before
    assert litter(one) == set()


@pytest.mark.parametrize("number", ["SIGINT", "SIGTERM"])
def test_interrupted_in_place(number: str, patient: Make) -> None:
    one = in_shared_folder(patient(pip=False))
    before = fingerprint(one.folder)
    done = strike(one, "in a step", number)
    assert done.returncode == {"SIGINT": 130, "SIGTERM": 143}[number], done.stdout + done.stderr
    assert fingerprint(one.folder) == before
    assert litter(one) == set()


@pytest.mark.parametrize(
    "moment", ["before the exchange", "right after the exchange", "before the journal says kept"]
)
def test_an_exchange_that_has_begun_is_not_interrupted(
    moment: str, patient: Make, tmp_path_factory: pytest.TempPathFactory
) -> None:
    one = patient(pip=False)
    done = strike(one, moment, "SIGINT")
    assert done.returncode == 0 and done.stdout.startswith("cured"), done.stdout + done.stderr
    assert_cured(one, tmp_path_factory)


@pytest.mark.parametrize("after_s", [0.2, 0.4, 0.6, 0.8])
@pytest.mark.parametrize("shared", [False, True])
def test_killed_at_any_time(
    after_s: float, shared: bool, patient: Make, tmp_path_factory: pytest.TempPathFactory
) -> None:
    one = patient(pip=False)
    if shared:
        in_shared_folder(one)
    before = fingerprint(one.folder)
    strike(one, "at any time", after_s=after_s)
    if fingerprint(one.folder) != before:
        assert_cured(one, tmp_path_factory)
