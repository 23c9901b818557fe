"""libcuda as it answers in a child of its own: what every CUDA program meets first."""

from __future__ import annotations

from typing import Any

import msgspec

from doctor.child import Completed
from doctor.facts import CudaDriver, Gap
from doctor.probes import CUDA_LIBRARY, Looks
from doctor.probes.driver_signs import bus_gpus
from doctor.probes.signs import kernel, libraries

NAMES = (CUDA_LIBRARY, "nvcuda.dll")


def probe(looks: Looks) -> CudaDriver | Gap:
    """What libcuda said, as far as its child came."""
    if looks.quick:
        return Gap(about="cuda_driver", kind="not-asked", reason=f"cuInit is left out by {looks.left_out_by}")
    found = libraries.libraries(looks.host)
    path = next((found[name] for name in NAMES if name in found), None)
    if path is None:
        return absence(looks)
    answer = looks.cuda.result()
    if answer.completed.code is None:
        return Gap(about="cuda_driver", kind="failed", reason=answer.trouble)
    told: dict[str, Any] = {"library": path}
    devices = []
    for event in answer.events:
        told.update({key: value for key, value in event.items() if value not in ("", None)})
        devices += [event["device"]] if "device" in event else []
    told.setdefault("failure", failure_of(told, answer.completed))
    return msgspec.convert({**told, "devices": devices}, CudaDriver)


def failure_of(told: dict[str, Any], completed: Completed) -> str:
    """How the child ended in place of an answer, "" where it answered."""
    if "error" in told:
        return f"cannot be loaded: {told['error']}"[:300]
    if completed.timed_out:
        return f"gave no answer within {completed.seconds:.0f} s and was killed"
    if completed.signal:
        return f"killed by {completed.signal}"
    return "" if told.get("done") else f"ended with exit code {completed.code} before it had answered"


def absence(looks: Looks) -> Gap:
    """Why there is no libcuda to ask: none needed, or one that is missing beside a driver or a GPU."""
    host, nvml = looks.host, looks.nvml.result().section("nvml") or {}
    if host.os == "darwin":
        return Gap(about="cuda_driver", kind="not-applicable", reason="macOS has no CUDA")
    version = nvml.get("driver") or kernel.module(host).version
    if version:
        reason = f"driver {version} is there, and the loader finds no libcuda"
        return Gap(about="cuda_driver", kind="failed", reason=reason)
    if bus_gpus(host):
        reason = "an NVIDIA GPU is on the bus, and the loader finds no libcuda"
        return Gap(about="cuda_driver", kind="failed", reason=reason)
    return Gap(about="cuda_driver", kind="not-applicable", reason="no NVIDIA driver and no libcuda is here")
