"""Where a process stands among others, by the variables that its launcher has set."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

# In this order: torchrun may run inside of a step of Slurm's, whose own numbers then count nodes, not ranks.
# Each: rank, world size, local rank. Sources: torch.distributed.run, srun(1), mpirun(1) of Open MPI 4,
# Hydra's PMI of MPICH, "Indexed Job" of Kubernetes.
VARIABLES = (
    ("RANK", "WORLD_SIZE", "LOCAL_RANK"),
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"),
    ("PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID"),
    ("SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID"),
    ("JOB_COMPLETION_INDEX", "", ""),
)
NODE_NAMES = ("LORA_DOCTOR_NODE", "SLURMD_NODENAME", "NODE_NAME")  # the last one set by our manifest
PORT = 29500  # where none is told; torch.distributed's own


class Place(NamedTuple):
    """One process among ``world_size``. Numbers are None where the launcher tells of none."""

    node: str
    rank: int | None = None
    world_size: int | None = None
    local_rank: int | None = None
    master: str = ""
    port: int = PORT
    agent_store: bool = False  # does torchrun serve the store of the rendezvous?


def place_in(env: Mapping[str, str], machine_name: str, node: str = "") -> Place:
    """The place that variables tell of. ``node`` is the name that the launch line gives, where it does."""
    named = (env.get(name, "") for name in NODE_NAMES)
    node = node or next((name for name in named if name), "") or machine_name or "unnamed"
    names = next((names for names in VARIABLES if whole(env, names[0]) is not None), ("", "", ""))
    rank, world_size, local_rank = (whole(env, name) for name in names)
    return Place(
        node,
        rank,
        world_size,
        local_rank,
        env.get("MASTER_ADDR", ""),
        whole(env, "MASTER_PORT") or PORT,
        env.get("TORCHELASTIC_USE_AGENT_STORE") == "True",
    )


def whole(env: Mapping[str, str], name: str) -> int | None:
    """A variable as a whole number that is not negative, None where it is none."""
    text = env.get(name, "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else None
