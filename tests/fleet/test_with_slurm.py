"""A Slurm of four nodes: one answers, one hangs, one prints rubbish, one dies."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec
import pytest

from doctor.fleet.collective import findings
from doctor.fleet.envelope import Envelope
from fleet.daemons import NODES, doctor_words, fleet, free_ports, program, slurm, stub

pytestmark = [pytest.mark.environments, pytest.mark.program("slurmctld", "slurmd", "munged", "srun", "sinfo")]
QUICK = ("--", "--quick", "--python", sys.executable)


@pytest.fixture(scope="module")
def cluster() -> Iterator[Mapping[str, str]]:
    """The environment of a running cluster."""
    with slurm() as env:
        yield env


def answers(text: str) -> dict[str, Envelope]:
    lines = [line for line in text.splitlines() if '"node"' in line]
    return {one.node: one for one in (msgspec.json.decode(line, type=Envelope) for line in lines)}


def ill(tmp_path: Path) -> str:
    """A doctor that is well on n1 only."""
    real = shlex.join(doctor_words())
    return stub(
        tmp_path / "doctor",
        f"""case $SLURMD_NODENAME in
n2) exec sleep 1000;;
n3) head -c 200000 /dev/urandom | od -c; exit 3;;
n4) kill -SEGV $$;;
esac
exec {real} "$@"
""",
    )


def test_all_nodes_answer(cluster: Mapping[str, str]) -> None:
    words = ("--doctor", shlex.join(doctor_words()), "--go", "--format", "jsonl")
    found = answers(fleet("run", "--launcher", "slurm", "--nodes", "4", *words, *QUICK, env=cluster).stdout)
    assert sorted(found) == list(NODES)
    assert all(one.report for one in found.values())
    assert sorted(one.rank for one in found.values() if one.rank is not None) == [0, 1, 2, 3]


def test_ill_nodes_hold_up_nobody_and_are_told_of(cluster: Mapping[str, str], tmp_path: Path) -> None:
    # The doctor reads the allocation's list; srun shall make a step of its own all the same.
    own = stub(tmp_path / "srun", f'unset SLURM_JOB_NODELIST\nexec {program("srun")} "$@"\n')
    path = os.pathsep.join((os.path.dirname(own), os.environ.get("PATH", os.defpath)))
    env = {**cluster, "SLURM_JOB_NODELIST": "n[1-4]", "PATH": path}
    # srun waits for the slowest as long as --wait says, from the end of the first task.
    words = ("--doctor", ill(tmp_path), "--go", "--option=--wait=5", "--option=--nodelist=" + ",".join(NODES))
    done = fleet("run", "--launcher", "slurm", *words, "--format", "json", *QUICK, env=env)
    told = json.loads(done.stdout)
    assert done.returncode == 1
    assert told["compared"] == 1 and told["expected"] == 4
    assert {row["node"] for row in told["troubles"]} == {"n2", "n3", "n4"}
    assert "n2: task 1: Killed" in done.stderr  # srun's own words


def test_the_printed_line_runs_as_it_is(cluster: Mapping[str, str]) -> None:
    doctor = shlex.join(doctor_words())
    asked = ("run", "--launcher", "slurm", "--nodes", "2", "--doctor", doctor)
    printed = fleet(*asked, *QUICK, env=cluster)
    assert "--gpus-per-node" in printed.stderr
    script = printed.stdout.replace("| lora-doctor fleet compare", f"| {doctor} fleet compare --format json")
    done = subprocess.run(
        ["sh", "-c", script], env=dict(cluster), capture_output=True, text=True, timeout=60, check=False
    )
    assert json.loads(done.stdout)["compared"] == 2, done.stderr


@pytest.mark.environments
def test_ranks_meet_under_srun_without_torchrun(cluster: Mapping[str, str], base_python: str) -> None:
    endpoint = f"localhost:{free_ports(1)[0]}"
    words = ("--doctor", shlex.join(doctor_words()), "--python", base_python, "--endpoint", endpoint)
    asked = ("run", "--launcher", "slurm", "--nodes", "2", "--nproc-per-node", "1", "--wait", "20", *words)
    done = fleet(
        *asked, "--go", "--format", "jsonl", "--", "--quick", env={**cluster, "OMP_NUM_THREADS": "1"}
    )
    found = answers(done.stdout)
    assert sorted(found) == ["n1", "n2"] and all(one.report for one in found.values()), done
    assert [one.collective.outcome for one in found.values() if one.collective] == ["ok", "ok"]
    assert findings(found.values()) == ()
