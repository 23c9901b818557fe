"""``lora-doctor fleet run``."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from doctor.cli import options
from doctor.cli.early import this_machine
from doctor.cli.fleet_node import NODE_LIMIT_S, WAIT_S, Backend, CheckOptions, Wait, machine_name
from doctor.cli.output import deliver, refuse

if TYPE_CHECKING:
    from doctor.fleet.launchers import Launch, Order
    from doctor.host import LocalHost

Launcher = Annotated[
    Literal["slurm", "torchrun", "mpi", "ssh", "ray", "k8s"],
    typer.Option("--launcher", help="What starts programs on your nodes."),
]
Go = Annotated[
    bool, typer.Option("--go/--dry-run", help="Run it and compare what comes, or print how it is run.")
]
Nodes = Annotated[int | None, typer.Option("--nodes", "-N", metavar="N", help="How many nodes.")]
Hosts = Annotated[
    str, typer.Option("--hosts", metavar="LIST", help='Names: a file of them, or "gpu[01-08],login1".')
]
Ranks = Annotated[
    int | None,
    typer.Option("--nproc-per-node", metavar="N", help="Ranks a node; asks for the test of how ranks talk."),
]
Endpoint = Annotated[
    str,
    typer.Option("--endpoint", metavar="HOST:PORT", help="Where ranks meet: a host that all reach."),
]
Doctor = Annotated[
    str, typer.Option("--doctor", metavar="WORDS", help="How lora-doctor is called on a node.")
]
Target = Annotated[
    str, typer.Option("--python", metavar="PATH", help="The interpreter that trains, on the nodes.")
]
Extra = Annotated[
    list[str] | None,
    typer.Option("--option", metavar="WORD", help="The launcher's own option: --option=--partition=gpu."),
]
Image = Annotated[str, typer.Option("--image", metavar="NAME", help="k8s: the image that trains.")]
Mpi = Annotated[Literal["openmpi", "mpich"], typer.Option("--mpi", help="mpi: whose starter it is.")]
AtOnce = Annotated[int, typer.Option("--at-once", metavar="N", help="ssh: how many hosts at the same time.")]
NodeTimeout = Annotated[
    float, typer.Option("--timeout", metavar="SECONDS", help="Longest time for the check of a node.")
]


def run(
    launcher: Launcher,
    go: Go = False,
    nodes: Nodes = None,
    hosts: Hosts = "",
    nproc_per_node: Ranks = None,
    endpoint: Endpoint = "",
    backend: Backend = "auto",
    wait: Wait = WAIT_S,
    timeout: NodeTimeout = NODE_LIMIT_S,
    python: Target = "",
    doctor: Doctor = "lora-doctor",
    option: Extra = None,
    image: Image = "",
    mpi: Mpi = "openmpi",
    at_once: AtOnce = 32,
    format: options.FormatOption = "terminal",
    output: options.Output = None,
    ignore: options.Ignore = None,
    strict: options.Strict = False,
    no_color: options.NoColor = False,
    check_options: CheckOptions = None,
) -> None:
    """Check every node by the launcher you have: print its line, or run it and compare what comes."""
    host = this_machine()
    refuse_none(("--nodes", nodes), ("--nproc-per-node", nproc_per_node), ("--at-once", at_once))
    order = order_of(doctor, python, backend, check_options or [])._replace(
        nodes=nodes, hosts=host_names(host, hosts), ranks=nproc_per_node, endpoint=endpoint, mpi=mpi
    )
    order = order._replace(timeout_s=timeout, wait_s=wait, extra=tuple(option or ()), image=image)
    order = order._replace(collective=launcher == "torchrun" or nproc_per_node is not None)
    launch = ordered(launcher, order)
    if not go:
        show(launch, order, output)
        return
    told = heard(host, launcher, launch, order, at_once)
    if format == "jsonl":
        pass_on(told)
        return
    from doctor.cli.fleet_compare import compare_lines

    compare = partial(compare_lines, host, told, order.hosts, expect_count=None if order.hosts else nodes)
    told_as = partial(compare, format=format, output=output, no_color=no_color)
    raise typer.Exit(told_as(ignore=ignore or (), strict=strict))


def order_of(doctor: str, python: str, backend: str, check_options: Sequence[str]) -> Order:
    """What a node is to run. Leaves with 2 where ``--doctor`` is no words of a shell."""
    from doctor.fleet.launchers import Order

    try:
        words = tuple(shlex.split(doctor))
    except ValueError as error:
        refuse(f"--doctor {doctor}: {error}", "quote it as a shell needs it")
    of_node = [
        *(("--python", python) if python else ()),
        *(("--backend", backend) if backend != "auto" else ()),
    ]
    return Order(doctor=words, options=tuple(of_node), check_options=tuple(check_options), python=python)


def refuse_none(*numbers: tuple[str, int | None]) -> None:
    """Leave with 2 where a number of things is below one."""
    for option, number in numbers:
        if number is not None and number < 1:
            refuse(f"{option} {number} is nothing to run", f"say at least 1, or leave {option} out")


def host_names(host: LocalHost, hosts: str) -> tuple[str, ...]:
    """The names of ``--hosts``. Leaves with 2 where they cannot be read."""
    from doctor.fleet_files import node_names

    try:
        return node_names(host, hosts) if hosts else ()
    except ValueError as error:
        refuse(f"--hosts: {error}", 'write names as in "gpu[01-08],login1", or name a file of them')


def ordered(launcher: str, order: Order) -> Launch:
    """The launch. Leaves with 2 where the order lacks something."""
    from doctor.fleet.launchers import OrderIncomplete, launch

    try:
        return launch(launcher, order)
    except OrderIncomplete as error:
        refuse(str(error), error.hint)


def show(launch: Launch, order: Order, output: str | None) -> None:
    """Print how it is run, and beside it what else is to be known."""
    deliver(printed(launch, order), output)
    for note in launch.notes:
        typer.echo(f"lora-doctor: {note}", err=True)


def printed(launch: Launch, order: Order) -> str:
    """How to run it by hand, as a shell takes it; or a file, with what to do with it on top."""
    from doctor.fleet.launchers import quoted

    if launch.file_name:
        steps = (f"#   {command}" for command in launch.commands)
        return "\n".join([f"# save this as {launch.file_name}, then:", *steps, launch.text])
    compare = "lora-doctor fleet compare -" + expectation(order)
    if not launch.each:
        return f"{quoted(launch.argv)} | {compare}\n"
    clients = [f"  timeout {int(order.deadline_s)} {quoted(argv)} &" for _, argv in launch.each]
    return "\n".join(["{", *clients, "  wait", f"}} | {compare}", ""])


def expectation(order: Order) -> str:
    """The options of ``fleet compare`` that say who ought to answer."""
    from doctor.fleet.hostlist import fold
    from doctor.fleet.launchers import quoted

    if order.hosts:
        return " --nodes " + quoted([fold(order.hosts)])
    return f" --expect {order.nodes}" if order.nodes else ""


def heard(host: LocalHost, launcher: str, launch: Launch, order: Order, at_once: int) -> Iterable[str]:
    """What the nodes answer. Leaves with 2 where this launcher is not run from here."""
    from doctor.fleet.running import answers

    if launch.file_name:
        hint = f"leave --go out: {launch.file_name} is printed, with what to do with it"
        refuse(f"{launcher} is not run from here", hint)
    return answers(host, launcher, launch, order, at_once, machine_name(host), complain)


def complain(text: str) -> None:
    """Pass on what the launcher itself says."""
    sys.stderr.write(text)


def pass_on(told: Iterable[str]) -> None:
    """Print every answer as it comes, for ``fleet compare`` elsewhere."""
    for text in told:
        sys.stdout.write(text + "\n")
        sys.stdout.flush()
