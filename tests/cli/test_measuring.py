"""``fit --measure`` and ``fit --bisect`` as a user sees them: progress, answer, exit code."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
import typer
from fakes import Call, FakeHost, emits
from healthy import PYTHON, TARGET

from doctor.child import Completed
from doctor.cli.measuring import EXIT_CODES, bisect_and_tell, measured_beside
from doctor.measuring.calibration import KEPT
from doctor.memory.estimate import Device, Estimate, Moment, Part
from doctor.memory.plan import Plan
from doctor.memory.shapes import ModelShape

GIB = 1 << 30
T4 = Device(
    name="NVIDIA T4",
    driver="550.54.14",
    total_bytes=15 * GIB,
    free_bytes=14 * GIB,
    others={"python (pid 7)": GIB},
)
CPU = Device(kind="cpu", total_bytes=9 * GIB, free_bytes=8 * GIB)
SHAPE = ModelShape(
    name="tiny",
    config={"model_type": "llama", "max_position_embeddings": 4096},
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


def estimate(peak: int = 2 * GIB, **plan: Any) -> Estimate:
    return Estimate(
        plan=Plan(**plan),
        tier="trace",
        parts={"overhead": Part(amount_bytes=peak, source="assumed")},
        peak_allocated_bytes=peak // 2,
        peak_reserved_bytes=peak,
        context_bytes=0,
        error=0.04,
        moment=Moment(phase="backward"),
        trainable_parameters=4,
        total_parameters=100,
        phases={"backward": peak // 2},
    )


def child(room: int) -> Any:
    """Children that run out of memory beyond so many tokens."""

    def reply(call: Call) -> Completed:
        plan = call.config["plan"]
        fits = plan["batch_size"] * plan["sequence_length"] <= room
        sizes = {"allocated_bytes": GIB, "alive_bytes": 1, "reserved_bytes": 3 * GIB, "device_bytes": 4 * GIB}
        events = (
            {"event": "begin", "device": "Tesla T4", "versions": {"torch": "2.13.0"}},
            {"event": "start", "phase": "backward", "step": 1},
            {"event": "phase", "phase": "backward", "step": 1, **sizes},
            {"event": "end", "outcome": "ok" if fits else "out-of-memory", "trainable_parameters": 4},
        )
        return emits(*events)(call)

    return reply


def host_of(room: int) -> Any:
    return FakeHost().on(PYTHON, replies=child(room))


def test_a_measurement_is_told_beside_its_prediction_and_kept(capsys: pytest.CaptureFixture[str]) -> None:
    host = host_of(10**6)
    found = measured_beside(host, TARGET, SHAPE, estimate(), T4)
    rows = {one.name: (one.measured, one.predicted) for one in found.differences}
    assert rows["backward"] == (GIB, GIB) and rows["reserved"] == (3 * GIB, 2 * GIB)
    assert EXIT_CODES[found.measurement.outcome] == 0
    assert capsys.readouterr().err == "backward, step 1\n"
    assert KEPT in host.kept and found.notes


def test_running_out_is_an_answer_and_nothing_is_kept() -> None:
    host = host_of(0)
    found = measured_beside(host, TARGET, SHAPE, estimate(), T4)
    assert EXIT_CODES[found.measurement.outcome] == 1
    assert not host.kept and found.notes == ()


@pytest.mark.parametrize(
    ("asked", "device", "words"),
    [
        (estimate(peak=20 * GIB), CPU, "about 20.0 GiB of memory, and 8.0 GiB are free"),
        (estimate(gpus=2, sharding="zero3"), T4, "one device"),
    ],
)
def test_what_is_not_run_ends_with_2(
    asked: Estimate, device: Device, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    host = host_of(10**6)
    with pytest.raises(typer.Exit) as left:
        measured_beside(host, TARGET, SHAPE, asked, device)
    assert left.value.exit_code == 2 and words in capsys.readouterr().err
    assert host.calls == []


def test_a_search_tells_who_is_in_the_way_each_trial_and_the_answer(
    capsys: pytest.CaptureFixture[str],
) -> None:
    code = bisect_and_tell(host_of(2100), TARGET, SHAPE, Plan(), T4)
    told = capsys.readouterr()
    assert code == 0
    assert told.out.splitlines() == [
        "Largest length at batch 1: 2048 tokens.",
        "Largest batch at 2048 tokens: 1.",
    ]
    first, second, *_ = told.err.splitlines()
    assert first.startswith("Held by other processes now: python (pid 7) 1.00 GiB.")
    assert second.startswith("1 x 1024 tokens: runs, peak 3.00 GiB")


@pytest.mark.parametrize("format", ["json", "jsonl", "markdown", "html"])
def test_the_answer_of_a_search_as_a_file(format: str, tmp_path: Path) -> None:
    path = tmp_path / "answer"
    plan = msgspec.structs.replace(Plan(), sequence_length=512)
    assert bisect_and_tell(host_of(1100), TARGET, SHAPE, plan, CPU, format=format, output=str(path)) == 0
    text = path.read_text()
    if format.startswith("json"):
        document = json.loads(text)
        assert (document["length"], document["batch_size"], document["batch_length"]) == (1088, 2, 512)
    else:
        assert "1088 tokens" in text


def test_a_machine_on_which_nothing_runs() -> None:
    assert bisect_and_tell(host_of(10), TARGET, SHAPE, Plan(), T4) == 1
