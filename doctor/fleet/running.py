"""Runs a launch in a thread, so that the first answer is read while the slowest is awaited."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator

from doctor.fleet.answers import ask, ask_each
from doctor.fleet.envelope import expected_line
from doctor.fleet.hostlist import expand
from doctor.fleet.launchers import Launch, Order
from doctor.host import Host
from doctor.plain import plain

COMPLAINT_LINES = 12
OWN_WORDS = ("slurm", "mpi")  # launchers that say in a few lines which task they killed


def answers(
    host: Host,
    launcher: str,
    launch: Launch,
    order: Order,
    at_once: int,
    here: str,
    complain: Callable[[str], None],
) -> Iterator[str]:
    """The lines that nodes give, as they come, below the line that names who was asked.

    ``here`` is this machine's name; ``complain`` takes what the launcher itself had to say.
    """
    told: queue.Queue[str | None] = queue.Queue()
    ranks = launcher == "torchrun"

    def work() -> None:
        try:
            if launch.each:
                ask_each(host, launch.each, order.deadline_s, at_once, told.put, ranks=ranks)
                return
            done = ask(host, launch.argv, 2 * order.deadline_s, told.put, here=here, ranks=ranks)
            if launcher in OWN_WORDS:
                complain(complaint(done.stderr))
        finally:
            told.put(None)

    threading.Thread(target=work, daemon=True).start()
    if names := order.hosts or (allocated(host, order) if launcher == "slurm" else ()):
        yield expected_line(names)
    yield from iter(told.get, None)


def allocated(host: Host, order: Order) -> tuple[str, ...]:
    """The nodes of the allocation that this runs in; none where there is none, or only some are meant."""
    try:
        names = expand(host.env.get("SLURM_JOB_NODELIST", ""))
    except ValueError:
        return ()
    return names if order.nodes in (None, len(names)) else ()


def complaint(text: str) -> str:
    """The last lines of what srun or mpirun says, without its rulers."""
    lines = [line for line in plain(text).splitlines() if line.strip("- ")]
    return "".join(f"{line}\n" for line in lines[-COMPLAINT_LINES:])
