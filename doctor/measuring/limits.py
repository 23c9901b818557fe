"""What is not run at all: plans of more than one device, and runs that the machine would not survive."""

from __future__ import annotations

from doctor.memory.estimate import Device, Estimate
from doctor.memory.plan import Plan

SPARED = 0.10  # of the free memory, left to everybody else
_GIB = 1 << 30


class NotMeasurable(Exception):
    """A plan that is not run here; ``hint`` says what can be done."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.hint = hint


def bound_bytes(device: Device, limit_bytes: int | None) -> int | None:
    """What a run on the CPU may take: the stated limit, else what is free less a share; None on a GPU."""
    if device.kind == "cuda":
        return None
    spared = None if device.free_bytes is None else int(device.free_bytes * (1 - SPARED))
    return min((bound for bound in (limit_bytes, spared) if bound is not None), default=None)


def check(plan: Plan, device: Device, estimate: Estimate | None, limit_bytes: int | None) -> None:
    """Raise :class:`NotMeasurable` for a plan that is not to be run here.

    On a GPU running out of memory is a result; on the CPU it would take the machine down with it.
    """
    if plan.gpus > 1 or plan.sharding != "none" or plan.offload != "none":
        raise NotMeasurable(
            "a measurement runs on one device, and this plan divides its work",
            "measure the share of one GPU: leave out --gpus, --sharding and --offload",
        )
    free = device.free_bytes
    if device.kind == "cuda" or free is None:
        return
    if limit_bytes is not None and limit_bytes > free:
        raise NotMeasurable(
            f"the limit of {limit_bytes / _GIB:.1f} GiB is more than the {free / _GIB:.1f} GiB that are free",
            "give a smaller --limit",
        )
    bound = bound_bytes(device, limit_bytes)
    if estimate is not None and bound is not None and estimate.peak_bytes > bound and limit_bytes is None:
        raise NotMeasurable(
            f"this run would take about {estimate.peak_bytes / _GIB:.1f} GiB of memory, and "
            f"{free / _GIB:.1f} GiB are free",
            "choose a smaller model, length or batch, or set --limit to see where it runs out",
        )
