"""What the doctor is pointed at in the end-to-end tests, by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from .lab import Lab


@dataclass(frozen=True)
class Target:
    """An interpreter to examine, and what surrounds the doctor's run."""

    python: Path
    working_folder: Path | None = None  # None: an empty one
    variables: Mapping[str, str | None] = field(default_factory=dict)  # None unsets one


Build = Callable[[Lab], Target]
ENVIRONMENTS: dict[str, Build] = {}


def environment(build: Build) -> Build:
    """Make an environment known by its function's name."""
    ENVIRONMENTS[build.__name__] = build
    return build


@contextmanager
def built(lab: Lab, name: str) -> Iterator[Target]:
    """The environment of this name; what it added to the bases is removed afterwards."""
    try:
        yield ENVIRONMENTS[name](lab)
    finally:
        lab.clear()
