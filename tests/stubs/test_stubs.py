"""The stubs themselves: the official nvidia-ml-py reads off them what their profiles say."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest

import compat_matrix

from . import NAMES, compiler_is_there, machine
from .profiles import CUDA_OF_BRANCH, DRIVERS, MIB, read

pytestmark = pytest.mark.skipif(not compiler_is_there(), reason="the stubs need Linux and cc")

# A program over nvidia-ml-py alone. It prints what each call gives, or the number of its error.
PROGRAM = """
import json, sys
import pynvml as n

def ask(call):
    try:
        value = call()
    except n.NVMLError as error:
        return {"error": error.value}
    except n.NVMLLibraryMismatchError:
        return {"error": 13}
    if isinstance(value, list) and value and hasattr(value[0], "pid"):
        return [[one.pid, one.usedGpuMemory] for one in value]
    if hasattr(value, "_fields_"):
        value = {name: getattr(value, name) for name, *_ in value._fields_}
    return value.decode() if isinstance(value, bytes) else value

def gpu(index):
    h = n.nvmlDeviceGetHandleByIndex(index)
    fabric = n.c_nvmlGpuFabricInfoV_t()
    told = {
        "name": lambda: n.nvmlDeviceGetName(h),
        "uuid": lambda: n.nvmlDeviceGetUUID(h),
        "by_uuid": lambda: n.nvmlDeviceGetIndex(n.nvmlDeviceGetHandleByUUID(n.nvmlDeviceGetUUID(h))),
        "by_pci": lambda: n.nvmlDeviceGetIndex(
            n.nvmlDeviceGetHandleByPciBusId(n.nvmlDeviceGetPciInfo(h).busId)),
        "pci": lambda: n.nvmlDeviceGetPciInfo(h),
        "memory": lambda: n.nvmlDeviceGetMemoryInfo(h),
        "memory_v2": lambda: n.nvmlDeviceGetMemoryInfo(h, n.nvmlMemory_v2),
        "memory_v3": lambda: n.nvmlDeviceGetMemoryInfo(h, 0x03000028),
        "capability": lambda: n.nvmlDeviceGetCudaComputeCapability(h),
        "utilization": lambda: n.nvmlDeviceGetUtilizationRates(h),
        "compute": lambda: n.nvmlDeviceGetComputeRunningProcesses(h),
        "compute_v2": lambda: n.nvmlDeviceGetComputeRunningProcesses_v2(h),
        "graphics": lambda: n.nvmlDeviceGetGraphicsRunningProcesses(h),
        "mig": lambda: n.nvmlDeviceGetMigMode(h),
        "mig_count": lambda: n.nvmlDeviceGetMaxMigDeviceCount(h),
        "ecc": lambda: n.nvmlDeviceGetEccMode(h),
        "ecc_errors": lambda: n.nvmlDeviceGetTotalEccErrors(h, 1, 0),
        "remapped": lambda: n.nvmlDeviceGetRemappedRows(h),
        "retired": lambda: n.nvmlDeviceGetRetiredPages(h, 0),
        "retired_v2": lambda: n.nvmlDeviceGetRetiredPages_v2(h, 1),
        "retirement_pending": lambda: n.nvmlDeviceGetRetiredPagesPendingStatus(h),
        "throttle": lambda: n.nvmlDeviceGetCurrentClocksThrottleReasons(h),
        "events": lambda: n.nvmlDeviceGetCurrentClocksEventReasons(h),
        "persistence": lambda: n.nvmlDeviceGetPersistenceMode(h),
        "compute_mode": lambda: n.nvmlDeviceGetComputeMode(h),
        "pcie": lambda: [n.nvmlDeviceGetCurrPcieLinkWidth(h), n.nvmlDeviceGetMaxPcieLinkWidth(h),
                         n.nvmlDeviceGetCurrPcieLinkGeneration(h), n.nvmlDeviceGetMaxPcieLinkGeneration(h)],
        "nvlink": lambda: n.nvmlDeviceGetNvLinkState(h, 0),
        "nvlink_remote": lambda: n.nvmlDeviceGetNvLinkRemotePciInfo(h, 0),
        "display": lambda: [n.nvmlDeviceGetDisplayMode(h), n.nvmlDeviceGetDisplayActive(h)],
        "temperature": lambda: n.nvmlDeviceGetTemperature(h, n.NVML_TEMPERATURE_GPU),
        "power": lambda: [n.nvmlDeviceGetPowerUsage(h), n.nvmlDeviceGetEnforcedPowerLimit(h)],
        "fabric": lambda: (n.nvmlDeviceGetGpuFabricInfoV(h, n.byref(fabric)), fabric.state)[1],
    }
    return {name: ask(call) for name, call in told.items()}

def pair(index, other):
    one, two = n.nvmlDeviceGetHandleByIndex(index), n.nvmlDeviceGetHandleByIndex(other)
    return [n.nvmlDeviceGetP2PStatus(one, two, 0), n.nvmlDeviceGetP2PStatus(one, two, 2),
            n.nvmlDeviceGetTopologyCommonAncestor(one, two)]

def part(index, number):
    h = n.nvmlDeviceGetMigDeviceHandleByIndex(n.nvmlDeviceGetHandleByIndex(index), number)
    whole = n.nvmlDeviceGetDeviceHandleFromMigDeviceHandle(h)
    return [n.nvmlDeviceGetName(h), n.nvmlDeviceGetMemoryInfo(h).total, n.nvmlDeviceGetIndex(whole)]

n.nvmlInit()
count = n.nvmlDeviceGetCount()
told = {
    "driver": n.nvmlSystemGetDriverVersion(),
    "cuda": n.nvmlSystemGetCudaDriverVersion_v2(),
    "nvml": n.nvmlSystemGetNVMLVersion(),
    "gpus": [gpu(index) for index in range(count)],
    "pairs": [pair(0, other) for other in range(1, count)],
    "parts": [ask(lambda: part(0, number)) for number in range(3)],
    "beyond": ask(lambda: n.nvmlDeviceGetHandleByIndex(count)),
    "process": ask(lambda: n.nvmlSystemGetProcessName(5000001)),
}
n.nvmlShutdown()
told["after"] = ask(n.nvmlDeviceGetCount)
print(json.dumps(told))
"""


def child(env: Mapping[str, str], program: str) -> subprocess.CompletedProcess[str]:
    """A Python on that machine."""
    command = [sys.executable, "-c", program]
    return subprocess.run(command, env={**os.environ, **env}, capture_output=True, text=True, timeout=60)


def told_by(profile: str, **options: Any) -> dict[str, Any]:
    done = child(machine(profile, **options), PROGRAM)
    assert done.returncode == 0, done.stderr
    told: dict[str, Any] = json.loads(done.stdout)
    return told


@pytest.mark.parametrize("profile", NAMES)
def test_nvidia_ml_py_reads_what_the_profile_says(profile: str) -> None:
    told, wanted = told_by(profile), read(profile)
    written = [gpu for gpu in wanted["gpus"] for _ in range(gpu.get("copies", 1))]
    assert told["driver"] == wanted["driver"]
    assert told["beyond"] == {"error": 2}
    assert told["after"] == {"error": 1}
    assert len(told["gpus"]) == len(written)
    for index, (gpu, row) in enumerate(zip(told["gpus"], written, strict=True)):
        assert (gpu["name"], gpu["by_uuid"], gpu["by_pci"]) == (row["name"], index, index)
        assert gpu["capability"] == [int(part) for part in row["compute_capability"].split(".")]
        if "total_mib" in row["memory"]:
            assert gpu["memory"]["total"] == row["memory"]["total_mib"] * MIB
            held = (row["memory"]["used_mib"] + row["memory"]["reserved_mib"]) * MIB
            assert gpu["memory"]["total"] - gpu["memory"]["free"] == held == gpu["memory"]["used"]
        else:
            assert gpu["memory"] == {"error": 3}
        assert gpu["persistence"] == row["persistence"]
        assert gpu["ecc"] == ([row["ecc"]["mode"]] * 2 if "ecc" in row else {"error": 3})
        assert gpu["mig"] == ([row["mig"]["mode"]] * 2 if "mig" in row else {"error": 3})


def test_what_machines_have_between_their_gpus() -> None:
    assert told_by("h100_x8")["pairs"] == [[0, 0, 50]] * 7
    assert told_by("rtx4090_x2")["pairs"] == [[1, 5, 30]]
    assert told_by("k80")["pairs"] == [[0, 5, 10]]


def test_what_data_centre_gpus_tell() -> None:
    [gpu, *_] = told_by("h100_x8")["gpus"]
    assert (gpu["remapped"], gpu["nvlink"], gpu["fabric"]) == ([0, 0, 0, 0], 1, 3)
    assert gpu["nvlink_remote"]["busId"] == "00000000:86:00.0"
    [gpu] = told_by("v100")["gpus"]
    assert (gpu["retired"], gpu["retired_v2"], gpu["retirement_pending"]) == ([], [], 0)
    assert gpu["nvlink"] == 0


def test_the_slices_of_a_gpu() -> None:
    first, second, third = told_by("a100_mig")["parts"]
    assert first == ["NVIDIA A100-SXM4-40GB MIG 3g.20gb", 19968 * MIB, 0]
    assert second == ["NVIDIA A100-SXM4-40GB MIG 1g.5gb", 4864 * MIB, 0]
    assert third == {"error": 6}


def test_processes_and_their_names() -> None:
    told = told_by("v100")
    assert told["gpus"][0]["compute"] == [[5000001, 9000 * MIB]]
    assert told["process"] == "/usr/bin/python3"
    assert [pid for pid, _ in told_by("rtx3060")["gpus"][0]["graphics"]] == [5000001, 5000002]
    assert told_by("wsl")["gpus"][0]["compute"] == {"error": 3}


@pytest.mark.parametrize(
    ("answer", "since"),
    [
        ("memory_v2", 510),
        ("compute_v2", 450),
        ("compute", 510),
        ("remapped", 450),
        ("mig", 450),
        ("events", 535),
        ("fabric", 550),
    ],
)
def test_what_is_newer_than_a_driver_is_absent_from_its_library(answer: str, since: int) -> None:
    before = {450: "440.33.01", 510: "495.29.05", 535: "530.30.02", 550: "545.23.06"}[since]
    [old, *_] = told_by("h100_x8", driver=before)["gpus"]
    [new, *_] = told_by("h100_x8", driver=f"{since}.10")["gpus"]
    assert old[answer] == {"error": 13}
    assert "error" not in (new[answer] if isinstance(new[answer], dict) else {})


def test_the_second_form_of_memory_counts_what_is_reserved_apart() -> None:
    [gpu] = told_by("rtx3060")["gpus"]
    assert gpu["memory_v2"]["reserved"] == 238 * MIB
    assert gpu["memory_v2"]["used"] == 512 * MIB
    assert gpu["memory_v2"]["free"] == gpu["memory"]["free"]
    assert gpu["memory_v3"] == {"error": 25}


def test_the_drivers_are_those_that_nvidia_lists() -> None:
    text = Path(compat_matrix.__file__).with_name("platform").joinpath("cuda_driver.toml").read_text()
    listed = {int(row["branch"]): row["cuda"] for row in msgspec.toml.decode(text)["minor"]}
    ours = {branch: CUDA_OF_BRANCH[branch] for branch in DRIVERS if branch in listed}
    assert ours == {branch: listed[branch] for branch in ours}
    assert {470, 510, 515, 525, 535, 545, 550, 560, 570, 580, 590, 610} <= set(ours)


LOAD = "import ctypes; ctypes.CDLL('{}.so.1')"


@pytest.mark.parametrize("name", ["libnvidia-ml", "libcuda"])
@pytest.mark.parametrize(
    ("library", "code", "words"),
    [
        ("truncated", -7, ""),
        ("empty", 1, "file too short"),
        ("text", 1, "invalid ELF header"),
        ("foreign", 1, "cannot open shared object file"),
        ("absent", 1, "cannot open shared object file"),
        ("symbolless", 0, ""),
        ("old", 0, ""),
        ("", 0, ""),
    ],
)
def test_libraries_that_are_none(name: str, library: str, code: int, words: str) -> None:
    done = child(machine("t4", library=library, cuda=library), LOAD.format(name))
    assert done.returncode == code
    assert words in done.stderr


CUDA = """
import ctypes
cuda = ctypes.CDLL("libcuda.so.1")
number, name, total = ctypes.c_int(), ctypes.create_string_buffer(100), ctypes.c_size_t()
words = ctypes.c_char_p()
code = cuda.cuInit(0)
cuda.cuDriverGetVersion(ctypes.byref(number))
print(code, number.value, cuda.cuGetErrorName(code, ctypes.byref(words)), words.value.decode())
code = cuda.cuDeviceGetCount(ctypes.byref(number))
print(code, number.value)
for device in range(number.value if code == 0 else 0):
    cuda.cuDeviceGetName(name, 100, device)
    cuda.cuDeviceTotalMem_v2(ctypes.byref(total), device)
    values = []
    for attribute in (75, 76, 18):
        cuda.cuDeviceGetAttribute(ctypes.byref(number), attribute, device)
        values.append(number.value)
    print(name.value.decode(), total.value >> 20, *values)
"""


@pytest.mark.parametrize(
    ("profile", "faults", "env", "lines"),
    [
        ("t4", (), {}, ["0 12020 0 CUDA_SUCCESS", "0 1", "Tesla T4 15360 7 5 0"]),
        ("gb10", (), {}, ["0 13000 0 CUDA_SUCCESS", "0 1", "NVIDIA GB10 122572 12 1 1"]),
        (
            "a100_mig",
            (),
            {},
            ["0 12040 0 CUDA_SUCCESS", "0 1", "NVIDIA A100-SXM4-40GB MIG 3g.20gb 19968 8 0 0"],
        ),
        ("t4", ("cuInit=803",), {}, ["803 12020 0 CUDA_ERROR_SYSTEM_DRIVER_MISMATCH", "3 12020"]),
        ("t4", (), {"CUDA_VISIBLE_DEVICES": "-1"}, ["100 12020 0 CUDA_ERROR_NO_DEVICE", "3 12020"]),
        (
            "rtx4090_x2",
            (),
            {"CUDA_VISIBLE_DEVICES": "1"},
            ["0 12040 0 CUDA_SUCCESS", "0 1", "NVIDIA GeForce RTX 4090 24564 8 9 0"],
        ),
    ],
)
def test_libcuda(profile: str, faults: tuple[str, ...], env: dict[str, str], lines: list[str]) -> None:
    done = child({**machine(profile, *faults), **env}, CUDA)
    assert done.stdout.splitlines() == lines, done.stderr


@pytest.mark.parametrize(("fault", "code"), [("segv", -11), ("abort", -6)])
def test_deaths(fault: str, code: int) -> None:
    assert child(machine("t4", f"cuInit={fault}"), CUDA).returncode == code
    assert child(machine("t4", f"nvmlInit={fault}"), PROGRAM).returncode == code


def test_the_three_names_of_initialisation_share_their_faults() -> None:
    for name in ("nvmlInit", "nvmlInit_v2", "nvmlInitWithFlags"):
        for called in ("nvmlInit", "nvmlInit_v2", "nvmlInitWithFlags"):
            program = f"import ctypes; print(ctypes.CDLL('libnvidia-ml.so.1').{called}(0))"
            assert child(machine("t4", f"{name}=18"), program).stdout == "18\n"


def smi(env: Mapping[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    command = ["nvidia-smi", *arguments]
    return subprocess.run(command, env={**os.environ, **env}, capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize("profile", NAMES)
def test_the_table_of_nvidia_smi_is_a_rectangle(profile: str) -> None:
    done = smi(machine(profile))
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()[1:]
    assert len({len(line) for line in lines}) == 1
    assert all(line[0] + line[-1] in ("++", "||", "|+") for line in lines)
    assert f"| NVIDIA-SMI {read(profile).get('smi', read(profile)['driver'])} " in lines[1]


@pytest.mark.parametrize(
    ("faults", "code", "words"),
    [
        (("nvmlInit_v2=18",), 18, "Failed to initialize NVML: Driver/library version mismatch"),
        (("nvmlInit_v2=9",), 9, "NVIDIA-SMI has failed because it couldn't communicate"),
        (("nvmlInit_v2=999",), 255, "Failed to initialize NVML: Unknown Error"),
        (
            ("nvmlDevice*@1=15",),
            15,
            "Unable to determine the device handle for GPU0000:02:00.0: GPU is lost.",
        ),
        (("nvmlInit=segv",), -11, ""),
    ],
)
def test_nvidia_smi_fails_as_nvml_does(faults: tuple[str, ...], code: int, words: str) -> None:
    done = smi(machine("rtx4090_x2", *faults))
    assert (done.returncode, done.stdout.startswith(words)) == (code, True)


def test_nvidia_smi_may_be_absent() -> None:
    with pytest.raises(FileNotFoundError):
        smi(machine("t4", smi=False))


def test_two_who_build_at_once_do_not_meet(tmp_path: Path) -> None:
    program = f"import sys; sys.path.insert(0, {str(Path(__file__).parents[1])!r}); import stubs; "
    program += "print(stubs.machine('t4'))"
    env = {**os.environ, "TMPDIR": str(tmp_path)}
    command = [sys.executable, "-c", program]
    both = [subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    first, second = (process.communicate(timeout=60)[0] for process in both)
    assert first == second != ""
    assert [path for path in tmp_path.rglob("*") if path.suffix[1:].isdigit() and path.suffix != ".1"] == []
