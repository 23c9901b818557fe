"""Where a process stands, by what its launcher set."""

from __future__ import annotations

import pytest

from doctor.fleet.place import Place, place_in


@pytest.mark.parametrize(
    ("env", "place"),
    [
        ({}, Place("box")),
        (
            {"SLURMD_NODENAME": "n7", "SLURM_PROCID": "3", "SLURM_NTASKS": "4", "SLURM_LOCALID": "0"},
            Place("n7", 3, 4, 0),
        ),
        (
            {"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "2", "OMPI_COMM_WORLD_LOCAL_RANK": "1"},
            Place("box", 1, 2, 1),
        ),
        ({"PMI_RANK": "1", "PMI_SIZE": "2", "MPI_LOCALRANKID": "0"}, Place("box", 1, 2, 0)),
        ({"JOB_COMPLETION_INDEX": "5", "NODE_NAME": "worker-5"}, Place("worker-5", 5)),
        (
            # torchrun within a step of Slurm's
            {"RANK": "9", "WORLD_SIZE": "16", "LOCAL_RANK": "1", "SLURM_PROCID": "1", "SLURMD_NODENAME": "n2"}
            | {"MASTER_ADDR": "n1", "MASTER_PORT": "4321", "TORCHELASTIC_USE_AGENT_STORE": "True"},
            Place("n2", 9, 16, 1, "n1", 4321, True),
        ),
        ({"RANK": "-1", "WORLD_SIZE": "x"}, Place("box")),
        ({"RANK": "٣"}, Place("box")),
    ],
)  # fmt: skip
def test_a_place_is_read_off_the_launchers_variables(env: dict[str, str], place: Place) -> None:
    assert place_in(env, "box") == place


def test_the_name_of_the_launch_line_is_believed_first() -> None:
    assert place_in({"SLURMD_NODENAME": "n7"}, "box", "gpu-01").node == "gpu-01"
    assert place_in({}, "").node == "unnamed"
