"""What became of a plan that was carried out."""

from __future__ import annotations

from typing import Literal

import msgspec

from doctor.treatment.plan import Plan


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """The promise to other programs: changing or removing a field needs a new ``schema``.

    ``cured``, ``not_cured`` and ``new`` are ids of findings: gone, still there, and not there before.
    """

    schema: int = 1
    state: Literal["cured", "improved", "restored"]  # restored: the target is as it was
    cured: tuple[str, ...] = ()
    not_cured: tuple[str, ...] = ()
    new: tuple[str, ...] = ()
    failed: str = ""  # the title of the step that failed, or what else went wrong
    said: str = ""  # the installer's last words about it
    past: str = ""  # the name under which the past is kept; "" where the target is as it was
    before: tuple[str, ...] = ()  # what was installed: "peft==0.17.1", "peft @ file:///src/peft"
    after: tuple[str, ...] = ()


class Treatment(msgspec.Struct, frozen=True, kw_only=True):
    """A plan and what became of it; changing or removing a field needs a new ``schema``."""

    schema: int = 1
    plan: Plan
    outcome: Outcome
