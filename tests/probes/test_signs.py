"""A dozen kinds of machines as bus, kernel and files show them, and garbage in every file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import healthy
import pytest
from fakes import FakeHost, emits, ended
from healthy import DRIVER
from hypothesis import given
from hypothesis import strategies as st

from doctor.facts import DeviceNode, DriverSigns, LostGpu
from doctor.probes import Looks, driver_signs
from doctor.probes.signs import bus, fabric, kernel, libraries

BUS = "/sys/bus/pci/devices"
NO_NVML = "NVML Shared Library Not Found"
H100, NVSWITCH = ("0x10de", "0x2330", "0x030200"), ("0x10de", "0x22a3", "0x068000")
RTX = ("0x10de", "0x2684", "0x030000")
GROUP = "/sys/fs/cgroup/system.slice/nvidia-fabricmanager.service/cgroup.procs"
PROCESSES = {"/proc/1/comm": "systemd\n", "/proc/2/comm": "kthreadd\n", "/proc/77/comm": "sshd\n"}


def on_bus(*devices: tuple[str, str, str]) -> dict[str, str]:
    """Vendor, device and class of each as files of sysfs, at 0000:01:00.0 and so on."""
    names = ("vendor", "device", "class")
    return {
        f"{BUS}/0000:{number:02x}:00.0/{name}": f"{value}\n"
        for number, device in enumerate(devices, 1)
        for name, value in zip(names, device, strict=True)
    }


def bound(driver: str, *addresses: str) -> dict[str, str]:
    return {f"{BUS}/{address}/driver": f"/sys/bus/pci/drivers/{driver}" for address in addresses}


def machine(**scripted: Any) -> FakeHost:
    """A machine that has nothing but what is named."""
    return healthy.host(**{"libraries": {}, "programs": {}, "files": {}, "leads": {}, **scripted})


def signs(host: FakeHost, quick: bool = False) -> DriverSigns:
    looks = Looks(host, healthy.TARGET)
    looks.quick = quick
    return driver_signs.probe(looks)


# -- machines


def test_a_machine_without_a_gpu() -> None:
    assert signs(machine()) == DriverSigns(nvml_error=NO_NVML, nvml_code=12)


def test_a_gpu_without_a_driver() -> None:
    found = signs(machine(files=on_bus(RTX)))
    [device] = found.bus
    assert (found.bus_gpus, device.kernel_driver, found.modules) == (1, "", {})
    assert (found.nodes, found.libraries, found.kernel_version) == ((), {}, "")


@pytest.mark.parametrize(("driver", "module"), [("nouveau", "nouveau"), ("vfio-pci", "vfio_pci")])
def test_a_gpu_that_another_driver_holds(driver: str, module: str) -> None:
    files = {**on_bus(RTX), f"/sys/module/{module}/refcnt": "1\n"}
    found = signs(machine(files=files, leads=bound(driver, "0000:01:00.0")))
    assert [device.kernel_driver for device in found.bus] == [driver]
    assert found.modules == {module: ""}


def test_a_container_that_was_started_without_the_gpu_sees_bus_and_module_alone() -> None:
    told = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.14  Thu Feb 22\n"
    files = {**on_bus(H100), kernel.OWN_ACCOUNT: told, "/.dockerenv": ""}
    found = signs(machine(files=files, leads=bound("nvidia", "0000:01:00.0")))
    assert (found.bus_gpus, found.kernel_version, found.kernel_flavor) == (1, "550.54.14", "proprietary")
    assert (found.nodes, found.libraries, found.nvml_code) == ((), {}, 12)


def test_wsl_has_one_device_file_and_libraries_of_its_own() -> None:
    own = "/usr/lib/wsl/lib/libcuda.so.1"
    found = signs(machine(files={"/dev/dxg": "", own: ""}, libraries={"libcuda.so.1": own}))
    assert found.nodes == (DeviceNode(path="/dev/dxg", usable=True),)
    assert (found.libraries, found.off_path) == ({"libcuda.so.1": own}, ())
    assert (found.bus, found.modules) == ((), {})


def test_on_wsl_a_driver_of_linux_hides_the_one_of_windows() -> None:
    own, foreign = "/usr/lib/wsl/lib/libcuda.so.1", "/usr/lib/x86_64-linux-gnu/libcuda.so.1"
    found = signs(machine(files={"/dev/dxg": "", own: "", foreign: ""}, libraries={"libcuda.so.1": foreign}))
    assert (found.libraries, found.off_path) == ({"libcuda.so.1": foreign}, (own,))


def test_a_jetson_has_no_bus_to_its_gpu() -> None:
    files = {
        "/etc/nv_tegra_release": "# R36 (release), REVISION: 4.3, GCID: 38968081, BOARD: generic\n",
        kernel.OWN_ACCOUNT: "NVRM version: NVIDIA UNIX Open Kernel Module for aarch64  540.4.0  Build\n",
        "/dev/nvmap": "",
    }
    found = signs(machine(files=files, unusable=["/dev/nvmap"]))
    assert (found.jetson, found.kernel_version, found.kernel_flavor) == ("36.4.3", "540.4.0", "open")
    assert found.nodes == (DeviceNode(path="/dev/nvmap", usable=False),)


@pytest.mark.parametrize(
    ("files", "state"),
    [
        ({GROUP: "4711\n"}, "running"),
        ({fabric.PID_FILE: "88\n", "/proc/88/comm": "nv-fabricmanage\n"}, "running"),
        ({fabric.PID_FILE: "77\n", **PROCESSES}, "absent"),  # a stale one
        ({**PROCESSES, "/proc/900/comm": "nv-fabricmanage\n"}, "running"),
        ({**PROCESSES, "/usr/bin/nv-fabricmanager": ""}, "stopped"),
        (PROCESSES, "absent"),
        ({"/proc/1/comm": "bash\n", "/usr/bin/nv-fabricmanager": ""}, ""),  # a container sees its own alone
        ({}, ""),
    ],
)
def test_gpus_behind_an_nvswitch_need_a_fabric_manager(files: Mapping[str, str], state: str) -> None:
    found = signs(machine(files={**on_bus(*[H100] * 8, *[NVSWITCH] * 4), **files}))
    assert [device.kind for device in found.bus] == ["display"] * 8 + ["nvswitch"] * 4
    assert (found.bus_gpus, found.fabric_manager) == (8, state)


def test_without_an_nvswitch_nobody_looks_for_its_manager() -> None:
    chipset = ("0x10de", "0x0373", "0x068000")  # the network of an old board, a bridge by its class
    found = signs(machine(files={**on_bus(RTX, chipset), GROUP: "1\n"}))
    assert (found.fabric_manager, len(found.bus)) == ("", 1)


def test_a_laptop_of_two_kinds_whose_gpu_sleeps() -> None:
    files = {**on_bus(("0x1002", "0x1681", "0x030000"), RTX), f"{BUS}/0000:02:00.0/power_state": "D3cold\n"}
    leads = {**bound("amdgpu", "0000:01:00.0"), **bound("nvidia", "0000:02:00.0")}
    found = signs(machine(files=files, leads=leads))
    assert [(one.vendor, one.kernel_driver, one.power_state) for one in found.bus] == [
        ("amd", "amdgpu", ""),
        ("nvidia", "nvidia", "D3cold"),
    ]
    assert found.bus_gpus == 1


def test_lost_gpus_are_named() -> None:
    rows = [
        *healthy.NVML["gpus"],
        {"index": 1, "error": "GPU is lost", "code": 15},
        {"index": 2, "error": "died"},
    ]
    found = signs(healthy.host(nvml=emits({**healthy.NVML, "gpus": rows})))
    assert found.lost == (LostGpu(index=1, error="GPU is lost", code=15), LostGpu(index=2, error="died"))


def test_a_job_of_slurm() -> None:
    assert signs(machine(env={"SLURM_JOB_ID": "17"})).slurm
    assert not signs(machine(env={"SLURM_CONF": "/etc/slurm.conf"})).slurm


def test_of_windows_the_libraries_are_told_and_of_macos_nothing() -> None:
    system = "C:/Windows/System32"
    on_windows = machine(os="win32", files={f"{system}/nvcuda.dll": ""}, nvml=emits(healthy.NVML))
    assert signs(on_windows) == DriverSigns(libraries={"nvcuda.dll": f"{system}/nvcuda.dll"})
    silent = emits({"section": "nvml", "error": NO_NVML, "code": 12})
    assert signs(machine(os="darwin", nvml=silent)) == DriverSigns(nvml_error=NO_NVML, nvml_code=12)


GARBAGE = "\x00\x1b[31m\ufffd" + "9" * 5000 + "\nNVRM: Xid (PCI:" + "0" * 9999


def test_garbage_in_every_file_yields_no_claim() -> None:
    plain = {**healthy.HOST["files"], "/etc/nv_tegra_release": "", "/var/log/kern.log": "", GROUP: ""}
    found = signs(healthy.host(files=dict.fromkeys(plain, GARBAGE), leads={}))
    assert (found.kernel_version, found.bus, found.jetson, found.xids) == ("", (), "", ())
    assert set(found.modules.values()) == {""}


# -- what each witness reads


@pytest.mark.parametrize(
    ("text", "version", "flavor"),
    [
        (
            "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat Aug 19\nGCC version: 12\n",
            *("535.104.05", "proprietary"),
        ),
        (
            "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.95.05  Release Build\n",
            *("580.95.05", "open"),
        ),
        ("NVRM version: NVIDIA UNIX x86_64 Kernel Module  595.10  Sat\n", "595.10", "proprietary"),
        ("NVRM version: NVIDIA UNIX x86_64 Kernel Module  595.10", "595.10", "proprietary"),
        ("GCC version:  gcc version 12.2.0 (Debian 12.2.0-14)\n", "", ""),
        ("", "", ""),
        ("no such thing", "", ""),
    ],
)
def test_the_kernel_module_by_its_own_account(text: str, version: str, flavor: str) -> None:
    assert kernel.module(FakeHost(files={kernel.OWN_ACCOUNT: text})) == (version, flavor)


@given(st.text(max_size=300), st.text(max_size=300))
def test_the_kernel_module_survives_any_account(before: str, after: str) -> None:
    version, flavor = kernel.module(FakeHost(files={kernel.OWN_ACCOUNT: f"{before}Kernel Module{after}"}))
    assert bool(version) == bool(flavor)


def test_loaded_modules_with_the_version_that_each_tells() -> None:
    files = {
        "/sys/module/nvidia/version": "580.95.05\n",
        "/sys/module/nvidia_peermem/refcnt": "0\n",
        "/sys/module/nvidia_drm/version": "not a version\x00\n",
        "/sys/module/i915/version": "1.0\n",
    }
    told = kernel.modules(FakeHost(files=files))
    assert told == {"nvidia": "580.95.05", "nvidia_drm": "", "nvidia_peermem": ""}


def test_device_files_and_who_may_use_them() -> None:
    mine = ("/dev/nvidia0", "/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia-caps/nvidia-cap2")
    others = (
        "/dev/nvidia1",
        "/dev/nvidia-caps/nvidia-cap1",
        "/dev/nvme0",
        "/dev/null",
        "/dev/nvidia-modeset",
    )
    host = FakeHost(files=dict.fromkeys((*mine, *others), ""), unusable=("/dev/nvidia1", mine[-1]))
    assert {node.path: node.usable for node in kernel.nodes(host)} == {
        "/dev/nvidia-uvm": True,
        "/dev/nvidia0": True,
        "/dev/nvidia1": False,
        "/dev/nvidiactl": True,
        "/dev/nvidia-caps/nvidia-cap2": False,
    }


def test_a_libcuda_that_the_loader_does_not_reach() -> None:
    compat, nixos = "/usr/local/cuda/compat/libcuda.so.1", "/run/opengl-driver/lib/libcuda.so.1"
    lost = FakeHost(files={compat: "", nixos: ""})
    assert libraries.off_path(lost, libraries.libraries(lost)) == (compat, nixos)
    reached = FakeHost(files={compat: ""}, libraries={"libcuda.so.1": "/usr/lib64/libcuda.so.1"})
    assert libraries.off_path(reached, libraries.libraries(reached)) == ()


def test_a_libcuda_for_compatibility_keeps_its_folder() -> None:
    found = libraries.libraries(
        FakeHost(
            libraries={"libcuda.so.1": "/usr/local/cuda/compat/libcuda.so.1"},
            leads={"/usr/local/cuda/compat/libcuda.so.1": "/usr/local/cuda-13.2/compat/libcuda.so.595.71.05"},
        )
    )
    assert found == {"libcuda.so.1": "/usr/local/cuda-13.2/compat/libcuda.so.595.71.05"}


@pytest.mark.parametrize(
    ("device", "kinds"),
    [
        (("0x1002", "0x74a1", "0x120000"), ["display"]),  # MI300X, an accelerator by its class
        (("0x8086", "0x7d1d", "0x120000"), []),  # the NPU of a laptop
        (("0x1a03", "0x2000", "0x030000"), []),  # the console of a server
        (("0x10de", "0x22ba", "0x040300"), []),
        (("0x10de", "0x20b0", "0x030200"), ["display"]),
        (("", "", "0x030000"), []),
    ],
)
def test_what_counts_on_the_bus(device: tuple[str, str, str], kinds: list[str]) -> None:
    assert [one.kind for one in bus.pci_devices(FakeHost(files=on_bus(device)))] == kinds


def test_a_link_that_leads_to_no_driver_binds_none() -> None:
    leads = {f"{BUS}/0000:01:00.0/driver": "/sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0/driver"}
    [device] = bus.pci_devices(FakeHost(files=on_bus(RTX), leads=leads))
    assert device.kernel_driver == ""


def test_a_healthy_machine_is_read_with_few_small_files() -> None:
    class Counting(FakeHost):
        reads = 0

        def read_text(self, path: str) -> str | None:
            self.reads += 1
            return super().read_text(path)

    host = Counting(files={**on_bus(*[("0x8086", "0x1234", "0x020000")] * 200), **healthy.HOST["files"]})
    bus.pci_devices(host)
    assert host.reads < 220  # one for each other device


def test_the_kernel_itself_is_asked_in_a_full_look_alone() -> None:
    said = f"NVRM: Xid (PCI:0000:01:00): 79, pid=7, GPU has fallen off the bus.\nNVRM: loading {DRIVER}\n"
    for quick in (False, True):
        host = healthy.host(programs={"nvidia-smi": healthy.SMI, "dmesg": "/bin/dmesg"})
        host.on("/bin/dmesg", replies=ended(said))
        found = signs(host, quick)
        assert [xid.code for xid in found.xids] == ([] if quick else [79])
        assert len(host.commands("/bin/dmesg")) == (not quick)
    without = machine(programs={"dmesg": "/bin/dmesg"})
    assert signs(without).xids == ()
    assert not without.commands("/bin/dmesg")
