"""Where the steps of a plan run before they count."""

from __future__ import annotations

from typing import Protocol

from doctor.treatment.plan import Command


class CannotApply(Exception):
    """The target cannot be changed so that one could go back; ``hint`` says what to do instead."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.hint = hint


class ChangedMeanwhile(Exception):
    """Somebody else changed the target while the steps ran."""


class Workplace(Protocol):
    """The environment that the steps change: a twin of the target, or the target itself with its past kept.

    The target is untouched, or goes back to what it was, until :meth:`keep`.
    """

    python: str  # the interpreter that the checks of the outcome examine

    @property
    def name(self) -> str:
        """Of the run: when it began."""
        ...

    @property
    def folder(self) -> str:
        """The prefix of that interpreter."""
        ...

    def begin(self) -> None:
        """Make it. Raises OSError; what was made by then goes with :meth:`drop`."""
        ...

    def command(self, command: Command) -> Command:
        """A step's command, which names the target, for this place."""
        ...

    def told(self, text: str) -> str:
        """What was said of this place, as it reads of the target."""
        ...

    def keep(self, steps: tuple[str, ...], after: tuple[str, ...]) -> str:
        """Make the outcome the target, at once. Returns the name under which ``--undo`` finds the past.

        ``steps`` are titles and ``after`` the exact freeze, both for the journal. Raises
        :class:`ChangedMeanwhile`, OSError.
        """
        ...

    def drop(self) -> None:
        """Leave the target as it was."""
        ...
