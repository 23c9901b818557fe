"""Runs made by hand: what a watched run might have told."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from doctor.memory.usage import Failure, Gpu, Holder, Level, Look, Process, Run, Torch

GIB, MIB = 1 << 30, 1 << 20
TOTAL = 24 * GIB


def levels(held: Callable[[int], float], steps: int = 200, every: int = 2) -> tuple[Level, ...]:
    """What is held after each second step, half a second a step."""
    return tuple(
        Level(step=step, at_s=step * 0.5, held_bytes=int(held(step))) for step in range(1, steps + 1, every)
    )


def device(
    held: Callable[[int], float] = lambda step: 10 * GIB, reserved: Sequence[int] = (), **told: Any
) -> Torch:
    """torch on GPU 0, with what it reserved over the run's 100 s."""
    told_levels = told.pop("levels", None) or levels(held)
    sizes = reserved or (12 * GIB,) * 101
    return Torch(
        **{
            "device": 0,
            "gpu": 0,
            "levels": told_levels,
            "allocated": tuple((level.at_s, level.held_bytes) for level in told_levels),
            "reserved": tuple((100 * at / (len(sizes) - 1), size) for at, size in enumerate(sizes)),
            "peak_allocated_bytes": 11 * GIB,
            "peak_reserved_bytes": max(sizes),
            **told,
        }
    )


def process(*devices: Torch, **told: Any) -> Process:
    return Process(
        **{
            "pid": 7,
            "torch": "2.13.0",
            "python": "3.11.7",
            "steps": 200,
            "step_s": 0.5,
            "devices": devices,
            **told,
        }
    )


def gpu(used: int = 13 * GIB, others: Sequence[int] = (0, 0), **told: Any) -> Gpu:
    return Gpu(
        **{
            "index": 0,
            "name": "NVIDIA GeForce RTX 4090",
            "total_bytes": TOTAL,
            "used": ((0.0, 1 * GIB), (100.0, used)),
            "own": ((0.0, 1 * GIB), (100.0, used - others[-1])),
            "others": tuple((100.0 * at, size) for at, size in enumerate(others)),
            "peak_bytes": used,
            "least_free_bytes": TOTAL - used,
            **told,
        }
    )


def run(*processes: Process, **told: Any) -> Run:
    return Run(
        **{
            "kind": "command",
            "program": "python",
            "seconds": 100.0,
            "interval_s": 1.0,
            "exit_code": 0,
            "hook": "worked",
            "processes": processes,
            "gpus": (gpu(),) if any(one.devices for one in processes) else (),
            "resident": ((0.0, GIB), (100.0, 2 * GIB)),
            "peak_resident_bytes": 2 * GIB,
            "memory_bytes": 64 * GIB,
            **told,
        }
    )


def looks(*states: tuple[int, bool | None, bool | None, bool]) -> tuple[Look, ...]:
    """Of (step, training, gradients, inside), a second apart."""
    return tuple(
        Look(at_s=float(at), step=step, training=training, gradients=gradients, inside=inside)
        for at, (step, training, gradients, inside) in enumerate(states)
    )


def failed(text: str, **told: Any) -> Failure:
    return Failure(**{"text": text, "source": "exception", "pid": 7, **told})


def holder(size: int, pid: int = 4711, name: str = "jupyter", before: bool = True) -> Holder:
    return Holder(pid=pid, name=name, memory_bytes=size, before=before)
