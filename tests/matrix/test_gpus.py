"""GPUs by name: every spelling that people and drivers use, and none that is another GPU."""

from __future__ import annotations

import pytest

from doctor.matrix.gpus import GpuModel, distinct_words, gpu_named, has_feature, is_data_center, known_gpus
from doctor.matrix.platform import table


@pytest.mark.parametrize(
    ("text", "name", "capability", "memory_gib"),
    [
        ("Tesla K80", "K80", "3.7", 12),
        ("Tesla P100-PCIE-16GB", "P100", "6.0", 16),
        ("Tesla V100-SXM2-32GB", "V100", "7.0", 32),
        ("V100", "V100", "7.0", 16),
        ("NVIDIA A100-SXM4-80GB", "A100", "8.0", 80),
        ("NVIDIA A100 80GB PCIe", "A100", "8.0", 80),
        ("NVIDIA H100 80GB HBM3", "H100", "9.0", 80),
        ("NVIDIA GH200 480GB", "GH200", "9.0", 96),  # the size of the processor's own memory
        ("rtx3060", "RTX 3060", "8.6", 8),
        ("RTX 3060 12 GB", "RTX 3060", "8.6", 12),
        ("3060ti", "RTX 3060 Ti", "8.6", 8),
        ("NVIDIA GeForce RTX 4070 Ti SUPER", "RTX 4070 Ti Super", "8.9", 16),
        ("NVIDIA GeForce RTX 4090 Laptop GPU", "RTX 4090 Laptop", "8.9", 16),
        ("RTX 3080 Mobile 16GB", "RTX 3080 Laptop", "8.6", 16),
        ("NVIDIA GeForce RTX 2080 Super with Max-Q Design", "RTX 2080 Super", "7.5", 8),
        ("NVIDIA RTX A6000", "RTX A6000", "8.6", 48),
        ("Quadro RTX 6000", "Quadro RTX 6000", "7.5", 24),
        ("NVIDIA RTX 6000 Ada Generation", "RTX 6000 Ada", "8.9", 48),
        ("NVIDIA RTX PRO 6000 Blackwell Workstation Edition", "RTX PRO 6000", "12.0", 96),
        ("NVIDIA GeForce RTX 5090", "RTX 5090", "12.0", 32),
        ("TITAN RTX", "Titan RTX", "7.5", 24),
        ("NVIDIA TITAN V", "Titan V", "7.0", 12),
        ("Jetson AGX Orin 64GB Developer Kit", "Jetson AGX Orin", "8.7", 64),
        ("Orin", "Jetson Orin", "8.7", 4),
        ("NVIDIA GB10", "GB10", "12.1", 128),
        ("Orin (nvgpu)", "Jetson Orin", "8.7", 4),
        ("RTX 5090 (32 GB each)", "RTX 5090", "12.0", 32),
        ("A100s", "A100", "8.0", 40),
        ("RTX4090D", "RTX 4090 D", "8.9", 24),
    ],
)
def test_a_gpu_is_found_by_its_name(text: str, name: str, capability: str, memory_gib: int) -> None:
    found = gpu_named(text)
    assert found is not None
    assert found[:3] == (name, capability, memory_gib)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "NVIDIA",
        "RTX 6000",  # of Turing, Ampere, Ada or Blackwell
        "RTX 3060 Super",
        "NVIDIA A100-SXM4-40GB MIG 1g.5gb",
        "GRID T4-16Q",
        "AMD Instinct MI300X",
        "RTX",
        "80GB",
    ],
)
def test_what_may_be_another_gpu_is_none(text: str) -> None:
    assert gpu_named(text) is None


def test_what_comes_with_its_own_processor_says_so() -> None:
    assert gpu_named("GH200") == GpuModel("GH200", "9.0", 96, "aarch64", False, True)
    assert gpu_named("Jetson Orin NX 16GB") == GpuModel("Jetson Orin NX", "8.7", 16, "aarch64", True)
    assert gpu_named("H100") == GpuModel("H100", "9.0", 80, "", False, True)


@pytest.mark.parametrize(
    ("name", "is_one"),
    [
        ("NVIDIA A100-SXM4-40GB", True),
        ("NVIDIA A100-SXM4-40GB MIG 1g.5gb", True),
        ("Tesla T4", True),
        ("NVIDIA L40S", True),
        ("NVIDIA GeForce RTX 4090", False),
        ("NVIDIA RTX A6000", False),
        ("NVIDIA TITAN V", False),
        ("NVIDIA GB10", False),
        ("a GPU of tomorrow", False),
    ],
)
def test_a_data_centre_gpu_is_known_as_one(name: str, is_one: bool) -> None:
    assert is_data_center(name) is is_one


def test_no_two_gpus_of_the_table_have_the_same_words() -> None:
    rows = table("gpu_architectures")["gpu"]
    assert len(known_gpus()) == len(rows) > 100
    assert all(distinct_words(row["name"]) for row in rows)


@pytest.mark.parametrize(
    ("feature", "without", "with_it"),
    [
        ("bfloat16", "7.5", "8.0"),
        ("float8", "8.6", "8.9"),
        ("float4", "9.0", "10.0"),
        ("int8-tensor-cores", "7.0", "7.5"),
        ("flash-attention-2", "7.5", "12.0"),
    ],
)
def test_a_feature_goes_by_compute_capability(feature: str, without: str, with_it: str) -> None:
    assert not has_feature(without, feature)
    assert has_feature(with_it, feature)


def test_a_feature_that_the_table_does_not_name_is_a_mistake() -> None:
    with pytest.raises(KeyError):
        has_feature("8.0", "teleportation")
