"""An interpreter without a folder of its own to exchange: its packages are kept, and changed where they lie.

So it is with the Python of an image, of Colab, of conda, and with an environment that shares its folder with
somebody's work. A guardian puts the kept files back where the doctor dies.
"""

from __future__ import annotations

import os

import msgspec

from doctor.applying import files, recovery
from doctor.applying import journal as journals
from doctor.applying.environment import Environment
from doctor.applying.interrupts import uninterrupted
from doctor.applying.journal import Journal, Kept, Run
from doctor.applying.workplace import CannotApply
from doctor.treatment.plan import Command

# Of a conda prefix: the cache that its files are links to, and other environments.
NOT_OF_CONDA = ("pkgs", "envs")
DATA = ("share", "etc", "include")  # where wheels put what is no package


class InPlace:
    """The target itself as the workplace, with its past kept."""

    def __init__(self, environment: Environment, path: str, journal: Journal) -> None:
        self._path, self._journal = path, journal
        self.python, self.folder = environment.executable, environment.prefix
        name = recovery.name_of_now()
        past = os.path.join(store_of(environment), files.OURS, name)
        kept = tuple(
            Kept(live, os.path.join(past, str(number)) if files.inode(live) else "", left_out)
            for number, (live, left_out) in enumerate(folders_of(environment))
        )
        self._run = Run(name=name, way="in place", past=past, kept=kept, before=environment.frozen)

    @property
    def name(self) -> str:
        """Of the run."""
        return self._run.name

    def begin(self) -> None:
        """Keep what is there. Until all is kept nothing is changed."""
        self._write("keeping")
        for one in self._run.kept:
            if one.past:
                files.link_tree(one.live, one.past, one.left_out)
        files.flush()
        self._write("begun")

    def command(self, command: Command) -> Command:
        """A command as it is."""
        return command

    def told(self, text: str) -> str:
        """A text as it is."""
        return text

    def keep(self, steps: tuple[str, ...], after: tuple[str, ...]) -> str:
        """Let the outcome stand."""
        files.flush()
        with uninterrupted():
            self._run = msgspec.structs.replace(self._run, steps=steps, after=after)
            journal = recovery.kept(self._journal, self._run)
            journals.write(self._path, journal)
            recovery.cleaned(self._path, journal)
        return self._run.name

    def drop(self) -> None:
        """Put the kept files back."""
        with uninterrupted():
            recovery.recovered(self._path)

    def _write(self, state: journals.State) -> None:
        self._run = msgspec.structs.replace(self._run, state=state)
        journals.write(self._path, msgspec.structs.replace(self._journal, run=self._run))


def folders_of(environment: Environment) -> list[tuple[str, tuple[str, ...]]]:
    """The folders that installers change, none within another, with the names in them that are left out."""
    if environment.kind == "conda":
        return [(environment.root, NOT_OF_CONDA)]
    data = [os.path.join(environment.data, name) for name in DATA]
    named = [*environment.packages, environment.scripts, *data, *filter(None, [environment.user])]
    real = sorted({os.path.realpath(folder) for folder in named})
    return [(one, ()) for one in real if not any(one.startswith(other + os.sep) for other in real)]


def store_of(environment: Environment) -> str:
    """A folder on the same file system in which the past can lie."""
    first = environment.packages[0]
    device = (files.inode(first) or (0, 0))[0]
    for folder in (environment.root, os.path.realpath(environment.data), os.path.dirname(first), first):
        if files.is_writable(folder) and (files.inode(folder) or (1, 0))[0] == device:
            return folder
    raise CannotApply(
        f"there is no folder beside {first} in which its past could be kept",
        "make an environment of your own: lora-doctor fix --new-venv .venv",
    )


def copied_bytes(environment: Environment) -> int:
    """What the past takes where hard links are copies."""
    return sum(files.size_bytes(folder) for folder, _ in folders_of(environment) if files.inode(folder))
