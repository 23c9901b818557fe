"""The target as a run must know it: where it lies, what is installed, and whether it may be changed."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cache
from typing import Literal

import msgspec

from doctor.applying import files
from doctor.applying.workplace import CannotApply
from doctor.child import Patience
from doctor.collectors import collect, program
from doctor.host import Host
from doctor.target import Target

PATIENCE = Patience(limit_s=60.0)
MIB = 1 << 20
ROOM_BYTES = 256 * MIB  # for what an installer unpacks besides the packages themselves
# What stands in the folder of a virtual environment; anything else there is somebody's work.
OF_A_VENV = {
    *("bin", "lib", "lib64", "include", "share", "etc", "man", "doc", "docs", "src", "var"),
    *("pyvenv.cfg", ".gitignore", "CACHEDIR.TAG", ".lock", "pip-selfcheck.json", ".Python", "__pycache__"),
}


class Environment(msgspec.Struct, frozen=True, kw_only=True):
    """What the target tells of itself. Folders with links followed, but for ``prefix``."""

    executable: str
    kind: Literal["venv", "conda", "system"]
    prefix: str  # as the target spells it
    root: str  # the same with links followed
    packages: tuple[str, ...]  # purelib, platlib, and what else in the prefix holds packages
    scripts: str
    data: str
    user: str  # the user's own packages, "" where they do not count
    externally_managed: bool
    writable: bool
    frozen: tuple[str, ...]
    sizes: dict[str, int]  # of the packages that were asked for, in bytes

    @property
    def python(self) -> str:
        """The interpreter relative to the prefix, "bin/python" where it is called by a name outside."""
        folder, name = os.path.split(os.path.abspath(self.executable))
        for prefix in (self.prefix, self.root):
            if folder.startswith(prefix + os.sep):
                return os.path.join(os.path.relpath(folder, prefix), name)
        return os.path.join("bin", "python")


def examined(host: Host, target: Target, names: Sequence[str] = ()) -> Environment:
    """Ask the target; ``names`` are packages whose size counts. Raises :class:`CannotApply`."""
    config = {"names": list(names)}
    answer = collect(host, target.executable, _program(), config, patience=PATIENCE, env=alone(host))
    told = answer.section("environment")
    if told is None:
        raise CannotApply(
            f"{target.executable} cannot be asked what is installed: {answer.trouble}",
            "make a new environment: lora-doctor install",
        )
    root = host.real_path(str(told["prefix"]))
    return msgspec.convert({**told, "executable": target.executable, "root": root}, Environment)


@cache
def _program() -> str:
    return program(["environment", "end"])


def alone(host: Host) -> dict[str, str]:
    """The environment without what adds foreign packages to a target."""
    return {name: value for name, value in host.env.items() if name not in ("PYTHONPATH", "PYTHONHOME")}


def refuse_unfit(host: Host, environment: Environment) -> None:
    """Raise :class:`CannotApply` where the target must not or cannot be changed."""
    executable = environment.executable
    if host.os == "win32":
        raise CannotApply(
            "on Windows a folder in use cannot be exchanged, so there would be no way back",
            "carry the steps out yourself, and check again: lora-doctor check",
        )
    if environment.externally_managed:
        raise CannotApply(
            f"{executable} belongs to the system, which forbids to install into it (PEP 668)",
            "make an environment of your own: lora-doctor fix --new-venv .venv",
        )
    if not environment.writable:
        raise CannotApply(
            f"{environment.packages[0]} cannot be written to by this user",
            "make an environment of your own: lora-doctor fix --new-venv .venv",
        )


def refuse_little_disk(host: Host, environment: Environment, copied_bytes: int) -> None:
    """Raise :class:`CannotApply` where the disk cannot hold what is replaced beside what replaces it."""
    needed = ROOM_BYTES + 2 * sum(environment.sizes.values()) + copied_bytes
    disk = host.disk(environment.root)
    if disk is not None and disk.free_bytes is not None and disk.free_bytes < needed:
        raise CannotApply(
            f"{environment.root} has {disk.free_bytes // MIB} MiB of free disk space, and the change needs"
            f" about {needed // MIB} MiB beside what is there",
            "free some, such as what installers have cached: uv cache clean, or python -m pip cache purge",
        )


def is_pure(environment: Environment) -> bool:
    """Does the folder of a virtual environment hold nothing but the environment?"""
    return set(files.names_in(environment.root)) <= OF_A_VENV


def is_layered(host: Host, folder: str) -> bool:
    """Does a folder lie on an overlay, where a hard link is a copy and old folders cannot be renamed?"""
    mounts = [line.split(" - ", 1) for line in (host.read_text("/proc/self/mountinfo") or "").splitlines()]
    points = {
        before.split()[4]: after.split()[0] for before, after in (one for one in mounts if len(one) == 2)
    }
    while folder not in points and folder != os.path.dirname(folder):
        folder = os.path.dirname(folder)
    return points.get(folder) == "overlay"
