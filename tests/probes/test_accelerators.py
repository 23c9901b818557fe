"""Devices of AMD, Intel and Apple as the files of their drivers tell of them."""

from __future__ import annotations

from typing import Any

import healthy
import pytest
from fakes import FakeHost, emits

from doctor.facts import Accelerator, Gap
from doctor.probes import Looks, accelerators

BUS = "/sys/bus/pci/devices"
NODES = accelerators.TOPOLOGY
CPU = "cpu_cores_count 16\nsimd_count 0\ngfx_target_version 0\n"
IDS = (
    "# the list\n1002  Advanced Micro Devices, Inc. [AMD/ATI]\n\t73bf  Navi 21 [Radeon RX 6800]\n"
    "\t\t1002 0e3a  a board of it\n8086  Intel Corporation\n\ta780  Raptor Lake-S GT1 [UHD Graphics 770]\n"
)


def node(number: int, **properties: int) -> dict[str, str]:
    """One node of the compute driver, with 16 GiB of video memory and some of the system's."""
    told = {"cpu_cores_count": 0, "simd_count": 160, "vendor_id": 4098, **properties}
    text = "".join(f"{name} {value}\n" for name, value in told.items())
    folder = f"{NODES}/{number}"
    return {
        f"{folder}/properties": text,
        f"{folder}/name": "navi21\n",
        f"{folder}/mem_banks/0/properties": f"heap_type 1\nsize_in_bytes {16 << 30}\n",
        f"{folder}/mem_banks/1/properties": f"heap_type 0\nsize_in_bytes {64 << 30}\n",
    }


def device(address: str, vendor: str, device_id: str, kind: str = "0x030000") -> dict[str, str]:
    folder = f"{BUS}/{address}"
    return {f"{folder}/vendor": vendor, f"{folder}/device": device_id, f"{folder}/class": kind}


def found(**scripted: Any) -> Any:
    plain = {"libraries": {}, "programs": {}, "files": {}, "leads": {}}
    return accelerators.probe(Looks(healthy.host(**{**plain, **scripted}), healthy.TARGET))


NAVI = device("0000:03:00.0", "0x1002", "0x73bf")
NAVI_NODE = node(1, gfx_target_version=100300, location_id=0x0300, device_id=0x73BF, drm_render_minor=128)
BOUND = {f"{BUS}/0000:03:00.0/driver": "/sys/bus/pci/drivers/amdgpu"}


def test_a_machine_with_a_processor_alone_has_none() -> None:
    assert found(files={f"{NODES}/0/properties": CPU}) == ()
    assert found(files=device("0000:04:00.0", "0x1a03", "0x2000")) == ()
    assert found(files=device("0000:01:00.0", "0x10de", "0x2684")) == ()


def test_a_card_of_amd() -> None:
    files = {**NAVI, **NAVI_NODE, f"{NODES}/0/properties": CPU, "/opt/rocm/.info/version": "6.4.1-83\n"}
    nodes = dict.fromkeys(("/dev/kfd", "/dev/dri/renderD128"), "")
    assert found(files={**files, **nodes}, leads=BOUND) == (
        Accelerator(
            vendor="amd",
            name="navi21",
            architecture="gfx1030",
            kernel_driver="amdgpu",
            runtime="ROCm 6.4.1",
            integrated=False,
            memory_total_bytes=16 << 30,
            usable=True,
        ),
    )


def test_a_processor_with_graphics_of_amd_beside_a_card() -> None:
    inside = device("0000:0b:00.0", "0x1002", "0x164e")
    own = node(2, gfx_target_version=100306, location_id=0x0B00, device_id=0x164E)
    both = found(files={**NAVI, **NAVI_NODE, **inside, **own}, leads=BOUND)
    assert [(one.architecture, one.integrated) for one in both] == [("gfx1030", False), ("gfx1036", True)]


@pytest.mark.parametrize(
    ("version", "cores", "architecture", "integrated"),
    [
        (90010, 0, "gfx90a", False),
        (90012, 0, "gfx90c", True),
        (90402, 0, "gfx942", None),  # MI300A and MI300X
        (90402, 24, "gfx942", True),
        (110501, 0, "gfx1151", True),
        (120001, 0, "gfx1201", False),
        (0, 0, "", None),
    ],
)
def test_what_an_architecture_tells(
    version: int, cores: int, architecture: str, integrated: bool | None
) -> None:
    [one] = found(files=node(1, gfx_target_version=version, cpu_cores_count=cores, location_id=0x0300))
    assert (one.architecture, one.integrated) == (architecture, integrated)


@pytest.mark.parametrize(
    ("there", "unusable", "usable"),
    [
        (("/dev/kfd", "/dev/dri/renderD128"), (), True),
        (("/dev/kfd", "/dev/dri/renderD128"), ("/dev/kfd",), False),
        (("/dev/kfd", "/dev/dri/renderD128"), ("/dev/dri/renderD128",), False),
        (("/dev/dri/renderD128",), (), False),  # a container without --device=/dev/kfd
    ],
)
def test_who_may_use_it(there: tuple[str, ...], unusable: tuple[str, ...], usable: bool) -> None:
    [one] = found(files={**NAVI, **NAVI_NODE, **dict.fromkeys(there, "")}, unusable=unusable)
    assert one.usable is usable


def test_a_card_without_its_compute_driver() -> None:
    [one] = found(files=NAVI)
    expected = Accelerator(vendor="amd", name="AMD GPU 0x73bf")
    assert one == expected


def test_a_container_that_hides_the_bus() -> None:
    [one] = found(files={**NAVI_NODE, f"{NODES}/1/name": "ip discovery\n", "/dev/kfd": ""})
    assert (one.name, one.kernel_driver, one.architecture) == ("AMD GPU 0x73bf", "amdgpu", "gfx1030")


def test_graphics_and_cards_of_intel() -> None:
    runtime = "/usr/lib/x86_64-linux-gnu/libze_intel_gpu.so.1"
    inside, card = "0000:00:02.0", "0000:03:00.0"
    files = {
        **device(inside, "0x8086", "0xa780", "0x038000"),
        **device(card, "0x8086", "0xe20b"),
        f"{BUS}/{card}/drm/renderD129/dev": "",
        "/dev/dri/renderD129": "",
        "/usr/share/misc/pci.ids": IDS,
    }
    leads = {
        f"{BUS}/{inside}/driver": "/sys/bus/pci/drivers/i915",
        f"{BUS}/{card}/driver": "/sys/bus/pci/drivers/xe",
        runtime: f"{runtime}.6.33276",
    }
    told = found(
        files=files,
        leads=leads,
        libraries={accelerators.LEVEL_ZERO: runtime},
        unusable=["/dev/dri/renderD129"],
    )
    assert told == (
        Accelerator(
            vendor="intel",
            name="Raptor Lake-S GT1 [UHD Graphics 770]",
            kernel_driver="i915",
            runtime="Level Zero 1.6.33276",
            integrated=True,
        ),
        Accelerator(
            vendor="intel",
            name="Intel GPU 0xe20b",
            kernel_driver="xe",
            runtime="Level Zero 1.6.33276",
            integrated=False,
            usable=False,
        ),
    )


def test_in_a_virtual_machine_the_place_does_not_tell() -> None:
    [one] = found(files=device("0000:00:10.0", "0x8086", "0x56c0"))
    assert one.integrated is None


@pytest.mark.parametrize(
    ("vendor", "device_id", "name"),
    [
        ("1002", "0x73bf", "Navi 21 [Radeon RX 6800]"),
        ("8086", "0xa780", "Raptor Lake-S GT1 [UHD Graphics 770]"),
        ("1002", "0xa780", ""),  # another's
        ("1002", "0x0e3a", ""),  # a board
        ("10de", "0x2684", ""),
        ("8086", "", ""),
    ],
)
def test_names_of_the_list_of_pci_ids(vendor: str, device_id: str, name: str) -> None:
    assert accelerators.pci_name(IDS, vendor, device_id) == name
    assert accelerators.pci_name("", vendor, device_id) == ""


def test_macs() -> None:
    memory = {"ram_total_bytes": 32 << 30, "ram_available_bytes": 1 << 30}
    assert found(os="darwin", machine={"arch": "arm64", **memory}) == (
        Accelerator(vendor="apple", name="Apple silicon", integrated=True, memory_total_bytes=32 << 30),
    )
    assert found(os="darwin", machine={"arch": "x86_64"}) == ()


@pytest.mark.parametrize(
    "garbage", ["", "\x00\xff", "9" * 400, "simd_count 99999999999999999999999\n", "a b\n" * 50]
)
def test_garbage_in_every_file_is_survived(garbage: str) -> None:
    files = {**NAVI, **NAVI_NODE, "/opt/rocm/.info/version": "", "/usr/share/misc/pci.ids": ""}
    assert found(files=dict.fromkeys(files, garbage)) == ()
    kept = {
        **dict.fromkeys(files, garbage),
        **NAVI,
        f"{NODES}/1/properties": "simd_count 4\ngfx_target_version 7\n",
    }
    assert {one.architecture for one in found(files=kept)} == {""}


def test_windows_is_not_said_to_have_none() -> None:
    told = found(os="win32", nvml=emits(healthy.NVML))
    assert isinstance(told, Gap) and told.kind == "not-applicable"


def test_the_system_s_rocm_may_be_absent() -> None:
    assert accelerators.rocm(FakeHost()) == ""
    assert accelerators.rocm(FakeHost(files={"/opt/rocm/.info/version": "unknown\n"})) == ""
