"""Real environments, filled with tiny wheels by a real pip or uv, broken off and taken up again."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from doctor.host import LocalHost
from doctor.installing import marker
from doctor.installing.making import commands_for, half_made, look, made
from doctor.installing.outcome import Made, NotMade
from doctor.resolution import Resolution
from installing.wheels import environment, host_with, resolution, wheels_of, with_uv

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the environments are laid out as on Unix")
CONSTRAINTS = ("torch==2.13.0+cpu", "peft==0.18.0", "accelerate==1.12.0")
SET = resolution(*CONSTRAINTS)


@pytest.fixture
def host(tmp_path: Path) -> LocalHost:
    """uv, which takes a fraction of a second."""
    return host_with(with_uv(tmp_path, wheels_of(tmp_path / "wheels", CONSTRAINTS)))


@pytest.fixture
def pip_host(tmp_path: Path) -> LocalHost:
    return host_with(environment(tmp_path, wheels_of(tmp_path / "wheels", CONSTRAINTS)))


def make(host: LocalHost, folder: Path, found: Resolution = SET, **more: object) -> Made | NotMade:
    return made(host, str(folder), found, python=sys.executable, **more)  # type: ignore[arg-type]


def complete(host: LocalHost, folder: Path) -> Made:
    """Make it, and see with other eyes that it is complete."""
    outcome = make(host, folder)
    assert isinstance(outcome, Made), outcome
    program = "import torch, peft.more, accelerate, pip; print(torch.__version__, peft.__version__)"
    said = subprocess.check_output([folder / "bin/python", "-I", "-c", program], text=True)
    assert said.split() == ["2.13.0+cpu", "0.18.0"]
    known = marker.read(host, str(folder))
    assert known and known.state == "finished" and known.requirements == CONSTRAINTS
    facts = look(host, str(folder / "bin/python"))
    assert facts and half_made(facts) == ()
    return outcome


def tree_of(folder: Path) -> dict[str, tuple[int, int]]:
    """Every file with its size and time, but for byte code, which any run may leave."""
    files = [path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    return {str(path): (path.stat().st_size, path.stat().st_mtime_ns) for path in files}


def test_made_once_and_then_left_as_it_is(host: LocalHost, tmp_path: Path) -> None:
    told: list[str] = []
    lines: list[str] = []
    folder = tmp_path / "env"
    commands = commands_for(host, str(folder), SET, python=sys.executable)
    assert {command[0] for command in commands} == {"uv"}
    outcome = make(host, folder, on_progress=told.append, on_line=lines.append)
    assert outcome == Made(folder=str(folder), python=str(folder / "bin/python"), changed=True)
    assert told == ["making the environment: uv", "installing 3 packages: torch, peft, accelerate"]
    assert any("torch==2.13.0+cpu" in line for line in lines)
    before = tree_of(folder)
    assert complete(host, folder).changed is False
    assert tree_of(folder) == before


def test_pip_goes_on_after_whatever_failed(pip_host: LocalHost, tmp_path: Path) -> None:
    """No index, then a wheel that is missing, then all that is needed: one environment."""
    env, folder = pip_host.env, tmp_path / "env"
    nowhere = "http://127.0.0.1:9/simple"
    online = {name: value for name, value in env.items() if name not in ("PIP_NO_INDEX", "PIP_FIND_LINKS")}
    pip_host.env = {**online, "PIP_RETRIES": "1", "PIP_TIMEOUT": "1"}
    outcome = make(pip_host, folder, resolution(*CONSTRAINTS, index_url="https://x"), index_url=nowhere)
    assert isinstance(outcome, NotMade) and not outcome.is_refusal
    assert outcome.why == f"{nowhere} cannot be reached"

    pip_host.env = env
    [torch] = (tmp_path / "wheels").glob("torch-*.whl")
    torch.rename(tmp_path / torch.name)
    outcome = make(pip_host, folder)
    assert isinstance(outcome, NotMade) and "has no torch==2.13.0+cpu" in outcome.why

    (tmp_path / torch.name).rename(torch)
    told: list[str] = []
    assert isinstance(make(pip_host, folder, on_progress=told.append), Made)
    assert told == ["installing 3 packages: torch, peft, accelerate"]
    assert complete(pip_host, folder).changed is False
    assert not (tmp_path / "astray").exists()


def test_a_finished_environment_is_not_changed_for_another_set(host: LocalHost, tmp_path: Path) -> None:
    folder = tmp_path / "env"
    complete(host, folder)
    before = tree_of(folder)
    outcome = make(host, folder, resolution("torch==2.13.0+cpu", "peft==0.17.1"))
    assert isinstance(outcome, NotMade) and outcome.is_refusal
    assert outcome.seen == "peft 0.18.0, wanted peft==0.17.1"
    assert outcome.command[:3] == ("lora-doctor", "install", f"{folder}-2")
    assert tree_of(folder) == before


@pytest.mark.parametrize("name", ["pyvenv.cfg", "notes.txt"])
def test_what_is_not_ours_is_left_alone(host: LocalHost, tmp_path: Path, name: str) -> None:
    folder = tmp_path / "env"
    folder.mkdir()
    (folder / name).write_text("mine")
    before = tree_of(folder)
    outcome = make(host, folder)
    assert isinstance(outcome, NotMade) and outcome.is_refusal and "left alone" in outcome.why
    assert tree_of(folder) == before


PROGRAM = """
import json, os, signal, sys
from installing.wheels import host_with, resolution
from doctor.installing.making import made
folder, env, constraints, at = json.loads(sys.argv[1])
told = []
def tell(what):
    told.append(what)
    if len(told) == at:
        os.kill(os.getpid(), signal.SIGKILL)
made(host_with(env), folder, resolution(*constraints), python=sys.executable, on_progress=tell)
"""


@pytest.mark.parametrize("step", [1, 2])
def test_killed_before_any_step_the_next_run_completes_it(host: LocalHost, tmp_path: Path, step: int) -> None:
    folder = tmp_path / "env"
    asked = [str(folder), dict(host.env), CONSTRAINTS, step]
    tests = Path(__file__).resolve().parents[1]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join((str(tests), str(tests.parent)))}
    done = subprocess.run([sys.executable, "-c", PROGRAM, json.dumps(asked)], env=env, timeout=120)
    assert done.returncode == -signal.SIGKILL
    assert marker.state_of(host, str(folder)) == "unfinished"
    assert complete(host, folder).changed is True


def without_record(site: Path) -> None:
    (site / "peft-0.18.0.dist-info" / "RECORD").unlink()


def without_metadata(site: Path) -> None:
    (site / "peft-0.18.0.dist-info" / "METADATA").unlink()


def without_a_file(site: Path) -> None:
    (site / "peft" / "more.py").unlink()


def cut_short(site: Path) -> None:
    (site / "torch" / "more.py").write_text("x = 1\n")


def half_uninstalled(site: Path) -> None:
    (site / "peft").rename(site / "~eft")
    (site / "peft-0.18.0.dist-info").rename(site / "~eft-0.18.0.dist-info")


def without_pip(site: Path) -> None:
    (site / "pip" / "__init__.py").unlink()


def without_interpreter(site: Path) -> None:
    for path in (site.parents[2] / "bin").glob("python*"):
        path.unlink()


def not_yet_registered(site: Path) -> None:
    for path in (site / "peft-0.18.0.dist-info").iterdir():
        path.unlink()
    (site / "peft-0.18.0.dist-info").rmdir()


DAMAGES = [
    without_record,
    without_metadata,
    without_a_file,
    cut_short,
    half_uninstalled,
    without_pip,
    without_interpreter,
    not_yet_registered,
]


@pytest.fixture(scope="module")
def made_before(tmp_path_factory: pytest.TempPathFactory) -> tuple[LocalHost, Path]:
    """One environment for all damages: each run must leave it complete for the next."""
    tmp_path = tmp_path_factory.mktemp("broken-off")
    host = host_with(with_uv(tmp_path, wheels_of(tmp_path / "wheels", CONSTRAINTS)))
    complete(host, tmp_path / "env")
    return host, tmp_path / "env"


@pytest.mark.parametrize("damage", DAMAGES)
def test_what_an_installer_left_half_done_is_made_whole(
    made_before: tuple[LocalHost, Path], damage: Callable[[Path], None]
) -> None:
    host, folder = made_before
    is_early = damage is without_pip  # only while the environment itself is made
    note = marker.Marker(tool_version="1", state="unfinished", has_environment=not is_early)
    marker.write(str(folder), note)
    [site] = folder.glob("lib/python*/site-packages")
    damage(site)
    assert complete(host, folder).changed is True


def test_another_run_is_not_disturbed(host: LocalHost, tmp_path: Path) -> None:
    with marker.held(str(tmp_path / "env")):
        outcome = make(host, tmp_path / "env")
    assert isinstance(outcome, NotMade) and outcome.is_refusal and "another run" in outcome.why


def test_a_folder_that_cannot_be_made_is_said(host: LocalHost, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    outcome = make(host, tmp_path / "file" / "env")
    assert isinstance(outcome, NotMade) and outcome.advice == "name a folder of your own"
