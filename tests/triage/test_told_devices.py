"""GPUs of what a paste tells."""

from __future__ import annotations

import pytest

from doctor.facts import Facts, Gpu
from doctor.paste import Paste, Statement
from doctor.triage.assembly import facts_of

from .test_told import said


def gpus(*statements: Statement) -> tuple[Gpu, ...] | None:
    return facts_of(Paste(forms=(), statements=statements), Facts()).gpus


@pytest.mark.parametrize(
    ("name", "shown", "capability", "memory_gib"),
    [
        ("rtx3060", "RTX 3060", "8.6", None),
        ("RTX 3060 12G", "RTX 3060", "8.6", 12),
        ("NVIDIA A100-SXM4-80GB", "NVIDIA A100-SXM4-80GB", "8.0", 80),
        ("A10G", "A10G", "8.6", None),
        ("2080Ti 22G", "RTX 2080 Ti", "7.5", 22),
        ("RTX 5090 (32 GB each)", "RTX 5090", "12.0", 32),
        ("NVIDIA A100-SXM4-40GB MIG 1g.5gb", "NVIDIA A100-SXM4-40GB MIG 1g.5gb", "8.0", None),
        ("GRID A100D-4C", "A100", "8.0", None),
        ("NVIDIA A40-48Q", "NVIDIA A40-48Q", "8.6", None),
        ("NVIDIA GeForce RTX 40 series", "NVIDIA GeForce RTX 40 series", None, None),
    ],
)
def test_a_name_gives_capability_and_memory_where_it_tells_them(
    name: str, shown: str, capability: str | None, memory_gib: int | None
) -> None:
    (gpu,) = gpus(said("gpu", name)) or ()
    assert (gpu.name, gpu.compute_capability) == (shown, capability)
    assert gpu.memory_total_bytes == (memory_gib << 30 if memory_gib else None)


def test_each_index_is_a_gpu_and_each_model_without_one() -> None:
    found = gpus(said("gpu", "A100", "0"), said("gpu", "A100", "1"), said("gpu", "A100", line=5)) or ()
    assert [one.index for one in found] == [0, 1]
    found = gpus(said("gpu", "RTX 3060"), said("gpu", "3060", line=2), said("gpu", "T4", line=3)) or ()
    assert [one.name for one in found] == ["RTX 3060", "T4"]


def test_the_driver_s_list_is_believed_before_the_owner() -> None:
    found = gpus(said("gpu", "RTX 4090"), said("gpu", "Tesla T4", "0", "nvidia-smi", 9)) or ()
    assert [one.name for one in found] == ["Tesla T4"]


def test_a_name_that_is_cut_is_completed_by_others() -> None:
    found = (
        gpus(said("gpu", "NVIDIA GeForce ...", "0", "nvidia-smi"), said("gpu", "NVIDIA GeForce RTX 3060"))
        or ()
    )
    assert [one.name for one in found] == ["NVIDIA GeForce RTX 3060"]
    found = gpus(said("gpu", "NVIDIA GeForce ...", "0", "nvidia-smi"), said("gpu", "rtx 3060")) or ()
    assert [one.compute_capability for one in found] == ["8.6"]
    found = gpus(said("gpu", "NVIDIA GeForce ...", "0", "nvidia-smi")) or ()
    assert [one.compute_capability for one in found] == [None]


def test_what_is_told_of_an_index_is_of_that_gpu() -> None:
    found = gpus(
        said("gpu", "A100", "0", "nvidia-smi"),
        said("gpu", "A100", "1", "nvidia-smi"),
        said("gpu memory", str(40 << 30), "1", "nvidia-smi"),
        said("gpu memory free", "1024", "1", "nvidia-smi"),
        said("gpu mig", "enabled", "0", "nvidia-smi"),
        said("gpu process", "python train.py 2048", "1", "nvidia-smi"),
    )
    assert found is not None
    assert [one.memory_total_bytes for one in found] == [None, 40 << 30]
    assert [one.memory_free_bytes for one in found] == [None, 1024]
    assert [one.mig_mode for one in found] == [True, None]
    assert found[0].processes is None
    assert found[1].processes is not None
    assert [(one.name, one.memory_bytes) for one in found[1].processes] == [("python train.py", 2048)]


def test_a_capability_alone_is_a_gpu_without_a_name() -> None:
    (gpu,) = gpus(said("gpu capability", "8.7")) or ()
    assert (gpu.name, gpu.compute_capability) == ("a GPU of compute capability 8.7", "8.7")
    assert gpus() is None


def test_a_device_of_another_maker_is_no_gpu_of_cuda() -> None:
    told = (said("gpu", "AMD Radeon RX 7900 XTX", "0", "commands"), said("gfx", "gfx1100"))
    found = facts_of(Paste(forms=(), statements=told), Facts())
    assert found.gpus is None
    assert [(one.vendor, one.name, one.architecture) for one in found.accelerators or ()] == [
        ("amd", "AMD Radeon RX 7900 XTX", "gfx1100")
    ]


@pytest.mark.parametrize(
    ("name", "vendor"),
    [("Apple M2 Max", "apple"), ("Radeon VII", "amd"), ("Intel Arc A770", "intel"), ("Ascend 910B", None)],
)
def test_a_maker_is_known_by_the_name(name: str, vendor: str | None) -> None:
    found = facts_of(Paste(forms=(), statements=(said("accelerator", name),)), Facts()).accelerators
    assert [one.vendor for one in found or ()] == ([vendor] if vendor else [])
