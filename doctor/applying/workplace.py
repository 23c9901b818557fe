"""Where the steps of a plan run before they count."""

from __future__ import annotations

from typing import Protocol

from doctor.treatment.plan import Command


class CannotApply(Exception):
    """The target cannot be changed so that one could go back; ``hint`` says what to do instead."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.hint = hint


class Workplace(Protocol):
    """The environment that the steps change: a twin of the target, or the target itself with its past kept.

    The target is untouched, or goes back to what it was, until :meth:`keep`.
    """

    python: str  # the interpreter that the checks of the outcome examine

    def command(self, command: Command) -> Command:
        """A step's command, which names the target, for this place."""
        ...

    def keep(self) -> str:
        """Make the outcome the target, at once. Returns the name under which ``--undo`` finds the past."""
        ...

    def drop(self) -> None:
        """Leave the target as it was."""
        ...
