"""Open MPI's own starter: it gives each process a terminal, and reads it in pieces."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys

import msgspec
import pytest

from doctor.fleet.envelope import Envelope
from fleet.daemons import doctor_words, fleet

pytestmark = [pytest.mark.environments, pytest.mark.program("mpirun")]
# Several "nodes" on this machine, whoever the test runs as.
HERE = ("--option=--oversubscribe", "--option=--allow-run-as-root")
DOCTOR = ("--doctor", shlex.join(doctor_words()))
QUICK = ("--", "--quick", "--python", sys.executable)


def test_ranks_that_print_at_the_same_time_are_all_heard() -> None:
    printed = fleet("run", "--launcher", "mpi", "--nodes", "1", *DOCTOR, *HERE, *QUICK).stdout
    argv = shlex.split(printed.partition(" | ")[0])
    argv[argv.index("-n") + 1], argv[argv.index("--map-by") + 1] = "3", "ppr:3:node"
    done = subprocess.run(argv, capture_output=True, text=True, timeout=90, check=True)
    joined = subprocess.run(
        [*doctor_words(), "fleet", "compare", "-", "--format", "json"],
        input=done.stdout,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    told = json.loads(joined.stdout)
    # Three of one node, and each of them whole.
    assert told["compared"] == 1 and [row["kind"] for row in told["troubles"]] == ["repeated"]


def test_run_here() -> None:
    done = fleet(
        "run", "--launcher", "mpi", "--nodes", "1", *DOCTOR, *HERE, "--go", "--format", "jsonl", *QUICK
    )
    (answer,) = (msgspec.json.decode(line, type=Envelope) for line in done.stdout.splitlines())
    assert answer.report and answer.rank == 0
