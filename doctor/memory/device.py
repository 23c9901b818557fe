"""The device that a plan is held against: a GPU as seen or as it is sold, or the system's memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from doctor.facts import Gpu, System
from doctor.matrix.gpus import SIZE, distinct_words, known_gpus
from doctor.matrix.platform import table
from doctor.memory.estimate import Device


def usable_bytes(sold_bytes: int, name: str = "") -> int:
    """What CUDA can give out of a GPU that is sold as so large: the driver keeps a share, and so does ECC."""
    driver, ecc = table("device_memory")["driver"], table("device_memory")["ecc"]
    there = sold_bytes * (1 - (ecc["share"] if name in ecc["gpus"] else 0.0))
    kept: int = driver["fixed_mib"] << 20
    return int(there * (1 - driver["share"])) - kept


def doubt_of_size(name: str, memory: str) -> tuple[str, ...]:
    """A sentence where a name was sold with several sizes and neither it nor ``memory`` tells which."""
    row = known_gpus().get(distinct_words(name))
    if row is None or memory or len(row["memory_gib"]) < 2 or SIZE.search(name.lower()):
        return ()
    sizes = row["memory_gib"]
    sold = " and ".join(map(str, sizes))
    return (f"{row['name']} was sold with {sold} GB: {min(sizes)} are taken; --gpu-memory says otherwise.",)


def described(gpu: Gpu) -> Device:
    """A GPU of which options tell; its memory is what it is sold with."""
    total = gpu.memory_total_bytes
    return Device(
        name=gpu.name,
        compute_capability=gpu.compute_capability or "",
        total_bytes=total,
        free_bytes=None if total is None else usable_bytes(total, gpu.name),
    )


def emptiest(gpus: Sequence[Gpu], driver: str = "") -> Device:
    """The GPU of this machine with the most memory free; ``driver`` is the driver's version."""
    return seen(max(gpus, key=lambda gpu: gpu.memory_free_bytes or 0), driver)


def seen(gpu: Gpu, driver: str = "") -> Device:
    """A GPU as NVML tells of it now; one that shares the system's memory tells of none."""
    return Device(
        name=gpu.name,
        compute_capability=gpu.compute_capability or "",
        total_bytes=gpu.memory_total_bytes,
        free_bytes=gpu.memory_free_bytes,
        others=_holders(gpu),
        driver=driver,
        index=gpu.index,
    )


def of_system(system: System) -> Device:
    """The system's own memory, for a run without a GPU."""
    total, free = system.ram_total_bytes, system.ram_available_bytes
    return Device(name=system.cpu or "the CPU", total_bytes=total, free_bytes=free, kind="cpu")


def _holders(gpu: Gpu) -> Mapping[str, int]:
    held: dict[str, int] = {}
    for process in gpu.processes or ():
        if process.memory_bytes:
            held[process.name] = held.get(process.name, 0) + process.memory_bytes
    return held
