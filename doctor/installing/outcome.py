"""How the making of an environment ended."""

from __future__ import annotations

import msgspec

from doctor.resolution import Command


class Made(msgspec.Struct, frozen=True, kw_only=True):
    """The environment is complete: every package of the set is there, with its files as recorded."""

    folder: str
    python: str  # its interpreter
    changed: bool  # False where all was in place before


class NotMade(msgspec.Struct, frozen=True, kw_only=True):
    """Why there is no complete environment, and the one command to run next."""

    why: str
    seen: str = ""
    advice: str = ""  # what the command is for, or what to do where no command does it
    command: Command = ()
    is_refusal: bool = False  # nothing was begun


class Stopped(Exception):
    """The making ends here."""

    def __init__(self, outcome: NotMade) -> None:
        super().__init__(outcome.why)
        self.outcome = outcome
