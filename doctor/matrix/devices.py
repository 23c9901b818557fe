"""The GPUs that CUDA shows to a program here, from whichever witness knows best."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from doctor.facts import Facts, Gpu
from doctor.matrix.gpus import gpu_named

# Values of CUDA_VISIBLE_DEVICES that name no device: nothing, a negative index, a word.
HIDES_ALL = re.compile(r"\s*(-\d.*|(?!GPU|MIG)\D*)$")


class Device(NamedTuple):
    """A GPU that a program sees."""

    name: str
    capability: str  # "8.6"
    ordinal: int | None  # as CUDA numbers it; None where only NVML's order is known


def visible_devices(facts: Facts) -> tuple[Device, ...]:
    """The GPUs whose compute capability is known: as torch saw them, else libcuda, else NVML.

    Where NVML alone answers, indices in CUDA_VISIBLE_DEVICES select only under CUDA_DEVICE_ORDER=PCI_BUS_ID:
    CUDA's own order is another one.
    """
    runtime, libcuda = facts.torch_runtime, facts.cuda_driver
    if runtime and runtime.capabilities:
        named = zip(runtime.devices, runtime.capabilities, strict=False)
        return tuple(Device(name, one, number) for number, (name, one) in enumerate(named))
    if libcuda and libcuda.devices:
        told = ((one.name, one.compute_capability, one.ordinal) for one in libcuda.devices)
        return tuple(Device(name, capability, ordinal) for name, capability, ordinal in told if capability)
    return tuple(described(selected(facts.gpus or (), facts.environment or {})))


def kinds(devices: Iterable[Device]) -> tuple[Device, ...]:
    """One GPU for all that are alike, the first of them."""
    return tuple({(one.name, one.capability): one for one in reversed(tuple(devices))}.values())[::-1]


def described(gpus: Iterable[Gpu]) -> Iterator[Device]:
    """GPUs as NVML tells them; old drivers do not tell the compute capability, the name does."""
    for gpu in gpus:
        capability = gpu.compute_capability or capability_named(gpu.name)
        if capability:
            yield Device(gpu.name, capability, None)


def capability_named(name: str) -> str:
    """The compute capability of a GPU by its name, "" where the table has it not."""
    known = gpu_named(name)
    return known.compute_capability if known else ""


def selected(gpus: Iterable[Gpu], environment: Mapping[str, str]) -> list[Gpu]:
    """What CUDA_VISIBLE_DEVICES leaves, as far as that can be told; all where it cannot."""
    value, found = environment.get("CUDA_VISIBLE_DEVICES"), list(gpus)
    if value is None:
        return found
    if HIDES_ALL.match(value):
        return []
    indices = [token.strip() for token in value.split(",")]
    if environment.get("CUDA_DEVICE_ORDER") != "PCI_BUS_ID" or not all(one.isdigit() for one in indices):
        return found
    return [gpu for gpu in found if str(gpu.index) in indices]
