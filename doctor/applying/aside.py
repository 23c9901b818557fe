"""A virtual environment's twin: built beside it of hard links, changed, checked, and exchanged at once."""

from __future__ import annotations

import os

import msgspec

from doctor.applying import files, recovery
from doctor.applying import journal as journals
from doctor.applying.environment import Environment
from doctor.applying.interrupts import uninterrupted
from doctor.applying.journal import Journal, Run
from doctor.applying.relocation import Names, move_in, move_out, twin_name
from doctor.applying.workplace import ChangedMeanwhile
from doctor.treatment.plan import Command


def twin_of(environment: Environment) -> str | None:
    """The path of a twin for an environment, None where it cannot have one beside it."""
    folder, name = os.path.split(environment.root)
    if environment.kind != "venv" or not files.can_be_exchanged(environment.root):
        return None
    made = twin_name(name, files.names_in(folder))
    return os.path.join(folder, made) if made else None


class Aside:
    """A twin as the workplace."""

    def __init__(self, environment: Environment, path: str, journal: Journal, twin: str) -> None:
        self._path, self._root, self._twin = path, environment.root, twin
        self.python = os.path.join(twin, environment.python)
        self._executable = environment.executable
        self._forth = Names((environment.prefix, environment.root), twin)
        self._back = Names((twin,), environment.root)
        self._run = Run(
            name=recovery.name_of_now(),
            way="aside",
            original=files.inode(environment.root) or (0, 0),
            twin=twin,
            before=environment.frozen,
        )
        self._run = msgspec.structs.replace(self._run, past=f"{environment.root}.before-{self._run.name}")
        self._journal = journal
        self._digest = ""

    @property
    def name(self) -> str:
        """Of the run."""
        return self._run.name

    @property
    def folder(self) -> str:
        """The prefix of the interpreter that the steps change."""
        return self._twin

    def begin(self) -> None:
        """Clone. The journal has the twin's name before there is a twin."""
        self._write("keeping")
        self._digest = files.digest(self._root)
        files.link_tree(self._root, self._twin)
        move_in(self._twin, self._forth)
        self._write("begun")

    def command(self, command: Command) -> Command:
        """A command that means the twin wherever it named the target."""
        return tuple(
            self.python if word == self._executable else self._forth.replaced_text(word) for word in command
        )

    def told(self, text: str) -> str:
        """A text that names the target wherever it named the twin."""
        return self._back.replaced_text(text)

    def keep(self, steps: tuple[str, ...], after: tuple[str, ...]) -> str:
        """Exchange. Raises :class:`ChangedMeanwhile` where somebody else has changed the target by now."""
        move_out(self._twin, self._root, self._back, self._forth)
        if files.digest(self._root) != self._digest:
            raise ChangedMeanwhile("another program changed the environment while the plan was carried out")
        self._run = msgspec.structs.replace(self._run, steps=steps, after=after)
        files.flush()
        with uninterrupted():
            self._write("ready")
            files.exchange(self._root, self._twin, self._run.past)
            recovery.recovered(self._path)
        return self._run.name

    def drop(self) -> None:
        """Remove the twin."""
        with uninterrupted():
            recovery.recovered(self._path)

    def _write(self, state: journals.State) -> None:
        self._run = msgspec.structs.replace(self._run, state=state)
        journals.write(self._path, msgspec.structs.replace(self._journal, run=self._run))
