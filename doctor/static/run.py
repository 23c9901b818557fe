"""Follow the stages of a fine-tune through the sources of a set of packages, importing nothing."""

from __future__ import annotations

import gc
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from doctor.static.code import compiled
from doctor.static.compiling import run_block
from doctor.static.interpreter import machine_for
from doctor.static.machine import Frame, Machine
from doctor.static.outcomes import Event, Failed, Observation, Outcome, Passed, Undecided
from doctor.static.signals import OutOfBudget, Raised
from doctor.static.stages import ALL, PROGRAMS, StaticStage
from doctor.static.values import (
    Module,
)
from doctor.static.world import World

RECURSION = 40_000  # of the doctor's own Python: one call of the program takes a dozen of its frames


@dataclass(frozen=True)
class Run:
    """Outcomes by stage, and every look across packages that they rest on."""

    outcomes: Mapping[StaticStage, Outcome]
    observations: frozenset[Observation]


def run(world: World, stages: Sequence[StaticStage] = ALL) -> dict[StaticStage, Outcome]:
    """The outcome of each stage, tried in the given order in one process, as a user's program would."""
    return dict(run_with_observations(world, stages).outcomes)


def run_with_observations(world: World, stages: Sequence[StaticStage] = ALL) -> Run:
    """Likewise, with the looks across packages."""
    machine = machine_for(world)
    outcomes: dict[StaticStage, Outcome] = {}
    observations: set[Observation] = set()
    with _deep_recursion(), _no_collection():
        for stage in stages:
            outcomes[stage] = _follow(machine, stage, PROGRAMS[stage], not stage.startswith("import-"))
            observations |= machine.observations
            if isinstance(outcomes[stage], Undecided):
                machine = machine_for(world)  # what was left half done must not be held against the next
    return Run(outcomes, frozenset(observations))


@contextmanager
def _deep_recursion() -> Iterator[None]:
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, RECURSION))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


@contextmanager
def _no_collection() -> Iterator[None]:
    """Python's search for circles would cost more than the run: sources make millions of lasting objects."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def run_program(world: World, program: str, *, deep: bool = True) -> Outcome:
    """The outcome of any program. ``deep`` follows its calls as far as a stage's are, and its loops once."""
    with _deep_recursion(), _no_collection():
        return _follow(machine_for(world), "program", program, deep)


def _follow(machine: Machine, name: str, program: str, deep: bool) -> Outcome:
    """Follow a program. Whatever goes wrong in the doctor's own code is no fault of the packages."""
    steps, _ = compiled(program)
    module = Module("__main__", name, "source", False, None)
    module.names["__name__"] = "__main__"
    machine.frames = [Frame(machine, module, module.names)]
    machine.doubt = machine.tries = machine.calls = machine.steps = machine.imports = 0
    machine.deep = deep
    try:
        run_block(steps, machine.frames[0])
    except Raised as error:
        return Passed() if error.doubted else Failed(event_of(machine, error))
    except OutOfBudget:
        return Undecided("the budget was spent")
    except RecursionError:
        return Undecided("nested too deeply")
    except Exception as error:
        return Undecided(f"{type(error).__name__}: {error}")
    return Passed()


def event_of(machine: Machine, error: Raised) -> Event:
    """The first cause of an exception, in the words of the packages' own."""
    first = error.first
    ask = first.ask
    consumer = machine.world.owner(first.asker)
    module, symbol = (ask.module, ask.symbol) if ask else ("", "")
    return Event(
        kind=ask.kind if ask else "other",
        consumer=consumer.name if consumer else "",
        provider=_provider(machine, first, module, consumer.name if consumer else ""),
        module=module,
        symbol=symbol,
        where=first.where,
        exception=first.name,
        message=first.message,
        chain=first.chain,
        surface_exception=error.name,
        surface=error.message,
    )


def _provider(machine: Machine, first: Raised, module: str, consumer: str) -> str:
    if module:
        owner = machine.world.owner(module)
        return owner.name if owner else module.partition(".")[0]
    named = [name for name in re.findall(r"[\w.-]+", first.message) if name in machine.world.by_name]
    return next((name for name in named if name != consumer), machine.asked_version)
