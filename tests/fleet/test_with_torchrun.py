"""torchrun of a real torch, with gloo: a world that is well, and one rank that is ill in each way."""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path

import msgspec
import psutil
import pytest

from doctor.findings import Finding
from doctor.fleet.collective import findings
from doctor.fleet.envelope import Envelope
from fleet.daemons import doctor_words, fleet, until
from fleet.ill_rank import infected

pytestmark = pytest.mark.environments
WAIT_S = 8


def ran(python: str, *words: str, env: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """A test of three ranks, or what else the words say."""
    doctor = ("--doctor", shlex.join(doctor_words()), "--python", python, "--wait", str(WAIT_S))
    asked = ("run", "--launcher", "torchrun", "--nproc-per-node", "3", *doctor, *words, "--", "--quick")
    return fleet(*asked, env={**os.environ, "OMP_NUM_THREADS": "1", **(env or {})})


def told(python: str, *words: str, env: Mapping[str, str] | None = None) -> list[Envelope]:
    done = ran(python, "--go", "--format", "jsonl", *words, env=env)
    return [msgspec.json.decode(line, type=Envelope) for line in done.stdout.splitlines()]


def only(envelopes: list[Envelope]) -> Finding:
    found = findings(envelopes)
    assert len(found) == 1, found
    return found[0]


def seen(finding: Finding) -> str:
    return " | ".join(f"{one.subject}: {one.seen} {one.wanted}" for one in finding.evidence)


def test_a_world_that_is_well(base_python: str) -> None:
    envelopes = told(base_python)
    assert findings(envelopes) == ()
    assert [bool(one.report) for one in sorted(envelopes, key=lambda one: one.rank or 0)] == [
        True,
        False,
        False,
    ]
    for one in envelopes:
        assert one.collective and one.collective.outcome == "ok"
        assert {pair.outcome for pair in one.collective.pairs} == {"ok"} and len(one.collective.pairs) == 2
        assert one.collective.all_reduce and one.collective.all_reduce.seen == 1 + 2 + 3
        assert len(one.collective.speeds) == 3 and all(
            speed.bus_bytes_per_s > 0 for speed in one.collective.speeds
        )


@pytest.mark.parametrize(
    ("illness", "id", "words"),
    [
        ("never", "fleet/rank-died", "missed by 2 of 3"),
        ("dies", "fleet/rank-died", "killed by SIGSEGV"),
        ("hangs", "fleet/rank-hung", "no word for"),
    ],
)
def test_a_rank_that_is_lost_is_named(
    base_python: str, tmp_path: Path, illness: str, id: str, words: str
) -> None:
    found = only(told(base_python, env=infected(tmp_path, 1, illness)))
    assert found.id == id and "Rank 1 (" in found.title
    assert words in seen(found)


def test_a_rank_that_lies_is_named(base_python: str, tmp_path: Path) -> None:
    found = only(told(base_python, env=infected(tmp_path, 1, "lies")))
    assert found.id == "fleet/wrong-sum"
    assert found.title.startswith("Rank 1 (") and "every rank it was paired with" in found.title
    assert "ranks 0 and 1: 13 instead of 3" in seen(found) and "16 6" in seen(found)


def test_a_pair_that_cannot_talk_is_named(base_python: str, tmp_path: Path) -> None:
    found = only(told(base_python, env=infected(tmp_path, 2, "cut")))
    assert found.id == "fleet/pair-fails" and found.title.startswith("Rank 0 (") and "rank 2 (" in found.title


def test_an_interface_that_is_not_there_is_shown_beside_those_that_are(base_python: str) -> None:
    found = only(told(base_python, env={"GLOO_SOCKET_IFNAME": "nosuch0"}))
    assert found.id == "fleet/pair-fails" and found.title == "No pair of the 3 ranks can talk"
    assert "GLOO_SOCKET_IFNAME=nosuch0 one of lo 127.0.0.1" in seen(found)


def rendezvous(python: str, endpoint: str) -> str:
    envelopes = told(python, "--nodes", "2", "--endpoint", endpoint, "--nproc-per-node", "1", "--wait", "4")
    found = only(envelopes)
    assert found.id == "fleet/rendezvous-failed"
    return seen(found)


def test_a_port_that_another_program_has(base_python: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as foreign:
        threading.Thread(target=hang_up, args=(foreign,), daemon=True).start()
        endpoint = f"localhost:{foreign.getsockname()[1]}"
        assert "what listens there is no store of torch's" in rendezvous(base_python, endpoint)
        foreign.shutdown(socket.SHUT_RDWR)


def hang_up(server: socket.socket) -> None:
    """Accept whoever comes and close."""
    with contextlib.suppress(OSError):
        while True:
            server.accept()[0].close()


def test_an_interpreter_without_torch() -> None:
    found = only(told(sys.executable))
    assert "the interpreter on this node has no torch" in seen(found)


def test_an_interrupted_run_leaves_no_process(base_python: str, tmp_path: Path) -> None:
    env = {**os.environ, "OMP_NUM_THREADS": "1", **infected(tmp_path, 1, "hangs")}
    doctor = ("--doctor", shlex.join(doctor_words()), "--python", base_python, "--go", "--", "--quick")
    words = ("run", "--launcher", "torchrun", "--nproc-per-node", "3", *doctor)
    with subprocess.Popen(
        [*doctor_words(), "fleet", *words], env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as run:
        until(lambda: len(of_run(tmp_path)) >= 7 and "T" in states(tmp_path), "a rank that hangs")
        run.send_signal(signal.SIGINT)
    until(lambda: of_run(tmp_path) == [], "the end of all ranks")


def of_run(folder: Path) -> list[psutil.Process]:
    """The processes of a run, by a variable that only they have."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if (
                process.environ().get("PYTHONPATH") == str(folder)
                and process.status() != psutil.STATUS_ZOMBIE
            ):
                found.append(process)
    return found


def states(folder: Path) -> set[str]:
    """T where one of them is stopped."""
    found = set()
    for process in of_run(folder):
        with contextlib.suppress(psutil.Error):
            found.add("T" if process.status() == psutil.STATUS_STOPPED else "")
    return found
