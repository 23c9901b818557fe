"""The GPUs that a program sees, by whichever witness knows best."""

from __future__ import annotations

from typing import Any

import healthy
import pytest
from healthy import but

from doctor.facts import CudaDevice, CudaDriver, Facts
from doctor.matrix.devices import Device, kinds, visible_devices

[GPU] = healthy.FACTS.gpus or ()


def machine(*gpus: Any, **changes: Any) -> Facts:
    """A machine of which NVML alone tells; a GPU is a pair of name and compute capability."""
    told = tuple(
        but(GPU, index=number, name=name, compute_capability=capability)
        for number, (name, capability) in enumerate(gpus)
    )
    return healthy.facts(**{"gpus": told, "torch_runtime": None, "cuda_driver": None, **changes})


MIXED = (("NVIDIA GeForce RTX 3060", "8.6"), ("Tesla K80", "3.7"))


def seen(facts: Facts) -> list[tuple[str, int | None]]:
    return [(device.capability, device.ordinal) for device in visible_devices(facts)]


def test_torch_knows_best_then_libcuda_then_nvml() -> None:
    libcuda = CudaDriver(
        library="libcuda.so.1",
        devices=(
            CudaDevice(ordinal=0, name="B", compute_capability="7.5"),
            CudaDevice(ordinal=1, name="C", compute_capability=None),
        ),
    )
    runtime = but(healthy.FACTS.torch_runtime, devices=("A",), capabilities=("9.0",))
    assert visible_devices(machine(*MIXED, cuda_driver=libcuda, torch_runtime=runtime)) == (
        Device("A", "9.0", 0),
    )
    assert seen(machine(*MIXED, cuda_driver=libcuda)) == [("7.5", 0)]
    assert seen(machine(*MIXED)) == [("8.6", None), ("3.7", None)]
    blind = but(runtime, devices=(), capabilities=())
    assert seen(machine(*MIXED, torch_runtime=blind)) == [("8.6", None), ("3.7", None)]


def test_gpus_that_are_alike_are_one_kind() -> None:
    devices = visible_devices(machine(*MIXED, *MIXED))
    assert kinds(devices) == devices[:2]


@pytest.mark.parametrize(
    ("variables", "capabilities"),
    [
        ({}, ["8.6", "3.7"]),
        ({"CUDA_VISIBLE_DEVICES": ""}, []),
        ({"CUDA_VISIBLE_DEVICES": "-1"}, []),
        ({"CUDA_VISIBLE_DEVICES": "NoDevFiles"}, []),
        ({"CUDA_VISIBLE_DEVICES": "1"}, ["8.6", "3.7"]),  # by CUDA's own order, which is not NVML's
        ({"CUDA_VISIBLE_DEVICES": "1", "CUDA_DEVICE_ORDER": "PCI_BUS_ID"}, ["3.7"]),
        ({"CUDA_VISIBLE_DEVICES": " 0 ", "CUDA_DEVICE_ORDER": "PCI_BUS_ID"}, ["8.6"]),
        ({"CUDA_VISIBLE_DEVICES": "GPU-89f3, 1", "CUDA_DEVICE_ORDER": "PCI_BUS_ID"}, ["8.6", "3.7"]),
        ({"CUDA_VISIBLE_DEVICES": "GPU-abc"}, ["8.6", "3.7"]),
    ],
)
def test_what_the_variable_leaves(variables: dict[str, str], capabilities: list[str]) -> None:
    assert [one for one, _ in seen(machine(*MIXED, environment=variables))] == capabilities


def test_a_gpu_is_known_by_its_name_where_the_driver_does_not_tell_more() -> None:
    assert seen(machine(("Tesla P100-PCIE-16GB", None))) == [("6.0", None)]
    assert seen(machine(("A GPU of tomorrow", None))) == []
    assert seen(healthy.facts(gpus="does not answer", torch_runtime=None, cuda_driver=None)) == []
