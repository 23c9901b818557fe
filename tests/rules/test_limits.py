"""Shared memory, disk and locked memory that are too little."""

from __future__ import annotations

from typing import Any

import pytest
from healthy import FACTS, but

from doctor.facts import Facts
from doctor.rules.limits import GIB, MIB, in_words

from .judging import case, check, facts, findings, ids

SHARED, DISK, LOCKED = "system/shared-memory-too-small", "system/disk-full", "system/memory-lock-limited"
COMPILING, SYSTEM = FACTS.compiling, FACTS.system
GPU = FACTS.gpus[0]  # type: ignore[index]
# Of other witnesses nothing: they tell of one GPU.
ALONE: dict[str, Any] = {"driver_signs": None, "cuda_driver": None, "torch_runtime": None}
TWO: dict[str, Any] = {"gpus": (GPU, but(GPU, index=1)), **ALONE}
NONE: dict[str, Any] = {"gpus": (), **ALONE}


def shared(
    size: int | None, free: int | None = None, container: str | None = "docker", **changes: object
) -> Facts:
    return facts(
        system=but(SYSTEM, shared_memory_bytes=size, container=container),
        compiling=but(COMPILING, shared_memory_free_bytes=free),
        **changes,
    )


def compiling(**changes: object) -> Facts:
    return facts(compiling=but(COMPILING, **changes))


HITS = {
    "docker's default and two GPUs": case(
        SHARED,
        "warning",
        shared(64 * MIB, **TWO),
        "/dev/shm has 64 MiB, too little for 2 GPUs",
        seen=("/dev/shm: 64 MiB -> at least 1 GiB",),
    ),
    "docker's default and one GPU": case(
        SHARED, "note", shared(64 * MIB), "/dev/shm has 64 MiB, too little for data loaders with workers"
    ),
    "full of what others left": case(
        SHARED,
        "warning",
        shared(12 * GIB, 100 * MIB, None, **TWO),
        "/dev/shm has 100 MiB",
        seen=("100 MiB free of 12 GiB",),
        command="sudo mount -o remount,size=8G /dev/shm",
    ),
    "no room for a model": case(
        DISK,
        "warning",
        compiling(hub_cache_free_bytes=300 * MIB),
        "The disk of /data/hf/hub has 300 MiB left",
        seen=("/data/hf/hub: 300 MiB free -> at least 1 GiB",),
        command="export HF_HOME=",
    ),
    "no room anywhere": case(
        DISK,
        "warning",
        facts(
            system=but(SYSTEM, disk_free_bytes=0),
            compiling=but(COMPILING, hub_cache_free_bytes=0, cache_free_bytes=0),
        ),
        "The disk of temporary folder has 0 MiB left",
        seen=("temporary folder: 0 MiB", "/home/ada/.triton/cache: 0 MiB", "/data/hf/hub"),
        command="export TMPDIR=",
    ),
    "cards that want locked memory": case(
        LOCKED,
        "note",
        compiling(rdma_devices=("mlx5_0", "mlx5_1"), memory_lock_bytes=8 * MIB),
        "mlx5_0 transfers from locked memory, of which 8 MiB is allowed",
        seen=("8 MiB -> unlimited",),
    ),
}
MISSES = {
    "enough between two": shared(GIB, **TWO),
    "enough for one": shared(65 * MIB),
    "no GPU": shared(64 * MIB, **NONE),
    "a system without /dev/shm": shared(None, **TWO),
    "no limit": compiling(rdma_devices=("mlx5_0",), memory_lock_bytes=None),
    "no cards": compiling(memory_lock_bytes=8 * MIB),
    "cards and no GPU": facts(
        compiling=but(COMPILING, rdma_devices=("mlx5_0",), memory_lock_bytes=8 * MIB), **NONE
    ),
    "a full cache of a triton that is not there": compiling(triton="", cache_free_bytes=0),
    "a folder of which nothing is known": compiling(hub_cache_free_bytes=None, cache_free_bytes=None),
}


@pytest.mark.parametrize("name", HITS)
def test_hit(name: str) -> None:
    check(*HITS[name])


@pytest.mark.parametrize("name", MISSES)
def test_near_miss(name: str) -> None:
    assert [id for id in ids(MISSES[name]) if id in (SHARED, DISK, LOCKED)] == []


@pytest.mark.parametrize(
    ("container", "words"),
    [("docker", "--shm-size=8g"), ("podman", "--shm-size=8g"), ("kubernetes", "emptyDir"), (None, "enlarge")],
)
def test_the_way_to_more_shared_memory_is_that_of_the_container(container: str | None, words: str) -> None:
    [finding] = findings(shared(64 * MIB, container=container))
    assert words in finding.fixes[0].title


@pytest.mark.parametrize(
    ("count", "words"), [(0, "0 MiB"), (64 * MIB, "64 MiB"), (GIB, "1 GiB"), (15 * GIB // 2, "7.5 GiB")]
)
def test_bytes_for_people(count: int, words: str) -> None:
    assert in_words(count) == words
