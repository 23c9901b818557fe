"""MPI's process starters, which run any program: Open MPI's mpirun and Hydra of MPICH and Intel MPI.

Sources: mpirun(1) of Open MPI 4.1; "Using the Hydra Process Manager" of MPICH.
"""

from __future__ import annotations

import math

from doctor.fleet.launchers import Launch, Order, OrderIncomplete, node_count


def launch(order: Order) -> Launch:
    """``mpirun``, one process a node."""
    starter = hydra if order.mpi == "mpich" else open_mpi
    return Launch((*starter(order), *order.extra, *order.part(*order.together())))


def open_mpi(order: Order) -> list[str]:
    """The words of Open MPI: a process that dies takes none with it, and the whole has a limit."""
    per_node, nodes = order.ranks or 1, node_count(order)
    where = []
    if order.hosts:
        where = ["--host", ",".join(f"{host}:{per_node}" for host in order.hosts)]
    elif order.hosts_file:
        where = ["--hostfile", order.hosts_file]
    count = ["-n", str(nodes * per_node)] if nodes else []
    deadline = str(math.ceil(order.deadline_s + 30))
    recovery = ["--enable-recovery", "--timeout", deadline]
    return ["mpirun", *count, "--map-by", f"ppr:{per_node}:node", *where, *recovery]


def hydra(order: Order) -> list[str]:
    """The words of Hydra, which counts processes and not nodes."""
    per_node, nodes = order.ranks or 1, node_count(order)
    if nodes is None:
        raise OrderIncomplete(
            "MPICH must be told how many nodes there are", "say --nodes N, or name --hosts a,b"
        )
    where = []
    if order.hosts:
        where = ["-hosts", ",".join(order.hosts)]
    elif order.hosts_file:
        where = ["-f", order.hosts_file]
    return ["mpiexec", "-n", str(nodes * per_node), "-ppn", str(per_node), *where, "-disable-auto-cleanup"]
