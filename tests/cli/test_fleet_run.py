"""``fleet run`` and ``fleet node`` as people and launchers call them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from doctor.fleet.frames import Joiner


def fleet(*words: str, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "doctor", "fleet", *words],
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--launcher", "ssh"), "ssh must be told which hosts to ask"),
        (("--launcher", "ssh", "--hosts", "a[1"), "--hosts: "),
        (("--launcher", "slurm", "--nodes", "0"), "--nodes 0 is nothing to run"),
        (("--launcher", "slurm", "--doctor", "it's"), "--doctor it's: No closing quotation"),
        (("--launcher", "ray", "--go"), "ray is not run from here"),
        (("--launcher", "k8s", "--nodes", "2"), "needs the image"),
        (("--launcher", "torchrun", "--nodes", "2"), "several nodes need a place to meet"),
    ],
)
def test_what_cannot_be_run_is_refused_with_a_way_out(words: tuple[str, ...], message: str) -> None:
    done = fleet("run", *words)
    assert done.returncode == 2 and message in done.stderr and done.stdout == ""
    assert len(done.stderr.splitlines()) == 2


def test_nothing_runs_unless_it_is_asked_for(tmp_path: Path) -> None:
    done = fleet("run", "--launcher", "ssh", "--hosts", "gpu[1-2],a", "--", "--quick", PATH=str(tmp_path))
    assert done.returncode == 0 and done.stdout.count("ssh -T") == 3
    assert "--nodes 'gpu[1-2],a'" in done.stdout.replace('"', "'")


def test_a_launcher_that_is_not_installed(tmp_path: Path) -> None:
    done = fleet("run", "--launcher", "slurm", "--nodes", "2", "--go", "--format", "json", PATH=str(tmp_path))
    assert done.returncode == 1
    assert "the launcher cannot be started" in done.stdout and "srun" in done.stdout


def test_a_node_prints_frames_and_leaves_well_whatever_it_found(tmp_path: Path) -> None:
    done = fleet("node", "--name", "gpu-01", "--", "--quick", "--python", sys.executable)
    joiner = Joiner()
    (whole,) = (text for line in done.stdout.splitlines() if (text := joiner.feed(line)))
    told = json.loads(whole)
    assert done.returncode == 0 and told["node"] == "gpu-01" and told["report"]["subject"]["kind"] == "live"


def test_a_node_whose_check_fails_says_why(tmp_path: Path) -> None:
    words = ("--output-folder", str(tmp_path), "--name", "a/b", "--", "--python", str(tmp_path / "none"))
    assert fleet("node", *words).returncode == 0
    (file,) = tmp_path.iterdir()
    told = json.loads(file.read_text())
    assert file.name == "a_b.json" and told["node"] == "a/b" and told["report"] is None
    assert "exit code 3" in told["failure"] and "names no interpreter" in told["failure"]


def test_a_node_that_takes_too_long_says_so(tmp_path: Path) -> None:
    interpreter = tmp_path / "python"
    interpreter.write_text(f"#!/bin/sh\necho $$ >> {tmp_path}/started\nexec sleep 60\n")
    interpreter.chmod(0o755)
    words = ("--output-folder", str(tmp_path), "--name", "slow", "--timeout", "1")
    fleet("node", *words, "--", "--quick", "--python", str(interpreter))
    assert "no report within 1 s" in json.loads((tmp_path / "slow.json").read_text())["failure"]
    started = [int(number) for number in (tmp_path / "started").read_text().split()]
    assert started and not any(map(psutil.pid_exists, started))


@pytest.mark.parametrize(
    ("words", "env", "message"),
    [
        (("--collective",), {}, "no launcher has given this process a rank"),
        (("--collective",), {"RANK": "0", "WORLD_SIZE": "2"}, "nobody says where the ranks meet"),
        (("--collective", "--endpoint", "x"), {"RANK": "0", "WORLD_SIZE": "2"}, "is no HOST:PORT"),
        (("--output-folder", __file__, "--", "--quick"), {}, "cannot be written"),
    ],
)
def test_a_node_that_cannot_take_part(words: tuple[str, ...], env: dict[str, str], message: str) -> None:
    done = fleet("node", *words, **env)
    assert done.returncode == 2 and message in done.stderr
