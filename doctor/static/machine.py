"""The state of one run: modules, frames, depth of doubt, budget; and the operations that need one another."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from doctor.static.outcomes import Observation
from doctor.static.plain import (
    Value,
)
from doctor.static.signals import Ask, OutOfBudget, Raised, kinds_of, kinds_of_class
from doctor.static.values import Arguments, Class, External, Function, Instance, Module
from doctor.static.world import World

# Steps that one call from a module's body may take, and that a whole stage may take.
CALL_STEPS, STAGE_STEPS = 30_000, 600_000
# How deep calls may nest: from a module's body, and in a stage.
SHALLOW_DEPTH, DEEP_DEPTH = 16, 40

ENVIRONMENT = {
    "HF_HUB_OFFLINE": "1",
    "TOKENIZERS_PARALLELISM": "false",
    "CUDA_VISIBLE_DEVICES": "",
    "WANDB_DISABLED": "true",
    "TRANSFORMERS_VERBOSITY": "error",
    "PATH": "/usr/bin",
    "HOME": "/home/user",
    "LANG": "C",
}


class Frame:
    """Where names are looked up while a body runs: of a module, class, function or comprehension."""

    __slots__ = (
        "base",
        "broken",
        "cls",
        "function",
        "global_names",
        "handled",
        "left",
        "line",
        "machine",
        "module",
        "names",
        "outer",
        "receiver",
        "result",
        "returns",
        "running",
        "skipped",
    )

    def __init__(
        self, machine: Machine, module: Module, names: dict[str, Value], outer: Frame | None = None
    ) -> None:
        self.machine = machine
        self.module = module
        self.names = names
        self.outer = outer
        self.base = machine.doubt  # more doubt than this concerns the frame's own code
        self.line = 0
        self.function = False  # is it a function's, or inside one
        self.running: Function | None = None
        self.cls: Class | None = None  # the class whose method runs, or whose body does
        self.receiver: Value = None
        self.global_names: set[str] = set()
        self.handled: Raised | None = None
        self.result: Value = None
        self.returns: list[Value] = []  # what branches in doubt returned
        self.left = 0  # how often such a branch may have left the function,
        self.broken = 0  # a loop,
        self.skipped = 0  # or the rest of a loop's turn

    def inner(self, names: dict[str, Value]) -> Frame:
        """A frame for a class body or comprehension in this one."""
        frame = Frame(self.machine, self.module, names, self)
        frame.base, frame.line, frame.function = self.base, self.line, self.function
        frame.cls, frame.receiver, frame.handled = self.cls, self.receiver, self.handled
        return frame

    @property
    def departures(self) -> int:
        """How often a branch in doubt may have left what runs now: each adds to the doubt that remains."""
        return self.left + self.broken + self.skipped


class Operations(NamedTuple):
    """What works on any value; gathered here since each needs the others."""

    attribute: Callable[[Machine, Value, str], Value]
    assign_attribute: Callable[[Machine, Value, str, Value], None]
    call: Callable[[Machine, Value, Arguments], Value]
    load: Callable[[Machine, str], Value]
    body: Callable[[Machine, Module], Callable[[Frame], object]]


class Machine:
    """One run over one world. Stages run one after the other share what was imported."""

    def __init__(self, world: World, operations: Operations) -> None:
        self.world = world
        self.operations = operations
        self.modules: dict[str, Value] = {}  # sys.modules
        self.frames: list[Frame] = []
        self.finders: list[Value] = []  # sys.meta_path, as far as the packages extended it
        self.environment: Mapping[str, str] = ENVIRONMENT
        self.observations: set[Observation] = set()
        self.remembered: dict[object, Value] = {}  # results of functions that remember theirs
        self.asked_version: str = ""  # the distribution whose version was compared last
        self.doubt = 0
        self.tries = 0
        self.imports = 0
        self.calls = 0  # depth of calls since the last import began
        self.steps = 0
        self.deep = False

    @property
    def limit(self) -> int:
        """Steps that may be taken before the budget is spent."""
        return STAGE_STEPS if self.deep else CALL_STEPS

    @property
    def deepest(self) -> int:
        """How deep calls may nest."""
        return DEEP_DEPTH if self.deep else SHALLOW_DEPTH

    def spend(self) -> None:
        """Count one statement of a function."""
        self.steps += 1
        if self.steps > (STAGE_STEPS if self.deep else CALL_STEPS):
            raise OutOfBudget

    def attribute(self, value: Value, name: str) -> Value:
        """``value.name``."""
        return self.operations.attribute(self, value, name)

    def assign_attribute(self, value: Value, name: str, assigned: Value) -> None:
        """``value.name = assigned``."""
        self.operations.assign_attribute(self, value, name, assigned)

    def call(self, callee: Value, *positional: Value, **keywords: Value) -> Value:
        """``callee(*positional, **keywords)``."""
        return self.operations.call(self, callee, Arguments(list(positional), keywords))

    def load(self, name: str) -> Value:
        """Import a module by its full name; the module itself, not its top."""
        return self.operations.load(self, name)

    @property
    def consumer(self) -> str:
        """The distribution whose code runs, "" for a stage's own."""
        owner = self.frames[-1].module.owner if self.frames else None
        return owner.name if owner else ""

    def where(self) -> str:
        """File and line that run: "transformers/trainer.py:123"."""
        frame = self.frames[-1]
        return f"{frame.module.path}:{frame.line}"

    def chain(self) -> tuple[str, ...]:
        """The modules that led here, from the stage's own code."""
        names: list[str] = []
        for frame in self.frames:
            if not names or names[-1] != frame.module.name:
                names.append(frame.module.name)
        return tuple(names)

    def error(
        self, name: str, message: str, *, ask: Ask | None = None, cause: Raised | None = None
    ) -> Raised:
        """An exception of Python's own, raised where the program is now."""
        return Raised(
            name,
            message,
            kinds=kinds_of(name),
            where=self.where(),
            asker=self.frames[-1].module.name,
            chain=self.chain(),
            imports=self.imports,
            ask=ask,
            cause=cause,
        )

    def refusal(self, cls: Value, message: str) -> Raised:
        """An exception that the program makes. In a stage, values are too vague to believe a ValueError."""
        name = cls.name if isinstance(cls, (External, Class)) else "Exception"
        error = self.error(name, message, ask=Ask("refused", "", ""))
        error.kinds = kinds_of_class(cls)
        error.doubted = self.deep and self.frames[-1].function and "ImportError" not in error.kinds
        return error

    def observe(self, observation: Observation) -> None:
        """Keep a look across distributions; looks at oneself are no news."""
        if observation.consumer and observation.provider and observation.consumer != observation.provider:
            self.observations.add(observation)

    def new(self, cls: Class) -> Instance:
        """An object of a class, its ``__init__`` not yet called."""
        return Instance(cls, self.doubt)
