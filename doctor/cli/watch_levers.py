"""What each lever would save for the plan that a watched command's own script states."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from doctor.host import LocalHost
    from doctor.memory.answer import Saving
    from doctor.memory.estimate import Device
    from doctor.memory.usage import Run

PLANS = (".py", ".ipynb", ".yaml", ".yml", ".toml")


def savings_for(host: LocalHost, command: Sequence[str], run: Run) -> tuple[Saving, ...]:
    """By the formula tier, in the order of cost; () where no file of the command states plan and model."""
    path = next((word for word in command if word.lower().endswith(PLANS) and host.is_file(word)), None)
    try:
        return _savings(host, path, versions_of(host, command[0]), run) if path else ()
    except Exception:  # what this file cannot tell costs the numbers; the answers are told without
        return ()


def _savings(host: LocalHost, path: str, versions: Mapping[str, str], run: Run) -> tuple[Saving, ...]:
    from doctor.estimating import Estimators
    from doctor.memory.estimate import Estimate
    from doctor.memory.levers import savings
    from doctor.model_files import find
    from doctor.plan_files import asked_in

    asked = asked_in(host, path, versions)
    if not asked.model:
        return ()
    shape, device, formula = find(host, asked.model), device_of(run), Estimators(host, None, versions).formula
    estimate = next(formula(shape, [asked.plan], device))
    return tuple(savings(shape, estimate, device, formula)) if isinstance(estimate, Estimate) else ()


def versions_of(host: LocalHost, program: str) -> Mapping[str, str]:
    """The packages of the Python that ran: the program itself, or the one beside a launcher."""
    from doctor.checkup import gather
    from doctor.probes import Looks
    from doctor.target import find_target

    found = host.find_program(program) or program
    is_python = os.path.basename(found).startswith("python")
    python = found if is_python else os.path.join(os.path.dirname(found), "python")
    facts = gather(Looks(host, find_target(host, python)), fields=("interpreter", "packages"))
    installed = facts.packages.installed if facts.packages else {}
    return {name: package.version for name, package in installed.items() if package.version}


def device_of(run: Run) -> Device:
    """The fullest GPU of the run, with what others left of it."""
    from doctor.memory.estimate import Device

    if not run.gpus:
        return Device()
    gpu = max(run.gpus, key=lambda gpu: gpu.peak_bytes)
    others = gpu.others[-1][1] if gpu.others else 0
    free = None if gpu.total_bytes is None else gpu.total_bytes - others
    return Device(name=gpu.name, total_bytes=gpu.total_bytes, free_bytes=free)
