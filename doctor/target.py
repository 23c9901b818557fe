"""Which interpreter is the patient: the one that trains, seldom the one that runs the doctor."""

from __future__ import annotations

import os
import sys
import sysconfig
from typing import NamedTuple

from doctor.host import Host

# Folders of an environment in which its interpreter stands.
PLACES = ("bin/python", "Scripts/python.exe", "python.exe", "bin/python3")


class Target(NamedTuple):
    """An interpreter, and why it was taken."""

    executable: str
    chosen_by: str  # "--python", "VIRTUAL_ENV", "CONDA_PREFIX", ".venv here", "the doctor's own", "PATH"


class TargetNotFound(Exception):
    """No interpreter where one was named; ``hint`` says what to do instead."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.hint = hint


def python_in(host: Host, folder: str) -> str | None:
    """The interpreter of an environment's folder, None where it holds none."""
    candidates = [os.path.join(folder, *place.split("/")) for place in PLACES]
    found = [path for path in candidates if host.is_file(path)]
    # A link that leads nowhere is the environment's interpreter all the same, and that is its fault.
    return next(iter(found or [path for path in candidates if host.is_link(path)]), None)


def named_target(host: Host, name: str) -> Target:
    """What ``--python`` names: an interpreter, the folder of an environment, or a program on PATH."""
    if not name.strip():
        raise TargetNotFound("--python names nothing", "is the variable that you gave it set?")
    path = os.path.abspath(os.path.expanduser(name))
    there = host.is_file(path) or host.is_link(path)
    found = path if there and not host.list_folder(path) else python_in(host, path) or host.find_program(name)
    if found is None:
        raise TargetNotFound(
            f"--python {name} names no interpreter",
            "name a python, the folder of an environment, or see: lora-doctor check --all-environments",
        )
    return Target(found, "--python")


def find_target(host: Host, requested: str | None) -> Target:
    """The target: what is requested, else the active environment, else one that lies here, else PATH.

    Raises :class:`TargetNotFound`.
    """
    if requested is not None:
        return named_target(host, requested)
    for variable in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        if host.env.get(variable):
            return _of_variable(host, variable)
    here = python_in(host, os.path.abspath(".venv"))
    if here:
        return Target(here, ".venv here")
    if stands_beside_stack(host):
        return Target(sys.executable, "the doctor's own")
    on_path = host.find_program("python") or host.find_program("python3")
    if on_path:
        return Target(on_path, "PATH")
    raise TargetNotFound(
        "no Python is on PATH and none was named", "name one: lora-doctor check --python PATH"
    )


def _of_variable(host: Host, variable: str) -> Target:
    folder = host.env[variable]
    found = python_in(host, folder)
    if found is None:
        raise TargetNotFound(
            f"{variable} names {folder}, where no Python stands",
            f"deactivate it, or name the interpreter: lora-doctor check --python PATH (or unset {variable})",
        )
    return Target(found, variable)


def stands_beside_stack(host: Host) -> bool:
    """Is a library of the stack installed in the doctor's own environment?

    ``pip install lora-doctor`` into the training environment and a call by full path leave no other
    sign of which environment is meant.
    """
    names = host.list_folder(sysconfig.get_path("purelib"))
    return any(name in ("torch", "transformers", "peft") for name in names)
