"""From what a child tells, or from its death, to a measurement."""

from __future__ import annotations

from typing import Any

import msgspec
from fakes import HUNG, FakeHost, emits
from healthy import PYTHON, TARGET

from doctor.measuring.run import KILLED, measure
from doctor.memory.estimate import Device
from doctor.memory.measured import Measurement
from doctor.memory.plan import Plan
from doctor.memory.shapes import ModelShape

T4 = Device(name="NVIDIA T4", driver="550.54.14", total_bytes=1000, free_bytes=900)
CPU = Device(kind="cpu", total_bytes=1000, free_bytes=900)
SHAPE = ModelShape(
    name="tiny",
    config={"model_type": "llama", "hidden_size": 8},
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
BEGIN = {"event": "begin", "device": "Tesla T4", "versions": {"torch": "2.13.0"}}


def start(phase: str, step: int) -> dict[str, Any]:
    return {"event": "start", "phase": phase, "step": step}


def phase(name: str, step: int, allocated: int, **more: Any) -> dict[str, Any]:
    told = {"event": "phase", "phase": name, "step": step, "allocated_bytes": allocated, "alive_bytes": 1}
    return {**told, "reserved_bytes": 2 * allocated, "device_bytes": 3 * allocated, "seconds": 0.5, **more}


def measured(
    *events: Any, device: Device = T4, plan: Plan | None = None, **how: Any
) -> tuple[Measurement, FakeHost]:
    host = FakeHost(env={"RANK": "3", "OMP_NUM_THREADS": "4"}).on(PYTHON, replies=emits(*events, **how))
    return measure(host, TARGET, SHAPE, plan or Plan(), device, limit_bytes=500), host


def test_the_highest_of_both_steps_counts() -> None:
    end = {"event": "end", "outcome": "ok", "context_bytes": 7, "weights_bytes": 5, "trainable_parameters": 3}
    seen, _ = measured(
        BEGIN,
        phase("load", 0, 10),
        phase("forward", 1, 20, saved_bytes=4),
        phase("backward", 1, 30),
        phase("forward", 2, 25, saved_bytes=6),
        phase("backward", 2, 28),
        end,
    )
    assert (seen.outcome, seen.device, seen.versions) == ("ok", "Tesla T4", {"torch": "2.13.0"})
    assert list(seen.phases) == ["load", "forward", "backward"]
    assert (seen.phases["forward"].allocated_bytes, seen.phases["forward"].saved_bytes) == (25, 6)
    assert (seen.phases["backward"].reserved_bytes, seen.phases["backward"].seconds) == (60, 1.0)
    assert (seen.peak_allocated_bytes, seen.peak_reserved_bytes, seen.peak_bytes) == (30, 60, 67)
    assert seen.random == ("weights", "tokens")


def test_an_exception_of_torch_is_told_with_its_place() -> None:
    end = {
        "event": "end",
        "outcome": "out-of-memory",
        "phase": "backward",
        "step": 1,
        "reason": "OutOfMemoryError: CUDA out of memory.",
        "frames": ["a.py:3 in f"],
    }
    seen, _ = measured(BEGIN, phase("load", 0, 10), start("backward", 1), end)
    assert (seen.outcome, seen.died_in, seen.step) == ("out-of-memory", "backward", 1)
    assert seen.frames == ("a.py:3 in f",) and list(seen.phases) == ["load"]


def test_a_killed_child_ran_out_of_memory() -> None:
    seen, _ = measured(BEGIN, start("load", 0), code=-9)
    assert (seen.outcome, seen.died_in, seen.reason) == ("out-of-memory", "load", KILLED)


def test_one_killed_before_it_began_proves_nothing() -> None:
    assert measured(code=-9)[0].outcome == "failed"


def test_any_other_death_is_a_failure_in_its_words() -> None:
    seen, _ = measured(BEGIN, start("forward", 1), "Fatal: no kernel image\n", code=-11)
    assert (seen.outcome, seen.died_in) == ("failed", "forward")
    assert "SIGSEGV" in seen.reason and "no kernel image" in seen.reason


def test_a_child_that_hangs() -> None:
    host = FakeHost().on(PYTHON, replies=HUNG)
    assert measure(host, TARGET, SHAPE, Plan(), T4).outcome == "hung"


def test_what_the_child_is_told() -> None:
    _, host = measured(BEGIN, {"event": "end", "outcome": "ok"}, plan=Plan(expandable_segments=True))
    (call,) = host.calls
    assert call.config["others_bytes"] == 100 and call.config["limit_bytes"] is None  # a GPU needs none
    assert call.config["config"] == {"model_type": "llama", "hidden_size": 8}
    assert call.env is not None and "RANK" not in call.env
    assert call.env["OMP_NUM_THREADS"] == "4" and call.env["HF_HUB_OFFLINE"] == "1"
    assert call.env["PYTORCH_CUDA_ALLOC_CONF"] == call.env["PYTORCH_ALLOC_CONF"] == "expandable_segments:True"
    assert host.folders_open == 0


def asked_of(device: Device, env: dict[str, str]) -> tuple[dict[str, str], int | None]:
    """The environment and what others hold, as the child is told."""
    host = FakeHost(env=env).on(PYTHON, replies=emits(BEGIN, {"event": "end", "outcome": "ok"}))
    measure(host, TARGET, SHAPE, Plan(), device)
    (call,) = host.calls
    return dict(call.env or {}), call.config["others_bytes"]


def test_the_gpu_that_is_told_of_is_the_one_that_runs() -> None:
    third = msgspec.structs.replace(T4, index=2)
    env, others = asked_of(third, {})
    assert (env["CUDA_DEVICE_ORDER"], env["CUDA_VISIBLE_DEVICES"], others) == ("PCI_BUS_ID", "2", 100)
    # The user's own choice stands; which GPU it means is not known, so neither is what others hold of it.
    env, others = asked_of(third, {"CUDA_VISIBLE_DEVICES": "0"})
    assert (env["CUDA_VISIBLE_DEVICES"], others) == ("0", None)


def test_on_the_cpu_the_child_is_bounded_and_the_allocator_is_left_alone() -> None:
    _, host = measured(BEGIN, {"event": "end", "outcome": "ok"}, device=CPU)
    (call,) = host.calls
    assert call.config["limit_bytes"] == 500 and call.config["device"] == "cpu"
    assert call.env is not None and "PYTORCH_ALLOC_CONF" not in call.env


def test_weights_in_the_folder_of_the_model_are_used() -> None:
    host = FakeHost(files={"/models/tiny/config.json": "{}", "/models/tiny/model.safetensors": ""})
    host.on(PYTHON, replies=emits(BEGIN, {"event": "end", "outcome": "ok"}))
    shape = msgspec.structs.replace(SHAPE, folder="/models/tiny")
    seen = measure(host, TARGET, shape, Plan(), T4)
    assert seen.random == ("tokens",) and host.calls[0].config["weights"] == "/models/tiny"
