"""Worded steps carried out by real installers, on tiny wheels of a local index."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import healthy
import pytest
from applying.workshop import NEW, NO_HOME, OLD, Patient, make_wheels
from healthy import but, facts
from sandboxes import uv

from doctor.facts import Facts
from doctor.treatment.languages import lasting, worded
from doctor.treatment.plan import Command, Language
from treatment.targets import made_by, setting, step

pytestmark = pytest.mark.environments
PROJECT = f"""[project]
name = "train"
version = "0"
requires-python = ">=3.10"
dependencies = ["demo=={OLD}"]
"""


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_wheels(tmp_path_factory.mktemp("wheels"))


@pytest.fixture(scope="module")
def index(wheels: Path) -> str:
    """The wheels as an index of packages."""
    for wheel in sorted(wheels.glob("*.whl")):
        page = wheels / "simple" / wheel.name.partition("-")[0] / "index.html"
        page.parent.mkdir(parents=True, exist_ok=True)
        with page.open("a") as file:
            file.write(f'<a href="{wheel.as_uri()}">{wheel.name}</a>\n')
    return (wheels / "simple").as_uri()


def run(command: Command, wheels: Path | None, folder: Path | None = None) -> str:
    """Run a worded command; with a folder of wheels, on that alone."""
    alone: Mapping[str, str] = (
        {"PIP_NO_INDEX": "1", "UV_NO_INDEX": "1", "PIP_FIND_LINKS": str(wheels), "UV_FIND_LINKS": str(wheels)}
        if wheels
        else {}
    )
    words = (uv(), *command[1:]) if command[0] == "uv" else command
    own = {"PIP_CONFIG_FILE": os.devnull, "PIP_DISABLE_PIP_VERSION_CHECK": "1", "UV_PYTHON": sys.executable}
    done = subprocess.run(
        words, capture_output=True, text=True, cwd=folder, env={**os.environ, **NO_HOME, **own, **alone}
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def target_of(patient: Patient, has_pip: bool) -> Facts:
    found = but(
        healthy.FACTS.interpreter,
        executable=str(patient.python),
        prefix=str(patient.folder),
        kind="venv",
        has_pip=has_pip,
    )
    return facts(interpreter=found)


def version(patient: Patient, module: str = "demo") -> str:
    asked = f"import importlib.metadata as m; print(m.version({module!r}))"
    done = subprocess.run([patient.python, "-c", asked], capture_output=True, text=True)
    return done.stdout.strip()


@pytest.mark.parametrize("language", ["pip", "uv"])
def test_each_kind_of_step_does_what_it_says(
    tmp_path: Path, wheels: Path, index: str, language: Language
) -> None:
    patient = Patient(tmp_path / "it's my venv", wheels, pip=False)
    newer = step("install", f"demo=={NEW}", f"helper=={NEW}", index_url=index)
    has_pip = language == "uv"  # pip has to be brought by the first step
    for change in (newer, step("remove", "bystander")):
        for command in worded(change, target_of(patient, has_pip), language).commands:
            run(command, None)
        has_pip = True
    assert (version(patient), version(patient, "helper")) == (NEW, NEW)
    assert version(patient, "bystander") == ""
    patient.install(f"helper=={OLD}")
    (patient.site / "demo" / "__init__.py").unlink()
    for command in worded(step("anew", f"demo=={NEW}"), target_of(patient, True), language).commands:
        run(command, wheels)
    assert (patient.site / "demo" / "__init__.py").is_file()
    assert version(patient, "helper") == OLD  # laid anew changes nothing else


def test_a_uv_project_is_told_the_same(tmp_path: Path, wheels: Path, index: str) -> None:
    project = tmp_path / "pyproject.toml"
    project.write_text(PROJECT)
    run(("uv", "lock"), wheels, tmp_path)
    change = step("install", f"demo=={NEW}", index_url=index)
    said = lasting([change], made_by("pip"), os.listdir(tmp_path))
    assert said is not None
    with project.open("a") as file:
        file.write("\n".join(said.lines) + "\n")
    for command in said.commands:
        run(command, wheels, tmp_path)
    assert f'"demo=={NEW}"' in project.read_text()
    assert f'name = "demo"\nversion = "{NEW}"\nsource = {{ registry = ' in (tmp_path / "uv.lock").read_text()
    assert not (tmp_path / ".venv").exists()


def test_an_activated_environment_has_the_variable(tmp_path: Path, wheels: Path) -> None:
    patient = Patient(tmp_path / "venv", wheels, pip=False)
    given = worded(setting("HF_HOME", "/it's a $big\ndisk"), target_of(patient, False), "pip")
    assert given.place == "~/.profile"  # a line break is for a shell alone
    for name, value in (("HF_HOME", "/it's a $big disk"), ("BNB_CUDA_VERSION", None)):
        said = worded(setting(name, value), target_of(patient, False), "pip")
        with open(said.place, "a") as file:
            file.write("\n".join(said.lines) + "\n")
    script = f'. "{patient.folder}/bin/activate"; echo "$HF_HOME,${{BNB_CUDA_VERSION-gone}}"'
    done = subprocess.run(
        ["bash", "-c", script],
        capture_output=True,
        text=True,
        env={"BNB_CUDA_VERSION": "121", "PATH": os.defpath},
    )
    assert done.stdout.strip() == "/it's a $big disk,gone"
