"""What the installed packages would do at each stage, read from their sources; nothing is imported."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence

from doctor.facts import Failure, Gap, Package, Reading, StageRun
from doctor.host import Host
from doctor.probes import Looks
from doctor.probes.interpreter import probe as interpreter_of
from doctor.probes.packages import probe as packages_of
from doctor.static.outcomes import Failed, Outcome, Undecided
from doctor.static.run import run
from doctor.static.stages import StaticStage
from doctor.static.world import SHALLOW, WALKED, Distribution, World

# Of the thread that follows the sources: a call there takes a dozen of the doctor's own, on the C stack in
# Python 3.10.
STACK_BYTES = 512 << 20


class HostTree:
    """The files below one folder of the host, each read and each folder listed once."""

    def __init__(self, host: Host, folder: str) -> None:
        self._host, self._folder = host, folder
        self._names: dict[str, Sequence[str]] = {}

    def read(self, path: str) -> str | None:
        """The text of a file, None where it cannot be read."""
        return self._host.read_text(os.path.join(self._folder, *path.split("/")))

    def names(self, folder: str) -> Sequence[str]:
        """Names in a folder, empty where it is none."""
        if folder not in self._names:
            self._names[folder] = self._host.list_folder(os.path.join(self._folder, *folder.split("/")))
        return self._names[folder]


def probe(looks: Looks) -> Reading | Gap:
    """The outcome of every stage as the sources have it."""
    packages, interpreter = packages_of(looks), interpreter_of(looks)
    if isinstance(packages, Gap) or isinstance(interpreter, Gap):
        return Gap(about="reading", kind="failed", reason="it is not known what is installed")
    if not any(name in packages.installed for name in ("transformers", "peft", "accelerate", "trl")):
        return Gap(about="reading", kind="not-applicable", reason="no library of the stack is installed")
    world = World(
        tuple(distribution(looks.host, package) for package in packages.installed.values()),
        python=interpreter.version,
        os=looks.host.os,
    )
    return Reading(runs=tuple(told(stage, outcome) for stage, outcome in followed(world).items()))


def followed(world: World) -> dict[StaticStage, Outcome]:
    """The outcomes, found out in a thread whose stack is deep enough."""
    outcomes: dict[StaticStage, Outcome] = {}
    before = threading.stack_size(STACK_BYTES)
    try:
        thread = threading.Thread(target=lambda: outcomes.update(run(world)), daemon=True)
        thread.start()
    finally:
        threading.stack_size(before)
    thread.join()
    return outcomes


def distribution(host: Host, package: Package) -> Distribution:
    """One package with its sources, where they are of those that are read."""
    name = package.name.replace("-", "_")
    modules = package.modules or (name,)
    if not {*modules} & (WALKED | SHALLOW) or not package.version:
        return Distribution(package.name, package.version, None, modules)
    return Distribution(package.name, package.version, HostTree(host, folder_of(host, package)), modules)


def folder_of(host: Host, package: Package) -> str:
    """The folder that holds a package's modules: its site folder, or the checkout of an editable install."""
    checkout = package.origin.removeprefix("file://")
    folders = [os.path.join(checkout, "src"), checkout] if package.editable and checkout else []
    module = package.name.replace("-", "_")
    inside = (folder for folder in folders if host.list_folder(os.path.join(folder, module)))
    return next(inside, package.location)


def told(stage: StaticStage, outcome: Outcome) -> StageRun:
    """An outcome in the words of the trial."""
    if isinstance(outcome, Undecided):
        return StageRun(
            stage=stage, outcome="blocked", blocked_by=f"the sources do not tell: {outcome.reason}"
        )
    if not isinstance(outcome, Failed):
        return StageRun(stage=stage, outcome="ok")
    event = outcome.event
    surfaced = (event.surface_exception, event.surface)
    first = (event.exception, event.message)
    failure = Failure(
        kind="raised",
        chain=(first,) if surfaced == first else (first, surfaced),
        modules=event.chain,
        frames=(event.where,) if event.where else (),
    )
    return StageRun(stage=stage, outcome="failed", failure=failure)
