"""Slurm: one step with one task a node, inside an allocation or with one of its own. Source: srun(1)."""

from __future__ import annotations

import math

from doctor.fleet.launchers import Launch, Order, node_count

GPUS_HIDDEN = "where Slurm hides GPUs that a step did not ask for, add: --option=--gpus-per-node=N"


def launch(order: Order) -> Launch:
    """``srun``. A task that fails ends no other, and the last ones are not waited for without end."""
    nodes = node_count(order)
    argv = [
        "srun",
        *([f"--nodes={nodes}"] if nodes else []),
        *([f"--nodelist={','.join(order.hosts)}"] if order.hosts else []),
        f"--ntasks-per-node={order.ranks or 1}",
        "--kill-on-bad-exit=0",
        f"--wait={math.ceil(order.deadline_s)}",  # from the end of the first task to the last one's
        f"--time={math.ceil(2 * order.deadline_s / 60)}",
        *order.extra,
    ]
    notes = () if any("gpu" in word or "gres" in word for word in order.extra) else (GPUS_HIDDEN,)
    return Launch((*argv, *order.part(*order.together())), notes=notes)
