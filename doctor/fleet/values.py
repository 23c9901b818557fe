"""A node's report as plain values, in groups that many nodes share."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache

from doctor.fleet.reports import Facts, Gpu, Interpreter, Linkage
from doctor.fleet.topics import ABSENT, is_compared_library, is_compared_variable
from doctor.plain import one_line

GIB = 1 << 30
NOT_TOLD = "not told"  # which differs from nothing
LONGEST = 300  # characters of one value, a hostile one of which is long

_SITE = re.compile(r"^/lib(?:64)?/python[\d.]+t?/site-packages")

Value = tuple[str, str]  # id of the topic, and what the node has
Group = tuple[Value, ...]  # in the order of the ids


def groups_of(facts: Facts) -> tuple[Group | None, ...]:
    """The values of a node by group, in the order of :data:`GROUPS`; None where the facts were not seen."""
    applies = {gap.about for gap in facts.gaps if gap.kind == "not-applicable"}
    return tuple(_group(collect(facts, applies)) for collect in GROUPS.values())


def _group(values: Iterable[Value] | None) -> Group | None:
    """The values in their order, without those that say nothing."""
    if values is None:
        return None
    return tuple(sorted((tidy(id), tidy(value)) for id, value in values if value != NOT_TOLD))


@lru_cache(maxsize=1 << 16)
def tidy(text: str) -> str:
    """Foreign text as one harmless line of bounded length."""
    return one_line(text[: 2 * LONGEST])[:LONGEST] if text else text


def _system(facts: Facts, none: set[str]) -> Iterable[Value] | None:
    system = facts.system
    if system is None:
        return None
    shared = system.shared_memory_bytes
    return (
        ("machine.os", "WSL" if system.wsl else system.os),
        ("machine.distribution", system.name),
        ("machine.kernel", system.kernel),
        ("machine.arch", system.arch),
        ("machine.libc", system.libc or ABSENT),
        ("machine.cpu", system.cpu),
        ("machine.cpu_count", str(system.cpu_count)),
        ("machine.memory", _gib(system.ram_total_bytes)),
        ("machine.container", system.container or ABSENT),
        ("machine.shared_memory", ABSENT if shared is None else _gib(shared)),
    )


def _environment(facts: Facts, none: set[str]) -> Iterable[Value] | None:
    if facts.environment is None:
        return None
    return [
        (f"env.{name}", value or "empty")
        for name, value in facts.environment.items()
        if is_compared_variable(name)
    ]


def _signs(facts: Facts, none: set[str]) -> Iterable[Value] | None:
    signs = facts.driver_signs
    if signs is None:
        return None
    lost = [f"GPU {one.index}: {one.error}" for one in sorted(signs.lost, key=lambda one: one.index)]
    codes = sorted({one.code for one in signs.xids})
    return (
        ("gpu.lost", ", ".join(lost) or ABSENT),
        ("gpu.xid", ", ".join(f"Xid {code}" for code in codes) or ABSENT),
        ("driver.nvml_error", signs.nvml_error or "answers"),
        ("driver.kernel", signs.kernel_version or ABSENT),
        ("driver.flavor", signs.kernel_flavor or ABSENT),
        ("driver.fabric_manager", signs.fabric_manager or ABSENT),
    )


def _driver(facts: Facts, none: set[str]) -> Iterable[Value] | None:
    if facts.driver is None:
        return (("driver", ABSENT), ("driver.cuda", ABSENT)) if "driver" in none else None
    return (("driver", facts.driver.version), ("driver.cuda", facts.driver.cuda_version or NOT_TOLD))


def _gpus(facts: Facts, none: set[str]) -> Iterable[Value] | None:
    gpus = facts.gpus
    if gpus is None:
        return (("gpu.count", "0"), ("gpu.model", ABSENT)) if "gpus" in none else None
    on_bus = facts.driver_signs.bus_gpus if facts.driver_signs else 0
    if not gpus:
        return (("gpu.count", "0"), ("gpu.model", f"{ABSENT}, {on_bus} on the bus" if on_bus else ABSENT))
    return (
        ("gpu.count", str(len(gpus))),
        ("gpu.model", _each(gpus, lambda gpu: gpu.name)),
        ("gpu.compute_capability", _each(gpus, lambda gpu: gpu.compute_capability)),
        ("gpu.memory", _each(gpus, lambda gpu: gpu.memory_total_bytes and _gib(gpu.memory_total_bytes))),
        ("gpu.nvlinks", _each(gpus, lambda gpu: ABSENT if gpu.nvlinks is None else str(gpu.nvlinks))),
        ("gpu.pcie_width", _each(gpus, lambda gpu: gpu.pcie_width and f"x{gpu.pcie_width}")),
        ("gpu.mig", _each(gpus, lambda gpu: _switch(gpu.mig_mode))),
        ("gpu.ecc", _each(gpus, lambda gpu: _switch(gpu.ecc_enabled))),
        ("gpu.compute_mode", _each(gpus, lambda gpu: gpu.compute_mode)),
        ("gpu.memory_errors", ", ".join(_memory_errors(gpus)) or ABSENT),
    )


def _each(gpus: tuple[Gpu, ...], told: Callable[[Gpu], str | int | None]) -> str:
    """What all GPUs of a node have, or how many have what: "x16", or "7 x x16, 1 x x8"."""
    counts = Counter(str(told(gpu) or NOT_TOLD) for gpu in gpus)
    if len(counts) == 1:
        return next(iter(counts))
    return ", ".join(f"{count} x {value}" for value, count in sorted(counts.items(), key=_most_first))


def _most_first(counted: tuple[str, int]) -> tuple[int, str]:
    return -counted[1], counted[0]


def _switch(state: bool | None) -> str:
    return {True: "enabled", False: "disabled", None: ABSENT}[state]


def _memory_errors(gpus: tuple[Gpu, ...]) -> Iterator[str]:
    for gpu in sorted(gpus, key=lambda gpu: gpu.index):
        if gpu.ecc_uncorrected:
            yield f"GPU {gpu.index}: uncorrected ECC errors"
        if gpu.remapping_failed or gpu.remapping_pending:
            yield f"GPU {gpu.index}: remapping of rows {'failed' if gpu.remapping_failed else 'pending'}"


def _interpreter(facts: Facts, none: set[str]) -> Iterable[Value] | None:
    python = facts.interpreter
    if python is None:
        return None
    return (
        ("python", python.version),
        ("python.kind", python.kind),
        ("python.executable", python.executable),
    )


def _packages(facts: Facts, none: set[str]) -> Iterable[Value] | None:
    if facts.packages is None:
        return None
    # torch has a topic of its own, which knows its build too.
    own = {"torch"} if facts.torch else set()
    installed = facts.packages.installed.items()
    return [(f"package.{name}", found.version or "unknown") for name, found in installed if name not in own]


def _files(facts: Facts, none: set[str]) -> Iterable[Value] | None:
    if facts.files is None:
        return None
    return (("files.altered", ", ".join(sorted({one.package for one in facts.files.faults})) or ABSENT),)


def _torch(facts: Facts, none: set[str]) -> Iterable[Value] | None:
    torch = facts.torch
    if torch is None:
        return (("torch", "not installed"), ("torch.cuda", ABSENT)) if "torch" in none else None
    variant = "" if "+" in torch.version or not torch.variant else f" ({torch.variant})"
    return (("torch", torch.version + variant), ("torch.cuda", torch.cuda_version or ABSENT))


def _linkage(facts: Facts, none: set[str]) -> Iterable[Value] | None:
    if facts.linkage is None:
        return None
    choice = facts.linkage.choice
    return [
        ("bitsandbytes.library", choice.library if choice else ABSENT),
        *_libraries(facts.linkage, facts.interpreter),
    ]


def _libraries(linkage: Linkage, interpreter: Interpreter | None) -> Iterator[Value]:
    """Each library once: by the package that asks for it first; the environment may lie anywhere."""
    told: dict[str, str] = {}
    prefix = interpreter.prefix.rstrip("/") if interpreter else ""
    for library in linkage.libraries:
        for one in library.dependencies:
            if one.name in told or not is_compared_library(one.name):
                continue
            is_inside = prefix and one.path.startswith(prefix + "/")
            inside = _SITE.sub("", one.path[len(prefix) :], count=1)
            path = f"<environment>{inside}" if is_inside else one.path or "not found"
            told[one.name] = f"{path} {one.fault}" if one.fault else path
    for name, path in told.items():
        yield f"library.{name}", path


def _compiling(facts: Facts, none: set[str]) -> Iterable[Value] | None:
    found = facts.compiling
    if found is None:
        return None
    lock = found.memory_lock_bytes
    return (
        ("network.rdma", ", ".join(sorted(found.rdma_devices)) or ABSENT),
        ("limit.memory_lock", "no limit" if lock is None else f"{lock >> 10} KiB"),
        ("limit.open_files", "no limit" if found.open_files is None else str(found.open_files)),
    )


def _trial(facts: Facts, none: set[str]) -> Iterable[Value] | None:
    return (("trial.device", facts.trial.device or "not reached"),) if facts.trial else None


def _gib(size_bytes: int) -> str:
    """To three digits, since nodes of one make differ in the last pages that firmware takes."""
    return f"{size_bytes / GIB:.3g} GiB" if size_bytes < 1000 * GIB else f"{size_bytes / GIB:.0f} GiB"


# By the field of Facts that each is read from, and that a gap names where it was not seen.
GROUPS: dict[str, Callable[[Facts, set[str]], Iterable[Value] | None]] = {
    "system": _system,
    "environment": _environment,
    "driver_signs": _signs,
    "driver": _driver,
    "gpus": _gpus,
    "interpreter": _interpreter,
    "packages": _packages,
    "files": _files,
    "torch": _torch,
    "linkage": _linkage,
    "compiling": _compiling,
    "trial": _trial,
}
FIELDS = tuple(GROUPS)
