"""The command line on every machine and over every fault of the stubs."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator

import pytest

from doctor.facts import LostGpu

from . import NAMES, compiler_is_there
from .profiles import DRIVERS, read
from .running import PATIENCE_S, Case, case, empty_python, environment, finish, run, start

pytestmark = pytest.mark.skipif(not compiler_is_there(), reason="the stubs need Linux and cc")

# What is told of a machine that is sound: what its GPUs cannot do, and who holds their memory.
REMARKS = {
    "gpu/bf16-unsupported",
    "gpu/int8-unsupported",
    "gpu/mig-visibility",
    "gpu/pcie-degraded",
    "gpu/peer-to-peer-unsupported",
}
HELD = {"v100": {"gpu/held-by-other-process"}}


@pytest.mark.parametrize("profile", NAMES)
def test_a_sound_machine(profile: str) -> None:
    outcome, wanted = run(case(profile)), read(profile)
    names = [gpu["name"] for gpu in wanted["gpus"] for _ in range(gpu.get("copies", 1))]
    driver, gpus = outcome.facts.driver, outcome.facts.gpus
    assert driver is not None and gpus is not None
    assert (driver.version, driver.source, driver.disagreement) == (wanted["driver"], "nvml", {})
    assert [gpu.name for gpu in gpus] == names
    assert outcome.ids("error") == {"python/stack-missing"}
    assert outcome.ids("warning") == HELD.get(profile, set())
    assert {id for id in outcome.ids("note") if id.startswith(("driver/", "gpu/"))} <= REMARKS


@pytest.mark.parametrize("branch", [470, 515, 550, 610])
def test_nvidia_smi_of_each_form_agrees_with_nvml(branch: int) -> None:
    """It is the only witness where nvidia-ml-py finds no library."""
    driver = DRIVERS[branch]
    by_nvml = run(case("t4", driver=driver)).facts
    by_smi = run(case("t4", "nvidia-smi=0", driver=driver, library="absent")).facts
    for facts in (by_nvml, by_smi):
        assert facts.driver is not None and facts.gpus is not None
    assert by_smi.driver.source == "nvidia-smi"
    assert (by_smi.driver.version, by_smi.driver.cuda_version) == (driver, by_nvml.driver.cuda_version)
    [gpu], [same] = by_nvml.gpus, by_smi.gpus
    assert (gpu.name, gpu.memory_total_bytes) == (same.name, same.memory_total_bytes)
    assert same.compute_capability == ("7.5" if branch >= 510 else None)


FAULTS: dict[str, tuple[Case, str]] = {
    "the module is of another version": (case("t4", "nvmlInit_v2=18"), "driver/library-version-mismatch"),
    "the same without nvidia-smi": (
        case("t4", "nvmlInit_v2=18", smi=False),
        "driver/library-version-mismatch",
    ),
    "no module is loaded": (case("t4", "nvmlInit_v2=9"), "driver/not-answering"),
    "it may not be asked": (case("t4", "nvmlInit_v2=4"), "driver/device-nodes-not-usable"),
    "an unknown error": (case("t4", "nvmlInit_v2=999"), "driver/not-answering"),
    "NVML segfaults": (case("t4", "nvmlInit_v2=segv"), "driver/crashes"),
    "NVML aborts": (case("t4", "nvmlInit_v2=abort", smi=False), "driver/crashes"),
    "the library is truncated": (case("t4", library="truncated"), "driver/crashes"),
    "the same truncated library without nvidia-smi": (
        case("t4", library="truncated", smi=False),
        "driver/crashes",
    ),
    "the library is empty": (case("t4", library="empty"), "driver/not-answering"),
    "the library is a text": (case("t4", library="text"), "driver/not-answering"),
    "the library is of another machine": (case("t4", library="foreign"), "driver/not-answering"),
    "the library lacks its functions": (case("t4", library="symbolless"), "driver/not-answering"),
    "the only GPU is lost": (case("rtx4090", "nvmlDevice*@0=15"), "gpu/hardware-fault"),
    "one of two GPUs is lost": (case("rtx4090_x2", "nvmlDevice*@1=15"), "gpu/hardware-fault"),
    "one of eight GPUs must be reset": (
        case("h100_x8", "nvmlDeviceGetHandleByIndex_v2@5=16"),
        "gpu/hardware-fault",
    ),
    "the GPUs are hidden": (case("t4", env={"CUDA_VISIBLE_DEVICES": ""}), "gpu/hidden-by-environment"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_named_and_the_report_is_whole(fault: str) -> None:
    at, id = FAULTS[fault]
    outcome = run(at)
    assert id in outcome.ids("error") | outcome.ids("warning")
    assert "doctor/rule-crashed" not in outcome.ids("error")
    assert outcome.facts.interpreter is not None and outcome.facts.driver_signs is not None
    unknown = {gap.about for gap in outcome.facts.gaps}
    assert (outcome.facts.gpus is None) == ("gpus" in unknown)


@pytest.mark.parametrize("library", ["truncated", "empty", "text", "foreign", "symbolless"])
def test_a_library_that_cannot_be_used_leaves_a_gap(library: str) -> None:
    signs = run(case("t4", library=library)).facts.driver_signs
    assert signs is not None and signs.nvml_error
    assert (signs.nvml_code is None) == (library == "truncated")
    assert "nvidia-smi" in run(case("t4", library=library)).gap("driver")


def test_an_old_library_tells_what_it_knows() -> None:
    facts = run(case("a100_mig", library="old")).facts
    assert facts.gpus is not None
    assert facts.gpus[0].memory_total_bytes == 40960 << 20
    assert facts.gpus[0].mig_mode is facts.gpus[0].processes is None


def test_gpus_beside_a_lost_one_are_told() -> None:
    facts = run(FAULTS["one of eight GPUs must be reset"][0]).facts
    assert facts.gpus is not None and facts.driver_signs is not None
    assert [gpu.index for gpu in facts.gpus] == [0, 1, 2, 3, 4, 6, 7]
    assert facts.driver_signs.lost == (LostGpu(index=5, error="GPU requires reset", code=16),)


def test_uuids_and_arguments_stay_out_of_the_report() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "doctor", "check", "--quick", "--python", empty_python(), "--format", "json"],
        env=environment(case("v100")),
        capture_output=True,
        text=True,
    )
    assert "Tesla V100" in done.stdout
    assert "GPU-" not in done.stdout and "/usr/bin/python3" not in done.stdout.replace(empty_python(), "")


# -- libcuda, which a quick look leaves alone

LIBCUDA: dict[str, tuple[Case, str]] = {
    "no fabric manager": (case("h100_x8", "cuInit=802"), "driver/fabric-manager-not-running"),
    "another driver's library": (case("t4", "cuInit=803"), "driver/libcuda-mismatch"),
    "compatibility libraries on a consumer GPU": (case("rtx4090", "cuInit=804"), "driver/libcuda-mismatch"),
    "it segfaults": (case("rtx4090", "cuInit=segv"), "driver/crashes"),
    "it is truncated": (case("rtx4090", cuda="truncated"), "driver/crashes"),
    "it is empty": (case("rtx4090", cuda="empty"), "driver/library-not-loadable"),
}


def test_libcuda_sees_what_nvml_sees() -> None:
    facts = finish(start(case("h100_x8"))).facts
    assert facts.cuda_driver is not None and facts.gpus is not None and facts.driver is not None
    assert facts.cuda_driver.version == facts.driver.cuda_version
    assert [device.name for device in facts.cuda_driver.devices] == [gpu.name for gpu in facts.gpus]


@pytest.mark.parametrize("fault", LIBCUDA)
def test_a_fault_of_libcuda_is_named(fault: str) -> None:
    at, id = LIBCUDA[fault]
    outcome = finish(start(at))
    assert outcome.ids("error") == {id, "python/stack-missing"}


# -- what hangs takes its ten seconds, all at once and beside the tests above

HANGS = {
    "NVML": case("t4", "nvmlInit_v2=hang", smi=False),
    "GPU 1": case("rtx4090_x2", "nvmlDeviceGetEccMode@1=hang"),
    "nvidia-smi": case("t4", "nvidia-smi=hang"),
    "the paths between GPUs": case("rtx4090_x2", "nvmlDeviceGetP2PStatus=hang"),
}


@pytest.fixture(scope="module", autouse=True)
def hanging() -> Iterator[dict[str, subprocess.Popen[str]]]:
    running = {name: start(at, "--quick") for name, at in HANGS.items()}
    yield running
    for process in running.values():
        process.kill()
        with process:  # closes its streams and waits for it
            pass


def test_nvml_that_hangs(hanging: dict[str, subprocess.Popen[str]]) -> None:
    outcome = finish(hanging["NVML"])
    assert re.search(r"no answer within \d+ s", outcome.gap("driver"))
    assert outcome.facts.gpus is None


def test_a_gpu_that_hangs_is_named(hanging: dict[str, subprocess.Popen[str]]) -> None:
    facts = finish(hanging["GPU 1"]).facts
    assert facts.gpus is not None and facts.driver_signs is not None and facts.driver is not None
    assert [gpu.index for gpu in facts.gpus] == [0]
    [lost] = facts.driver_signs.lost
    assert (lost.index, lost.code) == (1, None)
    assert re.fullmatch(r"no answer within \d+ s", lost.error)


def test_an_nvidia_smi_that_hangs_hides_nothing(hanging: dict[str, subprocess.Popen[str]]) -> None:
    facts = finish(hanging["nvidia-smi"]).facts
    assert facts.driver is not None and facts.gpus is not None and facts.driver_signs is not None
    assert "no answer" in facts.driver_signs.smi_error


def test_paths_between_gpus_that_are_not_told_lose_no_gpu(hanging: dict[str, subprocess.Popen[str]]) -> None:
    facts = finish(hanging["the paths between GPUs"]).facts
    assert facts.gpus is not None
    assert [dict(gpu.peers) for gpu in facts.gpus] == [{}, {}]


# -- the doctor's own process

WATCHED = """
import os, re, sys
def told(code, end=os._exit):
    with open("/proc/self/maps") as maps:
        found = re.findall(r"lib(?:nvidia-ml|cuda)[.]so", maps.read())
    sys.stderr.write("MAPPED %s" % sorted(set(found)))
    sys.stderr.flush()
    end(code)
os._exit = told  # which is how the doctor ends
"""
ITSELF = WATCHED + "from doctor.cli import main; main()"
CONTROL = WATCHED + "import ctypes; ctypes.CDLL('libnvidia-ml.so.1'); os._exit(0)"


def watched(program: str, *arguments: str) -> str:
    """What a process says of the libraries that it has loaded when it ends."""
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        env=environment(case("h100_x8")),
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )
    return done.stderr


@pytest.mark.parametrize("options", [["--quick"], []], ids=["quick", "full"])
def test_the_doctor_loads_no_driver_into_itself(options: list[str]) -> None:
    assert watched(ITSELF, "check", "--python", empty_python(), *options).endswith("MAPPED []")
    assert "MAPPED ['libnvidia-ml.so']" in watched(CONTROL)
