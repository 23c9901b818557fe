"""Messages that several faults print: which of them it is here.

A message that one fault alone prints stands with that fault, among its symptoms. Here stands what tells
faults apart that share one: each suspect with the test that speaks for it. One module a part of the stack.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from doctor.triage.case import Case

HARMLESS = "report/harmless-lines"  # it is printed on healthy machines as well


class Suspect(NamedTuple):
    """One fault behind a message."""

    id: str  # of a finding, or HARMLESS
    # True: the paste shows it; False: the paste excludes it; None: the paste does not tell.
    holds: Callable[[Case], bool | None]
    because: str = (
        ""  # what the test saw where it holds: "CUDA_VISIBLE_DEVICES names a GPU that is not there"
    )


class Ambiguous(NamedTuple):
    """A message and its suspects, the likeliest first where nothing decides."""

    message: str  # a substring, or a pattern behind "re:"
    suspects: tuple[Suspect, ...]
    question: str = ""  # whose answer decides: "What does this print?"
    command: tuple[str, ...] = ()  # that answers it: ("python", "-c", "...")
