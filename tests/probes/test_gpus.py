"""GPUs as NVML tells of them. What nvidia-smi tells is tested beside the driver."""

from __future__ import annotations

from typing import Any

import healthy
from fakes import emits, ended

from doctor.facts import Gap, Gpu, GpuProcess, MigInstance
from doctor.probes import Looks, gpus

MIB = 1 << 20
LOST = {"index": 1, "error": "GPU is lost", "code": 15}


def probed(*rows: dict[str, Any]) -> tuple[Gpu, ...] | Gap:
    nvml = emits({**healthy.NVML, "gpus": list(rows)})
    return gpus.probe(Looks(healthy.host(nvml=nvml), healthy.TARGET))


def test_a_lost_gpu_does_not_hide_the_others() -> None:
    found = probed(healthy.GPU, LOST, {**healthy.GPU, "index": 2})
    assert isinstance(found, tuple)
    assert [gpu.index for gpu in found] == [0, 2]


def test_where_no_gpu_answers_the_gap_names_each() -> None:
    assert probed({**LOST, "index": 0}, LOST) == Gap(
        about="gpus",
        kind="failed",
        reason="GPU 0 does not answer: GPU is lost; GPU 1 does not answer: GPU is lost",
    )


def test_what_is_within_a_gpu_becomes_facts() -> None:
    process = {"name": "python3", "memory_bytes": None, "kind": "compute"}
    part = {"name": "NVIDIA A100 MIG 1g.5gb", "memory_total_bytes": 4864 * MIB, "memory_free_bytes": 1}
    peers = {"1": "nvlink"}
    row = {**healthy.GPU, "processes": [process], "mig_instances": [part], "throttle": ["thermal"]}
    found = probed({**row, "peers": peers})
    assert isinstance(found, tuple)
    [gpu] = found
    assert gpu.processes == (GpuProcess(name="python3"),)
    assert gpu.mig_instances == (
        MigInstance(
            name="NVIDIA A100 MIG 1g.5gb", memory_total_bytes=4864 * MIB, memory_free_bytes=1, uuid_hash=""
        ),
    )
    assert (gpu.throttle, gpu.peers) == (("thermal",), peers)


def test_processes_that_are_not_told_are_not_none() -> None:
    assert probed({**healthy.GPU, "processes": None}) != probed({**healthy.GPU, "processes": []})


def test_a_gpu_whose_memory_may_not_be_seen_shares_none() -> None:
    rows = ended("0, NVIDIA A100-SXM4-40GB, 550.54.14, [Insufficient Permissions], [N/A], 8.0\n")
    refused = emits({"section": "nvml", "error": "NVML Shared Library Not Found", "code": 12})
    found = gpus.probe(Looks(healthy.host(nvml=refused, rows=rows), healthy.TARGET))
    assert isinstance(found, tuple)
    assert [(gpu.memory_total_bytes, gpu.shares_memory) for gpu in found] == [(None, False)]
