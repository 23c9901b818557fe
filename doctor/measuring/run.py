"""Starts the child that runs a plan, and turns what it told, or its death, into a measurement."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from doctor.child import Patience
from doctor.collectors import Collected, Event, collect, program
from doctor.host import Host
from doctor.measuring.child import PARTS
from doctor.memory.estimate import Device
from doctor.memory.measured import PHASES, Measurement, Outcome, Phase
from doctor.memory.plan import Plan
from doctor.memory.shapes import ModelShape
from doctor.smoke.trial import FOLDERS, LAUNCHER, OFFLINE
from doctor.target import Target

PHASE_LIMIT_S = 900.0  # of one phase that computes all the while: a 70B model is loaded and quantised in less
IDLE_S = 60.0
NOT_OF_A_MODEL = ("OMP_NUM_THREADS",)  # threads as the user has them
ALLOCATOR = ("PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF")  # releases differ in which of them they obey
VISIBLE = "CUDA_VISIBLE_DEVICES"
WEIGHT_FILES = (".safetensors", ".bin")

OnPhase = Callable[[str, int], None]  # told each phase as it begins, with the number of its step


def measure(
    host: Host,
    target: Target,
    shape: ModelShape,
    plan: Plan,
    device: Device,
    *,
    on_phase: OnPhase | None = None,
    limit_bytes: int | None = None,
    phase_limit_s: float = PHASE_LIMIT_S,
) -> Measurement:
    """Two steps of a settled plan, in a child that may die of it: its death is a result.

    ``limit_bytes`` bounds the child's resident memory where the device is the CPU.
    """
    weights = weights_folder(host, shape)

    def told(event: Event) -> None:
        if event.get("event") == "start" and on_phase:
            on_phase(str(event.get("phase")), int(event.get("step", 0)))

    with host.temporary_folder() as folder:
        child = collect(
            host,
            target.executable,
            program(PARTS, "doctor.measuring.child"),
            {**_task(host, shape, plan, device, limit_bytes), "folder": folder, "weights": weights},
            patience=Patience(phase_limit_s, min(IDLE_S, phase_limit_s)),
            env=_environment(host, plan, device, folder),
            merge=True,
            on_event=told,
        )
    return measurement_of(child, plan, device, random=("tokens",) if weights else ("weights", "tokens"))


def weights_folder(host: Host, shape: ModelShape) -> str | None:
    """The model's own folder where its weights lie in it."""
    names = host.list_folder(shape.folder) if shape.folder else ()
    return shape.folder if any(name.endswith(WEIGHT_FILES) for name in names) else None


def _task(
    host: Host, shape: ModelShape, plan: Plan, device: Device, limit_bytes: int | None
) -> dict[str, Any]:
    import msgspec

    total, free = device.total_bytes, device.free_bytes
    if VISIBLE in host.env:  # which GPU that is, and so what others hold of it, is not known here
        total = None
    return {
        "look": "measure",
        "plan": msgspec.to_builtins(plan),
        "config": {"model_type": shape.model_type, **shape.config},
        "device": device.kind,
        "others_bytes": None if total is None or free is None else total - free,
        "limit_bytes": limit_bytes if device.kind == "cpu" else None,
    }


def _environment(host: Host, plan: Plan, device: Device, folder: str) -> dict[str, str]:
    env = {name: value for name, value in host.env.items() if name not in LAUNCHER}
    env |= {name: value for name, value in OFFLINE.items() if name not in NOT_OF_A_MODEL}
    if device.index is not None and VISIBLE not in env:
        env |= {"CUDA_DEVICE_ORDER": "PCI_BUS_ID", VISIBLE: str(device.index)}  # the one that is told of
    if plan.expandable_segments:
        env |= dict.fromkeys(ALLOCATOR, "expandable_segments:True")
    return {**env, **dict.fromkeys(FOLDERS, folder)}


def measurement_of(child: Collected, plan: Plan, device: Device, random: tuple[str, ...]) -> Measurement:
    """What a child told, or how it ended where it told no end."""
    begin = _last(child, "begin")
    end = _last(child, "end") or _death(child)
    counted = {name: int(end.get(name) or 0) for name in COUNTED}
    context = end.get("context_bytes")
    return Measurement(
        plan=plan,
        kind=device.kind,
        device=str(begin.get("device") or device.name),
        outcome=end["outcome"],
        phases=phases_of(child),
        reason=str(end.get("reason") or ""),
        died_in=str(end.get("phase") or ""),
        step=int(end.get("step") or 0),
        frames=tuple(map(str, end.get("frames") or ())),
        context_bytes=None if context is None else int(context),
        versions=dict(end.get("versions") or begin.get("versions") or {}),
        driver=device.driver,
        random=random,
        notes=() if end.get("forgets_peaks", True) else (PEAK_OF_ALL,),
        seconds=child.completed.seconds,
        **counted,
    )


COUNTED = ("weights_bytes", "adapter_bytes", "optimizer_bytes", "trainable_parameters")
PEAK_OF_ALL = "this system does not reset the peak of a process: what is resident is the peak so far"


def phases_of(child: Collected) -> dict[str, Phase]:
    """The highest of each phase over all that a child told of it."""
    found: dict[str, list[Event]] = {}
    for event in child.events:
        if event.get("event") == "phase" and event.get("phase") in PHASES:
            found.setdefault(str(event["phase"]), []).append(event)
    return {name: _highest(found[name]) for name in PHASES if name in found}


def _highest(events: list[Event]) -> Phase:
    def most(name: str) -> int | None:
        told = [int(event[name]) for event in events if event.get(name) is not None]
        return max(told, default=None)

    return Phase(
        allocated_bytes=most("allocated_bytes") or 0,
        alive_bytes=most("alive_bytes") or 0,
        reserved_bytes=most("reserved_bytes"),
        device_bytes=most("device_bytes"),
        saved_bytes=most("saved_bytes"),
        seconds=sum(float(event.get("seconds", 0.0)) for event in events),
    )


def _last(child: Collected, name: str) -> Mapping[str, Any]:
    return next((event for event in reversed(child.events) if event.get("event") == name), {})


def _death(child: Collected) -> Mapping[str, Any]:
    """The end of a child that did not tell it: killed for its memory, hung, or broken."""
    done, start = child.completed, _last(child, "start")
    where = {"phase": start.get("phase", ""), "step": start.get("step", 0)}
    outcome: Outcome = "failed"
    reason = child.trouble
    if done.timed_out:
        outcome = "hung"
    elif done.signal == "SIGKILL" and start:
        outcome, reason = "out-of-memory", KILLED
    return {"outcome": outcome, "reason": reason, **where}


KILLED = "the system killed the process, as it does where memory has run out"
