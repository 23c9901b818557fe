"""Probes and rules of other packages, by the entry points ``lora_doctor.probes`` and ``lora_doctor.rules``.

Only the doctor's own environment is looked through: what is installed beside it was installed for it. A check
without plugins must not pay for them, so entry points are read here and not by importlib.metadata, which
takes longer than a whole quick check to be imported and to read the metadata of a training environment.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from typing import NamedTuple

PROBES, RULES = "lora_doctor.probes", "lora_doctor.rules"
SITE_FOLDERS = ("site-packages", "dist-packages")
LONGEST_BYTES = 1 << 16  # of a file of entry points


class Plugin(NamedTuple):
    """One entry point of another package."""

    group: str
    name: str  # "slurm"
    value: str  # "acme_doctor.rules", "acme_doctor.probes:slurm"
    origin: str  # "acme_doctor-1.0": the distribution, as its folder is named

    @property
    def told(self) -> str:
        """Which one it is, for a reader."""
        return f"{self.name} of {self.origin}"


def plugins(group: str) -> tuple[Plugin, ...]:
    """The plugins of a group, each module once, in the order of their names."""
    return tuple(plugin for plugin in installed(tuple(sys.path)) if plugin.group == group)


@cache
def installed(path: Sequence[str]) -> tuple[Plugin, ...]:
    """All plugins in the site folders of a search path; the first of two distributions of a name counts."""
    found: dict[tuple[str, str], Plugin] = {}
    for folder in path:
        # Never the working folder: a project must not run code in the doctor by lying there.
        if folder.endswith(SITE_FOLDERS):
            for plugin in sorted(_of_folder(folder)):
                found.setdefault((plugin.group, plugin.value), plugin)
    return tuple(sorted(found.values()))


def _of_folder(folder: str) -> Iterator[Plugin]:
    try:
        names = [name for name in os.listdir(folder) if name.endswith((".dist-info", ".egg-info"))]
    except OSError:
        return
    for name in names:
        text = _text(os.path.join(folder, name, "entry_points.txt"))
        if "lora_doctor." in text:
            yield from read(text, name.rpartition(".")[0])


def _text(path: str) -> str:
    """A file of entry points, "" where there is none that can be read."""
    try:
        with open(path, "rb") as file:
            return file.read(LONGEST_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""


def read(text: str, origin: str) -> Iterator[Plugin]:
    """The plugins that a file of entry points names."""
    group = ""
    for line in text.splitlines():
        line = line.strip()
        if line.startswith("["):
            group = line.strip("[] ")
        elif group in (PROBES, RULES) and "=" in line and not line.startswith(("#", ";")):
            name, _, value = line.partition("=")
            yield Plugin(group, name.strip(), value.partition("[")[0].strip(), origin)
