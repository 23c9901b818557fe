"""What a run tells: for each stage an outcome, for each failure its event, for each look across packages
an observation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Kind = Literal[
    "missing-name",  # from m import name
    "missing-module",
    "missing-attribute",
    "unexpected-keyword",
    "missing-argument",
    "too-many-arguments",
    "refused",  # raised on purpose: a version that is not accepted, a package that is asked for
    "other",
]


@dataclass(frozen=True)
class Event:
    """The first cause of a failed stage."""

    kind: Kind
    consumer: str  # distribution whose code asks, "" where the stage's own code does
    provider: str  # distribution that is asked, "" where it cannot be told
    module: str  # module that is asked: "transformers.utils"
    symbol: str  # name, "Class.method" or "Class.method(keyword)"
    where: str  # "transformers/trainer.py:123"
    exception: str  # "ImportError"
    message: str  # as Python prints it, without the class and without the path in parentheses
    chain: tuple[str, ...]  # modules from the stage's own code to the cause
    surface_exception: str  # what the user sees last
    surface: str


@dataclass(frozen=True)
class Passed:
    """Nothing definite stands against the stage."""


@dataclass(frozen=True)
class Failed:
    """The stage fails, and this is why."""

    event: Event


@dataclass(frozen=True)
class Undecided:
    """The interpreter gave up; nothing is known of the stage."""

    reason: str


Outcome: TypeAlias = Passed | Failed | Undecided


@dataclass(frozen=True)
class Observation:
    """One look of one distribution at another, and the answer. Releases that answer alike behave alike."""

    consumer: str
    provider: str
    kind: Literal["name", "attribute", "call", "parameter", "version"]
    module: str
    name: str
    answer: str
