"""A search whose trials are children: each in its own process, bounded, and stopped by Ctrl-C."""

from __future__ import annotations

import os
import signal
import sys
import threading
from pathlib import Path

import pytest
from fakes import Call, FakeHost, emits
from healthy import PYTHON, TARGET

from doctor.child import Completed
from doctor.host import LocalHost
from doctor.measuring.trials import MOST_LENGTH, TRIAL_LIMIT_S, most_length, trials_of
from doctor.memory.bisection import Bisection
from doctor.memory.estimate import Device
from doctor.memory.plan import Plan
from doctor.memory.shapes import ModelShape
from doctor.target import Target

GIB = 1 << 30
CPU = Device(kind="cpu", total_bytes=9 * GIB, free_bytes=8 * GIB)


def shape(**config: object) -> ModelShape:
    return ModelShape(
        name="tiny",
        config={"model_type": "llama", **config},
        source="config",
        model_type="llama",
        layers=1,
        hidden=8,
        heads=1,
        kv_heads=1,
        head_dim=8,
        intermediate=8,
        vocab=8,
    )


def device_of(room: int) -> FakeHost:
    """Children that run out of memory beyond so many tokens."""

    def reply(call: Call) -> Completed:
        plan = call.config["plan"]
        fits = plan["batch_size"] * plan["sequence_length"] <= room
        end = {"event": "end", "outcome": "ok" if fits else "out-of-memory", "context_bytes": 5}
        return emits({"event": "begin"}, end)(call)

    return FakeHost().on(PYTHON, replies=reply)


def test_the_largest_plan_is_found_by_children() -> None:
    host = device_of(5000)
    run = trials_of(host, TARGET, shape(), Plan(accumulation=8), CPU, limit_bytes=4 * GIB)
    found = Bisection(run, 2048, 8192).search()
    assert (found.length, found.batch_size, found.batch_length) == (4992, 2, 2048)
    assert len(host.calls) == len(found.trials)
    for call in host.calls:
        assert call.config["limit_bytes"] == 4 * GIB and call.config["plan"]["accumulation"] == 1
        assert call.patience.limit_s == TRIAL_LIMIT_S
    assert host.folders_open == 0


@pytest.mark.parametrize(
    ("config", "most"),
    [
        ({"max_position_embeddings": 4096}, 4096),
        ({"n_positions": 1000}, 960),
        ({"max_position_embeddings": -5}, MOST_LENGTH),
        ({"max_position_embeddings": "many"}, MOST_LENGTH),
        ({}, MOST_LENGTH),
    ],
)
def test_the_model_bounds_the_length(config: dict[str, object], most: int) -> None:
    assert most_length(shape(**config)) == most


@pytest.mark.skipif(sys.platform == "win32", reason="signals as POSIX has them")
def test_ctrl_c_ends_the_child_and_the_search(tmp_path: Path) -> None:
    sleeper = tmp_path / "python"
    sleeper.write_text(f'#!/bin/sh\necho $$ > "{tmp_path}/pid"\nexec sleep 600\n')
    sleeper.chmod(0o755)
    host = LocalHost()
    run = trials_of(host, Target(str(sleeper), "a test"), shape(), Plan(), CPU)

    def interrupt() -> None:
        while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text().strip():
            threading.Event().wait(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    pressing = threading.Thread(target=interrupt)
    pressing.start()
    found = Bisection(run, 2048, 8192).search()
    pressing.join()
    assert (found.ended, found.length, found.trials) == ("interrupted", 0, ())
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)
