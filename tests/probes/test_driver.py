"""The driver and its GPUs, by two witnesses that may refuse, hang, contradict or talk rubbish."""

from __future__ import annotations

from typing import Any

import healthy
import pytest
from fakes import HUNG, NOT_STARTED, emits, ended
from healthy import BUS, DRIVER, GPU_NAME, MIB, NVML, SMI

from doctor.facts import Driver, Gap, Gpu
from doctor.host import Completed
from doctor.probes import Looks, driver, driver_signs, gpus

REFUSED = emits({"section": "nvml", "error": "Driver Not Loaded", "code": 9})
MISMATCH = ended("Failed to initialize NVML: Driver/library version mismatch\n", code=18)
LIBCUDA = healthy.DRIVER_LIBRARIES["libcuda.so.1"]
NO_GPU: dict[str, Any] = {"libraries": {}, "programs": {}, "files": {}}

OLD_TABLE = """\
+-----------------------------------------------------------------------------+
| NVIDIA-SMI 470.256.02   Driver Version: 470.256.02   CUDA Version: 11.4     |
|-------------------------------+----------------------+----------------------+
"""
NEW_TABLE = """\
+-----------------------------------------------------------------------------------------+
| NVIDIA-SMI 610.43.02              KMD Version: 610.43.02         CUDA UMD Version: 13.3 |
+-----------------------------------------+------------------------+----------------------+
"""
WITHOUT_CUDA = "| NVIDIA-SMI 384.81                 Driver Version: 384.81                    |\n"
ERR_CUDA = "| NVIDIA-SMI 535.54.03    Driver Version: 535.54.03    CUDA Version: ERR!     |\n"
WINDOWS = "| NVIDIA-SMI 552.44       Driver Version: 552.44       CUDA Version: 12.4     |\n"


def looks(**scripted: Any) -> Looks:
    return Looks(healthy.host(**scripted), healthy.TARGET)


def smi_only(table: str, rows: Any = None, **scripted: Any) -> Looks:
    """A machine on which nvidia-smi alone answers."""
    return looks(nvml=REFUSED, smi=ended(table), rows=rows or ended(), **scripted)


def test_nvml_goes_first() -> None:
    assert driver.probe(looks()) == Driver(version=DRIVER, cuda_version="13.0", source="nvml")


@pytest.mark.parametrize(
    ("table", "version", "cuda"),
    [
        (OLD_TABLE, "470.256.02", "11.4"),
        (NEW_TABLE, "610.43.02", "13.3"),
        (WITHOUT_CUDA, "384.81", None),
        (ERR_CUDA, "535.54.03", None),
        (WINDOWS, "552.44", "12.4"),
    ],
)
def test_where_nvml_refuses_the_table_is_read(table: str, version: str, cuda: str | None) -> None:
    found = driver.probe(smi_only(table, files={}, leads={}))
    assert found == Driver(version=version, cuda_version=cuda, source="nvidia-smi")


def test_a_contradiction_is_kept() -> None:
    found = driver.probe(looks(smi=ended(OLD_TABLE)))
    assert isinstance(found, Driver)
    assert (found.version, found.source) == (DRIVER, "nvml")
    assert found.disagreement == {
        "nvml": DRIVER,
        "nvidia-smi": "470.256.02",
        "kernel": DRIVER,
        "libcuda.so.1": DRIVER,
    }


def test_a_libcuda_of_another_version_is_a_contradiction_unless_it_is_there_for_compatibility() -> None:
    def led_to(path: str) -> Any:
        return driver.probe(looks(leads={LIBCUDA: path}))

    assert led_to("/usr/lib/libcuda.so.535.104.05").disagreement == {
        "nvml": DRIVER,
        "nvidia-smi": DRIVER,
        "kernel": DRIVER,
        "libcuda.so.1": "535.104.05",
    }
    assert led_to("/usr/local/cuda-13.2/compat/libcuda.so.595.71.05") == healthy.FACTS.driver
    assert led_to("/usr/lib/wsl/lib/libcuda.so.1.1") == healthy.FACTS.driver


def test_on_wsl_the_two_versions_of_nvidia_smi_differ_by_design() -> None:
    table = "| NVIDIA-SMI 545.46       Driver Version: 546.80       CUDA Version: 12.3     |\n"
    nvml = emits({**NVML, "driver": "546.80", "cuda": "12.3"})
    on_wsl = looks(nvml=nvml, smi=ended(table), files={}, leads={})
    assert driver.probe(on_wsl) == Driver(version="546.80", cuda_version="12.3", source="nvml")


@pytest.mark.parametrize(
    ("told", "version"),
    [
        ("535.104.05-grid", "535.104.05"),
        (" 580.95.05 ", "580.95.05"),
        ("390.157", "390.157"),
        ("580", "580"),
        ("N/A", ""),
        ("", ""),
        ("0.0", ""),
    ],
)
def test_a_version_is_numbers(told: str, version: str) -> None:
    found = driver.probe(looks(nvml=emits({**NVML, "driver": told}), smi=ended(), files={}, leads={}))
    assert (found.version if isinstance(found, Driver) else "") == version


@pytest.mark.parametrize("code", [12, -1])
def test_a_container_for_computing_alone_has_the_kernel_as_its_witness(code: int) -> None:
    nvml = emits({"section": "nvml", "error": "not there", "code": code})
    found = driver.probe(looks(nvml=nvml, programs={}))
    assert found == Driver(version=DRIVER, cuda_version=None, source="kernel")


def test_a_loaded_module_is_no_driver_where_its_libraries_are_not() -> None:
    found = driver.probe(looks(libraries={}, programs={}))
    assert found == Gap(
        about="driver",
        kind="failed",
        reason="1 NVIDIA device on the bus, but NVML says: NVML Shared Library Not Found",
    )


def test_elsewhere_than_on_linux_nothing_is_claimed_of_the_bus() -> None:
    found = driver.probe(looks(os="win32", nvml=REFUSED, programs={}, files={}))
    assert found == Gap(about="driver", kind="not-applicable", reason="NVML says: Driver Not Loaded")


@pytest.mark.parametrize(
    "smi", [ended("nothing of the kind"), HUNG, ended(code=9), ended(OLD_TABLE, code=255)]
)
def test_nvml_stands_where_nvidia_smi_fails(smi: Completed) -> None:
    assert driver.probe(looks(smi=smi)) == healthy.FACTS.driver


def test_a_machine_without_nvidia_needs_no_driver() -> None:
    found = driver.probe(looks(**NO_GPU))
    assert isinstance(found, Gap)
    assert (found.about, found.kind) == ("driver", "not-applicable")
    assert "no NVIDIA GPU is on the bus" in found.reason


def test_the_library_of_nvml_is_loaded_by_nobody_where_it_is_not() -> None:
    host = healthy.host(**NO_GPU)
    at = Looks(host, healthy.TARGET)
    at.survey.result()
    signs = driver_signs.probe(at)
    assert (signs.nvml_code, signs.nvml_error) == (12, "NVML Shared Library Not Found")
    assert [call.argv[0] for call in host.calls] == [healthy.PYTHON]  # the survey


@pytest.mark.parametrize(
    ("scripted", "kind", "reason"),
    [
        ({**NO_GPU, "files": BUS}, "failed", "1 NVIDIA device on the bus"),
        ({"nvml": REFUSED, "smi": MISMATCH}, "failed", "Driver/library version mismatch"),
        ({"nvml": REFUSED, "smi": HUNG}, "failed", "no answer within 10 s and was killed"),
        ({"nvml": REFUSED, "smi": ended(code=9)}, "failed", "it ended with exit code 9"),
        ({"nvml": REFUSED, "smi": NOT_STARTED}, "failed", "No such file"),
        (
            {"nvml": REFUSED, "smi": ended(stderr="Segmentation fault", code=139)},
            "failed",
            "Segmentation fault",
        ),
        ({"nvml": HUNG, "programs": {}}, "failed", "no answer within 10 s and was killed"),
        ({"nvml": ended(code=-11), "programs": {}}, "failed", "killed by SIGSEGV"),
        ({"nvml": REFUSED, "programs": {}, "files": {}}, "not-applicable", "Driver Not Loaded"),
    ],
)
def test_why_there_is_no_driver(scripted: dict[str, Any], kind: str, reason: str) -> None:
    at = looks(**scripted)
    found, none = driver.probe(at), gpus.probe(at)
    assert isinstance(found, Gap) and isinstance(none, Gap)
    assert (found.about, found.kind) == ("driver", kind)
    assert reason in found.reason
    assert (none.about, none.kind, none.reason) == ("gpus", kind, found.reason)


def test_an_nvidia_smi_that_talks_rubbish_is_no_driver() -> None:
    at = smi_only("\0\x1b[31mDriver Version: none", ended("0, , [N/A], ???, 12, 13\n"))
    found, none = driver.probe(at), gpus.probe(at)
    assert found == Gap(about="driver", kind="failed", reason="nvidia-smi ran and named no driver version")
    assert isinstance(none, Gap) and none.kind == "failed"


# -- signs


def test_a_machine_that_is_well_shows_what_it_has_and_no_refusal() -> None:
    assert driver_signs.probe(looks()) == healthy.FACTS.driver_signs


def test_the_signs_of_a_driver_of_two_versions() -> None:
    nvml = emits({"section": "nvml", "error": "Driver/library version mismatch", "code": 18})
    assert driver_signs.probe(looks(nvml=nvml, smi=MISMATCH)) == healthy.but(
        healthy.FACTS.driver_signs,
        nvml_error="Driver/library version mismatch",
        nvml_code=18,
        smi_error="Failed to initialize NVML: Driver/library version mismatch",
    )


def test_an_nvml_that_hangs_is_a_sign_without_a_number() -> None:
    signs = driver_signs.probe(looks(nvml=HUNG))
    assert signs.nvml_code is None
    assert "no answer within 10 s" in signs.nvml_error


@pytest.mark.parametrize(
    ("devices", "count"),
    [
        ([], 0),
        ([("0x10de\n", "0x030000\n"), ("0x10de", "0x030200")], 2),
        ([("0x10de", "0x040300"), ("0x10de", "0x0c0330")], 0),  # sound and USB of a GPU
        ([("0x1002", "0x030000"), ("0x8086", "0x030000")], 0),
        ([("0x10de", ""), ("", "0x030000"), ("10de", "0x030000")], 0),
    ],
)
def test_gpus_on_the_bus(devices: list[tuple[str, str]], count: int) -> None:
    files = {}
    for number, (vendor, kind) in enumerate(devices):
        folder = f"/sys/bus/pci/devices/0000:0{number}:00.0"
        files.update({f"{folder}/vendor": vendor, f"{folder}/class": kind})
    assert driver_signs.probe(looks(files=files)).bus_gpus == count


# -- GPUs


def test_gpus_of_nvml() -> None:
    assert gpus.probe(looks()) == healthy.FACTS.gpus


def test_a_driver_without_gpus_shows_none() -> None:
    assert gpus.probe(looks(nvml=emits({**NVML, "gpus": []}))) == ()


def test_gpus_of_nvidia_smi() -> None:
    rows = ended(
        "0, NVIDIA GeForce RTX 4090, 580.95.05, 24564, 24000, 8.9\n"
        '1, "Tesla, with a comma", 580.95.05, 15109, [N/A], [N/A]\n'
        "2, NVIDIA GB10, 580.95.05, [N/A], [N/A], 12.1\n"
        "\n"
    )
    assert gpus.probe(smi_only(healthy.SMI_TABLE, rows)) == (
        Gpu(
            index=0,
            name=GPU_NAME,
            compute_capability="8.9",
            memory_total_bytes=24564 * MIB,
            memory_free_bytes=24000 * MIB,
        ),
        Gpu(
            index=1,
            name="Tesla, with a comma",
            compute_capability=None,
            memory_total_bytes=15109 * MIB,
            memory_free_bytes=None,
        ),
        Gpu(
            index=2,
            name="NVIDIA GB10",
            compute_capability="12.1",
            memory_total_bytes=None,
            memory_free_bytes=None,
            shares_memory=True,
        ),
    )


@pytest.mark.parametrize(
    "rows",
    [
        ended(),
        ended("No devices were found\n"),
        ended("0, , [N/A], ???, 12, 13\n"),
        ended("0,a,b\n-1, x, y, 1, 2, 3\n"),
        HUNG,
        NOT_STARTED,
    ],
)
def test_a_query_that_lists_nothing_is_a_gap_and_not_no_gpu(rows: Completed) -> None:
    found = gpus.probe(smi_only(healthy.SMI_TABLE, rows))
    assert isinstance(found, Gap)
    assert (found.about, found.kind) == ("gpus", "failed")


def test_a_driver_that_does_not_know_compute_capability_is_asked_without_it() -> None:
    refusal = ended('Field "compute_cap" is not a valid field to query.\n', code=2)
    host = healthy.host(nvml=REFUSED, smi=ended(OLD_TABLE), rows=refusal)
    shorter = healthy.SMI_QUERY_ARGUMENT.removesuffix(",compute_cap")
    host.on(SMI, shorter, replies=ended("0, Tesla T4, 470.256.02, 15109, 15106\n"))
    found = gpus.probe(Looks(host, healthy.TARGET))
    assert isinstance(found, tuple)
    [gpu] = found
    assert (gpu.name, gpu.compute_capability, gpu.memory_free_bytes) == ("Tesla T4", None, 15106 * MIB)


TABLE_OF_GPUS = (
    "| NVIDIA-SMI 470.256.02   Driver Version: 470.256.02   CUDA Version: 11.4     |\n"
    "|   0  Tesla T4            Off  | 00000000:00:04.0 Off |                    0 |\n"
    "| N/A   50C    P8    10W /  70W |    100MiB / 15079MiB |      0%      Default |\n"
    "|   1  NVIDIA GeForce ...  On   | 00000000:01:00.0  On |                  N/A |\n"
    "|  0%   50C    P8    ERR! / N/A |     ERR! / ERR!      |      0%      Default |\n"
    "|    0   N/A  N/A      1234      C   python                           300MiB |\n"
)


def test_gpus_of_the_plain_table_where_the_query_is_not_answered() -> None:
    found = gpus.probe(smi_only(TABLE_OF_GPUS, HUNG))
    assert isinstance(found, tuple)
    assert [(gpu.index, gpu.name, gpu.memory_total_bytes, gpu.memory_free_bytes) for gpu in found] == [
        (0, "Tesla T4", 15079 * MIB, 14979 * MIB),
        (1, "NVIDIA GeForce ...", None, None),
    ]


def test_an_nvidia_smi_that_warns_has_answered() -> None:
    warning = "WARNING: infoROM is corrupted at gpu 0000:01:00.0\n"
    rows = ended(f"0, Tesla T4, 470.256.02, 15079, 15000, 7.5\n{warning}", code=14)
    at = looks(nvml=REFUSED, smi=ended(TABLE_OF_GPUS + warning, code=14), rows=rows)
    found, told = gpus.probe(at), driver.probe(at)
    assert isinstance(found, tuple) and isinstance(told, Driver)
    assert ([gpu.compute_capability for gpu in found], told.version) == (["7.5"], "470.256.02")
    assert driver_signs.probe(at).smi_error == ""


def test_gpus_that_nvidia_smi_cannot_reach() -> None:
    rows = ended("0, Tesla T4, 580.95.05, 15079, 15000, 7.5\n1, [Unknown Error], x\n2, [GPU is lost], x\n")
    signs = driver_signs.probe(smi_only(healthy.SMI_TABLE, rows))
    assert [(one.index, one.error, one.code) for one in signs.lost] == [
        (1, "[Unknown Error]", None),
        (2, "[GPU is lost]", 15),
    ]
    unreachable = "Unable to determine the device handle for GPU0000:02:00.0: Unknown Error"
    signs = driver_signs.probe(smi_only(healthy.SMI_TABLE, ended(f"{unreachable}\n")))
    assert (signs.smi_error, signs.lost) == (unreachable, ())


def test_a_gpu_whose_row_cannot_be_read_is_not_dropped_in_silence() -> None:
    rows = ended(
        "0, NVIDIA GeForce RTX 4090, 580.95.05, 24564, 24000, 8.9\n"
        "1, [Unknown Error], [N/A], [N/A], [N/A], [N/A]\n"
    )
    found = gpus.probe(smi_only(healthy.SMI_TABLE, rows))
    assert isinstance(found, Gap) or len(found) == 2
