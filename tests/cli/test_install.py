"""``lora-doctor install`` as users and programs meet it: real environments, wheels of our own making."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import psutil
import pytest
import sandboxes
from installing.wheels import environment, simple_index, wheels_of, with_uv

from doctor.cli.install import folder_and_pins

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the environments are laid out as on Unix")
GLIBC = pytest.mark.skipif(sys.platform != "linux", reason="the set of another system")


def install(
    env: dict[str, str], folder: Path, *arguments: str, code: int = 0
) -> subprocess.CompletedProcess[str]:
    return doctor(env, folder, "install", *arguments, code=code)


def doctor(
    env: dict[str, str], folder: Path, *arguments: str, code: int = 0
) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, "-m", "doctor", *arguments],
        cwd=folder,
        env=env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert "Traceback" not in done.stdout + done.stderr
    assert done.returncode == code, done.stdout + done.stderr
    return done


def told(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    found = json.loads(done.stdout)
    assert isinstance(found, dict)
    return found


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    """Without uv and without any wheel."""
    return environment(tmp_path, tmp_path / "wheels")


def test_a_dry_run_tells_the_commands_and_changes_nothing(env: dict[str, str], tmp_path: Path) -> None:
    lines = install(env, tmp_path, "torch==2.13.0", "--dry-run").stdout.splitlines()
    assert "-m venv" in lines[0] and lines[0].endswith("/.venv")
    assert "-m pip install torch==2.13.0" in lines[1]
    assert "peft==" in lines[-1]
    assert not (tmp_path / ".venv").exists()


def test_a_dry_run_for_programs(env: dict[str, str], tmp_path: Path) -> None:
    asked = ("env", "peft==0.17.1", "--torch-index", "https://mirror/whl", "--dry-run", "--format", "json")
    found = told(install(env, tmp_path, *asked))
    assert (found["schema"], found["state"], found["problem"], found["proof"]) == (1, "planned", None, None)
    assert found["set"]["pins"]["peft"] == "0.17.1"
    assert found["commands"][1][-2:] == ["--index-url", "https://mirror/whl"]


def test_the_index_of_torch_may_come_from_the_environment(env: dict[str, str], tmp_path: Path) -> None:
    env["TORCH_INDEX_URL"] = "https://mirror/whl"
    assert "--index-url https://mirror/whl" in install(env, tmp_path, "--dry-run").stdout


def test_pins_that_exclude_one_another_leave_no_set(env: dict[str, str], tmp_path: Path) -> None:
    done = install(env, tmp_path, "peft==0.17.1", "transformers==5.0.0", "--dry-run", code=1)
    assert "No set" in done.stdout and "Ways out" in done.stdout


@pytest.mark.parametrize(
    ("words", "folder", "pins"),
    [
        ([], ".venv", ()),
        (["peft==0.18.0"], ".venv", ("peft==0.18.0",)),
        (["peft"], ".venv", ("peft",)),
        (["transformers[torch]>=5", "peft"], ".venv", ("transformers[torch]>=5", "peft")),
        (["train", "peft~=0.18"], "train", ("peft~=0.18",)),
        (["~/train"], "~/train", ()),
    ],
)
def test_the_first_word_is_the_folder_unless_it_is_a_pin(words: list[str], folder: str, pins: object) -> None:
    assert folder_and_pins(words) == (os.path.abspath(os.path.expanduser(folder)), pins)


def test_no_requirement_and_no_python_are_refused(env: dict[str, str], tmp_path: Path) -> None:
    assert "is no requirement" in install(env, tmp_path, "env", "peft=0.17", code=2).stderr
    assert "names no interpreter" in install(env, tmp_path, "--python", "nowhere", code=2).stderr
    assert "on PATH nor uv" in install(env, tmp_path, "--python-version", "3.99", code=2).stderr


def test_uv_looks_for_a_python_of_another_version(tmp_path: Path) -> None:
    env = with_uv(tmp_path, tmp_path / "wheels")
    other = "3.11" if sys.version_info[:2] == (3, 12) else "3.12"
    planned = told(install(env, tmp_path, "--python-version", other, "--dry-run", "--format", "json"))
    assert planned["commands"][0][-3:-1] == ["--python", other]


def test_a_folder_of_other_origin_is_left_alone(env: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "pyvenv.cfg").touch()
    done = install(env, tmp_path, "mine", code=2)
    assert "left alone" in done.stderr and "lora-doctor install" in done.stderr and done.stdout == ""
    found = told(install(env, tmp_path, "mine", "--format", "json", code=2))
    assert found["state"] == "refused" and found["problem"]["command"][:2] == ["lora-doctor", "install"]


def test_what_cannot_be_fetched_is_said_and_can_be_finished_later(tmp_path: Path) -> None:
    """A set of tiny wheels: complete, and by the check anything but proven."""
    env = with_uv(tmp_path, tmp_path / "wheels")
    env.update(UV_DEFAULT_INDEX="http://127.0.0.1:9/simple", TORCH_INDEX_URL="http://127.0.0.1:9/simple")
    failed = told(install(env, tmp_path, "env", "peft==0.18.0", "--format", "json", code=3))
    assert failed["state"] == "failed" and failed["problem"]["why"]

    wheels_of(tmp_path / "wheels", failed["set"]["constraints"])
    [torch] = (tmp_path / "wheels").glob("torch-*.whl")
    env = with_uv(tmp_path, tmp_path / "wheels")
    index = simple_index(tmp_path, torch)
    made = told(install(env, tmp_path, "env", "--format", "json", "--torch-index", index, code=1))
    assert made["state"] == "made" and made["set"]["pins"]["peft"] == "0.18.0"  # as the first run was asked
    assert made["proof"]["verdict"] == "broken"  # this torch has nothing in it

    again = install(env, tmp_path, "env", code=1)
    assert "complete: nothing to install" in again.stderr
    assert "complete, and not proven" in again.stdout and "bin/activate" in again.stdout

    asked = ("--python", "env", "--new-venv", "beside", "--torch-index", index)
    beside = doctor(env, tmp_path, "fix", *asked, code=1).stderr
    assert "smoke test" in beside and "torch/" in beside  # the check of the new one, not of the old
    assert "beside is complete, and not proven" in beside and "beside/bin/activate" in beside


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_broken_off_it_leaves_no_child_and_says_how_to_go_on(tmp_path: Path, number: int, code: int) -> None:
    env = with_uv(tmp_path, tmp_path / "wheels")
    del env["UV_OFFLINE"]
    with socket.create_server(("127.0.0.1", 0)) as silent:  # an index that never answers
        index = f"http://127.0.0.1:{silent.getsockname()[1]}/simple"
        env["UV_DEFAULT_INDEX"] = index
        arguments = [sys.executable, "-m", "doctor", "install", "env", "--torch-index", index]
        with subprocess.Popen(arguments, cwd=tmp_path, env=env, stderr=subprocess.PIPE, text=True) as run:
            assert run.stderr
            while "making the environment" not in run.stderr.readline():
                assert run.poll() is None
            connection, _ = silent.accept()
            children = psutil.Process(run.pid).children(recursive=True)
            assert children
            run.send_signal(number)
            rest = run.stderr.read()
            connection.close()
    assert run.returncode == code
    assert ("broken off; the same command goes on" in rest) == (number == signal.SIGINT)
    assert not any(child.is_running() and child.status() != "zombie" for child in children)
    assert '"unfinished"' in (tmp_path / "env" / "lora-doctor.json").read_text()


@pytest.mark.environments
@GLIBC
def test_the_real_stack_is_made_and_proven(tmp_path: Path) -> None:
    minor = "{}.{}".format(*sys.version_info)
    try:
        torch = sandboxes.torch_wheel(Path(sys.executable), minor)
    except sandboxes.CannotBuild as why:
        pytest.skip(str(why))
    uv = str(Path(sandboxes.uv()).parent)
    index = os.environ.get("TORCH_INDEX_URL", "https://pypi.org/simple")
    env = {**os.environ, "PATH": f"{uv}{os.pathsep}{os.environ['PATH']}", "UV_FIND_LINKS": str(torch.parent)}
    pin = sandboxes.torch_requirement().removesuffix("+cpu")
    with tempfile.TemporaryDirectory(dir=sandboxes.cache_folder()) as folder:
        asked = (f"{folder}/env", pin, "--torch-index", index, "--format", "json")
        found = told(install(env, tmp_path, *asked))
        assert found["state"] == "made"
        runs = {run["stage"]: run["outcome"] for run in found["proof"]["facts"]["trial"]["runs"]}
        assert runs["qlora-step"] == "ok" and set(runs.values()) == {"ok"}
        assert told(install(env, tmp_path, *asked))["state"] == "unchanged"


def test_for_another_machine_the_build_is_for_its_driver_and_gpu(env: dict[str, str], tmp_path: Path) -> None:
    asked = ("--gpu", "A100", "--driver", "550.54.14", "--dry-run", "--format", "json")
    found = told(install(env, tmp_path, "env", *asked))
    assert found["set"]["torch_variant"].startswith("cu12")
    assert found["commands"][1][-1].startswith("https://download.pytorch.org/whl/cu12")
