"""torchrun: the rendezvous of a training itself, with a test of its ranks in the place of the training.

Source: torch.distributed.run's own help, PyTorch 2.13.
"""

from __future__ import annotations

import math

from doctor.fleet.launchers import Launch, Order, OrderIncomplete, node_count
from doctor.fleet.launchers.ssh import asking

PORT = 29400  # torchrun's own, of a rendezvous


def launch(order: Order) -> Launch:
    """The same line on every node; by ssh where the hosts are named."""
    nodes = node_count(order) or 1
    endpoint = order.endpoint or (f"{order.hosts[0].rpartition('@')[2]}:{PORT}" if order.hosts else "")
    if nodes > 1 and not endpoint:
        raise OrderIncomplete(
            "several nodes need a place to meet",
            f"name it: --endpoint HOST:{PORT}, with a host that all reach",
        )
    if not order.hosts:
        notes = (f"run it on each of the {nodes} nodes at the same time",) if nodes > 1 else ()
        return Launch(line(order, nodes, endpoint), notes=notes)
    each = (
        (host, asking(host, line(order, nodes, endpoint, "--name", host), order.extra))
        for host in order.hosts
    )
    return Launch(each=tuple(each))


def line(order: Order, nodes: int, endpoint: str, *more: str) -> tuple[str, ...]:
    """torchrun of the target's own torch, with the doctor as its program."""
    wait_s = math.ceil(order.wait_s)
    where = ["--rdzv-backend=c10d", f"--rdzv-endpoint={endpoint}", "--rdzv-id=lora-doctor"]
    return (
        *(order.python or "python", "-m", "torch.distributed.run"),
        f"--nnodes={nodes}",
        f"--nproc-per-node={order.ranks or 'gpu'}",
        *(where if endpoint else ["--standalone"]),
        # The first bounds the wait for other nodes, the second each answer of the store; whole numbers only.
        f"--rdzv-conf=join_timeout={wait_s},read_timeout={wait_s}",
        "--max-restarts=0",
        *(order.extra if not order.hosts else ()),
        "--no-python",
        *order.part("--collective", "--wait", f"{order.wait_s:g}", *more),
    )
