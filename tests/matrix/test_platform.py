"""Which torch build a driver, a GPU and a Python can use, by the platform tables."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from doctor.facts import Driver, Facts, Gpu
from doctor.matrix.platform import TorchChoice, bitsandbytes_with, has_code_for, table, torch_for

from .test_rows import facts_of


def machine(driver: str, capability: str, torch: str = "2.13.0", **values: str) -> Facts:
    facts = facts_of({"torch": torch, "gpu.compute-capability": capability, **values})
    return msgspec.structs.replace(facts, driver=Driver(version=driver, cuda_version=None, source="nvml"))


@pytest.mark.parametrize(
    ("facts", "choice"),
    [
        (machine("580.95.05", "9.0"), TorchChoice("2.13.0+cu132", "cu132")),
        (machine("535.104.05", "7.5"), TorchChoice("2.13.0+cu126", "cu126")),  # CUDA 12 and no newer major
        (machine("580.95.05", "7.0"), TorchChoice("2.13.0+cu126", "cu126")),  # CUDA 13 dropped Volta
        (machine("580.95.05", "12.0"), TorchChoice("2.13.0+cu132", "cu132")),
        (machine("470.256.02", "7.5"), TorchChoice("2.7.*", "cu118")),  # the last torch for CUDA 11
        (machine("470.256.02", "3.7"), TorchChoice("2.6.*", "cu118")),  # a K80
        (machine("470.256.02", "7.5", python="3.8.18"), TorchChoice("2.4.*", "cu118")),
        (machine("580.95.05", "9.0", torch="2.6.0+cpu"), TorchChoice("2.6.0+cu126", "cu126")),
        (machine("580.95.05", "9.0", arch="aarch64"), TorchChoice("2.13.0+cu132", "cu132")),
        (machine("390.157", "6.1"), None),  # offers CUDA 9
        (machine("470.256.02", "8.9", python="3.14.0"), None),
    ],
)
def test_the_newest_build_that_all_three_can_use(facts: Facts, choice: TorchChoice | None) -> None:
    assert torch_for(facts) == choice


@pytest.mark.parametrize(
    ("library", "above", "system", "arch", "first"),
    [
        ("cuda130", "0.45.5", "linux", "x86_64", "0.48.0"),
        ("cuda126", "0.44.1", "linux", "x86_64", "0.45.0"),
        ("cuda126", "0.44.1", "linux", "aarch64", "0.46.0"),
        ("cuda134", "0.50.0", "linux", "x86_64", None),  # Windows on ARM alone has it
        ("cuda126", "0.45.0", "darwin", "arm64", None),
    ],
)
def test_the_first_bitsandbytes_with_a_library_for_this_system(
    library: str, above: str, system: str, arch: str, first: str | None
) -> None:
    facts = facts_of({"torch": "2.13.0", "os": system, "arch": arch})
    assert bitsandbytes_with(f"libbitsandbytes_{library}", above, facts) == first


def test_no_build_is_named_where_the_driver_is_not_known() -> None:
    facts = machine("580.95.05", "9.0")
    assert torch_for(msgspec.structs.replace(facts, driver=None)) is None


def test_every_gpu_of_the_machine_counts() -> None:
    facts = machine("580.95.05", "9.0")
    old = Gpu(index=1, name="V100", compute_capability="7.0", memory_total_bytes=1, memory_free_bytes=1)
    assert facts.gpus is not None
    assert torch_for(msgspec.structs.replace(facts, gpus=(*facts.gpus, old))) == TorchChoice(
        "2.13.0+cu126", "cu126"
    )


@pytest.mark.parametrize(
    ("arch_list", "capability", "without_ptx", "with_ptx"),
    [
        (["sm_80"], "8.6", True, True),
        (["sm_86"], "8.0", False, False),
        (["sm_80"], "9.0", False, False),
        (["sm_80", "compute_80"], "9.0", False, True),
        (["compute_120"], "9.0", False, False),
        (["sm_90a"], "9.0", True, True),
        (["sm_120"], "12.0", True, True),
        (["gfx942"], "9.4", False, False),
        ([], "8.0", False, False),
    ],
)
def test_code_for_a_gpu(arch_list: list[str], capability: str, without_ptx: bool, with_ptx: bool) -> None:
    assert has_code_for(arch_list, capability) is without_ptx
    assert has_code_for(arch_list, capability, ptx=True) is with_ptx


@pytest.mark.parametrize("name", ["cuda_driver", "torch_builds", "bitsandbytes_builds", "gpu_architectures"])
def test_every_row_has_a_source_that_is_spelt_out(name: str) -> None:
    document: dict[str, Any] = table(name)
    rows = [row for key, rows in document.items() if key != "sources" for row in rows]
    assert len(rows) > 5
    named = {row["source"] for row in rows}
    if name == "torch_builds":  # every build that is not merely expected was seen published as well
        named |= {"published" for row in document["build"] if not row.get("expected")}
    assert named == set(document["sources"])
