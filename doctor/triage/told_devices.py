"""GPUs and other accelerators of what a paste tells."""

from __future__ import annotations

import re
from typing import Literal

from doctor.facts import Accelerator, Gpu, GpuProcess
from doctor.matrix.gpus import GpuModel, gpu_named
from doctor.paste import Statement, Topic
from doctor.triage.told import Told, weight

CUT = re.compile(r"(?<!\.)\.\.+$|…$")
SHARE = re.compile(r"(?:NVIDIA |GRID ){0,2}((?:RTX ?)?[A-Z]{1,2}\d{1,4}[SG]?)(?:D[XLP]?)?-\d{1,2}[ABCQ]$")
CAPABILITY = re.compile(r"\d{1,2}\.\d$")
MAKERS: tuple[tuple[Literal["amd", "intel", "apple"], re.Pattern[str]], ...] = (
    ("apple", re.compile(r"apple|\bm[1-5]\b|\bmps\b", re.I)),
    ("amd", re.compile(r"amd|radeon|instinct|\brx ?\d{4}|\bmi\d{2,3}|gfx|\bvega", re.I)),
    ("intel", re.compile(r"intel|\barc\b|gaudi", re.I)),
)


def gpus_of(told: Told) -> tuple[Gpu, ...] | None:
    """The NVIDIA GPUs as the most believable form tells them, None where none does."""
    named = [one for one in told.of("gpu") if not maker_of(one.value)]
    if not named:
        capability = told.best("gpu capability")
        return (gpu(0, "", told),) if CAPABILITY.match(capability) else None
    best = [one for one in named if weight(one)[0] == weight(named[0])[0]]
    return tuple(gpu(place, full_name(one, named), told) for place, one in enumerate(each_once(best)))


def maker_of(name: str) -> Literal["amd", "intel", "apple"] | None:
    """Who made a device that is not NVIDIA's; None for one of theirs, and for any other maker."""
    if gpu_named(name) or "nvidia" in name.lower():
        return None
    return next((maker for maker, mark in MAKERS if mark.search(name)), None)


def each_once(named: list[Statement]) -> list[Statement]:
    """One statement for each GPU: by its index, or by its model where none is told."""
    by_index: dict[str, Statement] = {}
    for one in named:
        if one.name:
            by_index.setdefault(one.name, one)
    if by_index:
        return [by_index[index] for index in sorted(by_index, key=lambda text: (len(text), text))]
    by_model: dict[str, Statement] = {}
    for one in named:
        known = gpu_named(one.value)
        by_model.setdefault(known.name if known else one.value.lower(), one)
    return list(by_model.values())


def full_name(one: Statement, named: list[Statement]) -> str:
    """The name, or that of another form where it is cut: "NVIDIA GeForce ..." of old tables of nvidia-smi."""
    if not CUT.search(one.value):
        return one.value
    start = CUT.sub("", one.value).strip().lower()
    others = [other.value for other in named if not CUT.search(other.value) and gpu_named(other.value)]
    same = [other for other in others if other.lower().startswith(start)]
    alone = others if len({known.name for other in others if (known := gpu_named(other))}) == 1 else []
    return next(iter(same or alone), one.value)


def gpu(place: int, name: str, told: Told) -> Gpu:
    """One GPU with what is told of its index, or of the only one."""
    index = str(place)
    known = known_gpu(name)
    stated = told_of(told, "gpu capability", index)
    capability = stated if CAPABILITY.match(stated) else known.compute_capability if known else None
    mig = told_of(told, "gpu mig", index)
    return Gpu(
        index=place,
        name=shown(name, known) or f"a GPU of compute capability {capability}",
        compute_capability=capability,
        memory_total_bytes=amount(told_of(told, "gpu memory", index)) or memory_in(name, known),
        memory_free_bytes=amount(told_of(told, "gpu memory free", index)),
        shares_memory=bool(known and (known.jetson or known.name in ("GB10", "DGX Spark"))),
        processes=processes_of(told, index),
        mig_mode={"enabled": True, "disabled": False}.get(mig.lower(), True if mig else None),
    )


def known_gpu(name: str) -> GpuModel | None:
    """The model by its name; a slice of one, or a virtual machine's share, computes as the whole does."""
    share = SHARE.match(name)
    return gpu_named(name) or gpu_named(share[1] if share else name.partition(" MIG ")[0])


def shown(name: str, known: GpuModel | None) -> str:
    """The name as nvidia-smi would have it, or that of the table for one that people wrote."""
    return (
        name
        if name.startswith(("NVIDIA", "Tesla", "GeForce", "Quadro", "TITAN")) or not known
        else known.name
    )


def told_of(told: Told, topic: Topic, index: str) -> str:
    """What is told of one GPU, or of a GPU whose index is not told."""
    found = [one for one in told.of(topic) if one.name in (index, "")]
    return found[0].value if found else ""


def amount(value: str) -> int | None:
    """Bytes."""
    return int(value) if value.isdecimal() and len(value) < 16 else None


def memory_in(name: str, known: GpuModel | None) -> int | None:
    """The memory that a name tells: "A100-SXM4-80GB"."""
    size = re.search(r"(?<!\w)(\d{1,3}) ?gi?b?\b", name, re.I)
    return int(size[1]) << 30 if size and known and " MIG " not in name else None


def processes_of(told: Told, index: str) -> tuple[GpuProcess, ...] | None:
    """The processes that hold its memory, None where none is told."""
    found = []
    for one in told.of("gpu process"):
        name, _, size = one.value.rpartition(" ")
        if one.name in (index, ""):
            found.append(GpuProcess(name=name or size, memory_bytes=amount(size)))
    return tuple(found) or None


def accelerators_of(told: Told) -> tuple[Accelerator, ...]:
    """The devices of other makers."""
    kinds = [one.value for one in told.of("gfx")]
    found: list[Accelerator] = []
    for one in told.of("accelerator", "gpu"):  # torch for ROCm names AMD's in the place of CUDA's
        vendor = maker_of(one.value)
        if vendor and all(one.value.lower() != other.name.lower() for other in found):
            own = re.search(r"gfx\d{3,4}[a-f]?", one.value)
            architecture = own[0] if own else kinds[0] if vendor == "amd" and len(set(kinds)) == 1 else ""
            found.append(Accelerator(vendor=vendor, name=one.value, architecture=architecture))
    if kinds and not any(one.vendor == "amd" for one in found):
        found.append(Accelerator(vendor="amd", name=f"AMD GPU {kinds[0]}", architecture=kinds[0]))
    return tuple(found)
