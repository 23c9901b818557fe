"""Launch lines for the engines that people have: one module each, from an order to words or a file. Pure."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import NamedTuple

LAUNCHERS = ("slurm", "torchrun", "mpi", "ssh", "ray", "k8s")
COLLECTIVE_WAITS = 3  # as long as the longest wait of a rank, at most, takes a collective test
GRACE_S = 15.0  # that a launcher waits longer than a node's own deadline: for its start and its answer


class OrderIncomplete(Exception):
    """An order that a launcher cannot carry out; ``hint`` says what to add."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.hint = hint


class Order(NamedTuple):
    """What to run and where. ``hosts`` are names, or empty where the launcher knows its nodes itself."""

    doctor: tuple[str, ...] = ("lora-doctor",)  # how the doctor is called on a node
    options: tuple[str, ...] = ()  # of ``fleet node``
    check_options: tuple[str, ...] = ()
    nodes: int | None = None
    hosts: tuple[str, ...] = ()
    hosts_file: str = ""
    ranks: int | None = None  # a node, of a collective test
    collective: bool = False  # is there one?
    endpoint: str = ""
    timeout_s: float = 300.0
    wait_s: float = 60.0
    python: str = ""  # the target on the nodes
    extra: tuple[str, ...] = ()  # the launcher's own options, as they are
    image: str = ""
    mpi: str = "openmpi"

    def part(self, *more: str) -> tuple[str, ...]:
        """The words of a node's part; ``more`` are further options of it."""
        behind = ("--", *self.check_options) if self.check_options else ()
        timeout = ("--timeout", f"{self.timeout_s:g}")
        return (*self.doctor, "fleet", "node", *self.options, *timeout, *more, *behind)

    def together(self) -> tuple[str, ...]:
        """Options of a node's part for a collective test without torchrun; none where there is none."""
        if not self.collective:
            return ()
        if not self.endpoint:
            raise OrderIncomplete(
                "ranks need a place to meet",
                "name it: --endpoint HOST:29500, with a host that all of them reach",
            )
        return ("--collective", "--wait", f"{self.wait_s:g}", "--endpoint", self.endpoint)

    @property
    def deadline_s(self) -> float:
        """Seconds after which nothing more is awaited from a node that was started."""
        collective = COLLECTIVE_WAITS * self.wait_s if self.collective else 0.0
        return self.timeout_s + collective + GRACE_S


class Launch(NamedTuple):
    """What carries an order out: words to run here, or a file and the commands that take it up."""

    argv: tuple[str, ...] = ()
    each: tuple[tuple[str, tuple[str, ...]], ...] = ()  # host and words, all at the same time
    file_name: str = ""
    text: str = ""
    commands: tuple[str, ...] = ()  # for the shell, after the file was written
    notes: tuple[str, ...] = ()
    answers_of: str = ""  # "node" or "rank": what each answer is one of


def launch(name: str, order: Order) -> Launch:
    """How a launcher carries an order out. Raises :class:`OrderIncomplete`."""
    carry_out: Callable[[Order], Launch] = import_module(f"doctor.fleet.launchers.{name}").launch
    return carry_out(order)


def quoted(words: Sequence[str]) -> str:
    """Words as a POSIX shell takes them."""
    return shlex.join(words)


def node_count(order: Order) -> int | None:
    """How many nodes are asked for, by number or by name."""
    return order.nodes or len(order.hosts) or None
