"""docs/meeting_places.md: what it tells people to write down is run, and names what is there."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import venv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "docs" / "meeting_places.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```", TEXT, re.M | re.S)
DOCKER = "".join(text for kind, text in BLOCKS if kind == "dockerfile").replace("\\\n", "")

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="containers run a POSIX shell")


def commands_in(node: Any) -> Iterator[list[str]]:
    """Every ``command`` of a document of Kubernetes."""
    if isinstance(node, dict):
        for key, value in node.items():
            yield from [value] if key == "command" else commands_in(value)
    elif isinstance(node, list):
        for one in node:
            yield from commands_in(one)


YAML = [yaml.safe_load(text) for kind, text in BLOCKS if kind == "yaml"]
KUBERNETES = [command for document in YAML for command in commands_in(document)]


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment that holds nothing of the stack, which is an error."""
    folder = tmp_path_factory.mktemp("container") / "venv"
    venv.create(folder)
    return folder


def run(command: list[str], environment: Path) -> subprocess.CompletedProcess[str]:
    """A command as a container runs it, its /opt/venv being ours."""
    tools = environment.parent / "bin"
    tools.mkdir(exist_ok=True)
    (tools / "lora-doctor").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m doctor "$@"\n')
    (tools / "lora-doctor").chmod(0o755)
    return subprocess.run(
        [word.replace("/opt/venv", str(environment)) for word in command],
        env={**os.environ, "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_the_health_check_knows_well_and_ill_alone(environment: Path) -> None:
    (command,) = re.findall(r"^HEALTHCHECK.*?CMD (.*)$", DOCKER, re.M)
    done = run(["sh", "-c", command], environment)
    assert done.returncode == 1 and "python/stack-missing" in done.stdout
    absent = run(["sh", "-c", command], environment / "absent")
    assert absent.returncode == 1 and "names no interpreter" in absent.stderr
    well = run(["sh", "-c", command.replace(" ||", " --ignore python/ ||")], environment)
    assert well.returncode == 0, well.stdout


def test_the_step_of_a_build_ends_it_for_an_error(environment: Path) -> None:
    (command,) = re.findall(r"^RUN (.*)$", DOCKER, re.M)
    assert run(["sh", "-c", command], environment).returncode == 1


@pytest.mark.parametrize("command", KUBERNETES, ids=" ".join)
def test_what_kubernetes_runs(command: list[str], environment: Path) -> None:
    done = run([*command, "--quick"], environment)
    assert done.returncode == 1 and "python/stack-missing" in done.stdout


def test_both_are_there() -> None:
    assert len(KUBERNETES) == 2


def test_hooks_that_it_names_are_there() -> None:
    (named,) = [one["repos"][0]["hooks"] for one in YAML if "repos" in one]
    hooks = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    assert {one["id"] for one in named} == {one["id"] for one in hooks}


def test_the_action_takes_what_it_tells() -> None:
    action = yaml.safe_load(
        (ROOT / ".github" / "actions" / "check" / "action.yml").read_text(encoding="utf-8")
    )
    (step,) = [one for document in YAML if isinstance(document, list) for one in document]
    assert set(step["with"]) <= set(action["inputs"])
    told = dict(re.findall(r"^\| `(\w+)` \| (?:`(\S+)` )?\|", TEXT, re.M))
    assert set(told) == set(action["inputs"]) - {"python"}
    assert all(action["inputs"][name]["default"] == default for name, default in told.items())
