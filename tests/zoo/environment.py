"""What the doctor is pointed at in the end-to-end tests: each environment by name, with what it must say."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from .lab import Lab

QUICK = ("--quick",)
FULL = ()
# For an import that hangs: nothing that ends by itself is timed by it.
IMPATIENT = ("--timeout", "8")


@dataclass(frozen=True)
class Target:
    """An interpreter to examine, and what surrounds the doctor's run."""

    python: Path
    working_folder: Path | None = None  # None: an empty one
    variables: Mapping[str, str | None] = field(default_factory=dict)  # None unsets one


@dataclass(frozen=True)
class Expected:
    """What a run must end with. ``also``: error findings that may stand beside the first."""

    primary: str | None
    verdict: str = "broken"
    code: int = 1
    options: tuple[str, ...] = FULL
    also: tuple[str, ...] = ()


QUICK_HEALTHY = Expected(None, "healthy", 0, QUICK)


def broken(id: str, *also: str, options: tuple[str, ...] = FULL) -> Expected:
    """An error of this id stands first; those of ``also`` may stand beside it."""
    return Expected(id, options=options, also=also)


def impaired(id: str, options: tuple[str, ...] = QUICK) -> Expected:
    """A warning of this id stands first, and training may go on."""
    return Expected(id, "impaired", 0, options)


def repacks_weights() -> bool:
    """Does bitsandbytes lay 4-bit weights out anew on this processor, which spoils training on a CPU?"""
    cpuinfo = Path("/proc/cpuinfo")
    return cpuinfo.is_file() and "avx512_bf16" in cpuinfo.read_text()


REPACKED = "bitsandbytes/weights-repacked-in-evaluation"
# All is in order as far as the processor allows.
HEALTHY = impaired(REPACKED, FULL) if repacks_weights() else Expected(None, "healthy", 0)

Build = Callable[[Lab], Target]


@dataclass(frozen=True)
class Environment:
    """One animal of the zoo."""

    build: Build
    expected: Expected

    @property
    def fault(self) -> str:
        """What is at fault, in the first line of its function's docstring."""
        return (self.build.__doc__ or self.build.__name__).strip().splitlines()[0]


ENVIRONMENTS: dict[str, Environment] = {}


def environment(expected: Expected) -> Callable[[Build], Build]:
    """Make an environment known by its function's name; the docstring says what is at fault in it."""

    def known(build: Build) -> Build:
        ENVIRONMENTS[build.__name__] = Environment(build, expected)
        return build

    return known


def faulty() -> list[str]:
    """Names of the environments in which something is at fault."""
    return [name for name, one in ENVIRONMENTS.items() if one.expected.primary not in (None, REPACKED)]


@contextmanager
def built(lab: Lab, name: str) -> Iterator[Target]:
    """The environment of this name; what it added to the bases is removed afterwards."""
    apart = lab.apart()
    try:
        yield ENVIRONMENTS[name].build(apart)
    finally:
        apart.clear()
