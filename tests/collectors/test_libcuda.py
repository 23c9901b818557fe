"""libcuda's collector against libraries of our own that answer, refuse, die or hang."""

from __future__ import annotations

import os
import sys
from typing import Any

import pytest
import stubs

from doctor.child import Patience
from doctor.collectors import Collected, collect, program
from doctor.facts import CudaDriver, Gap
from doctor.host import LocalHost
from doctor.probes import Looks, cuda_driver
from doctor.target import Target

pytestmark = pytest.mark.skipif(not stubs.compiler_is_there(), reason="the libraries must be built")
PATIENT, SHORT = Patience(limit_s=60.0), Patience(limit_s=5.0)


def look(*machine: str, patience: Patience = PATIENT, **how: Any) -> Collected:
    """What the collector emits on one machine."""
    env = {**os.environ, **stubs.machine(*machine, **how)}
    text = program(("libcuda", "end"))
    return collect(LocalHost(), sys.executable, text, {"look": "libcuda"}, patience=patience, env=env)


def told(answer: Collected) -> dict[str, Any]:
    """All steps as one."""
    return {key: value for event in answer.events for key, value in event.items() if key != "section"}


def fact(*machine: str, patience: Patience = PATIENT, **how: Any) -> CudaDriver | Gap:
    """What the probe makes of it."""
    host = LocalHost()
    host.env = {**os.environ, **stubs.machine(*machine, **how)}
    looks = Looks(host, Target(sys.executable, "--python"))
    answer = look(*machine, patience=patience, **how)
    looks._cuda = Answered(answer)  # type: ignore[assignment]
    return cuda_driver.probe(looks)


class Answered:
    """An answer that is there."""

    def __init__(self, answer: Collected) -> None:
        self.result = lambda: answer


def test_a_driver_that_answers() -> None:
    found = fact("rtx4090_x2")
    assert isinstance(found, CudaDriver)
    assert (found.init_code, found.init_error, found.failure, found.refused) == (0, "", "", {})
    assert found.library.endswith("/libcuda.so.1")
    assert [(one.ordinal, one.compute_capability, one.integrated) for one in found.devices] == [
        (0, "8.9", False),
        (1, "8.9", False),
    ]
    assert "4090" in found.devices[0].name
    assert (found.devices[0].memory_total_bytes or 0) > 20 << 30


def test_the_newest_cuda_that_a_driver_offers() -> None:
    assert told(look("t4", driver="470.82.01"))["version"] == "11.4"


@pytest.mark.parametrize(
    ("code", "name"),
    [
        (1, "CUDA_ERROR_INVALID_VALUE"),
        (34, "CUDA_ERROR_STUB_LIBRARY"),
        (46, "CUDA_ERROR_DEVICE_UNAVAILABLE"),
        (100, "CUDA_ERROR_NO_DEVICE"),
        (304, "CUDA_ERROR_OPERATING_SYSTEM"),
        (802, "CUDA_ERROR_SYSTEM_NOT_READY"),
        (803, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH"),
        (804, "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE"),
        (805, "CUDA_ERROR_MPS_CONNECTION_FAILED"),  # the stub does not name it
        (999, "CUDA_ERROR_UNKNOWN"),
        (4711, "CUDA_ERROR_4711"),
    ],
)
def test_a_refusal_has_its_number_and_its_name(code: int, name: str) -> None:
    answer = told(look("t4", f"cuInit={code}"))
    assert (answer["init_code"], answer["init_error"], answer["done"]) == (code, name, True)
    assert "device" not in answer and answer["version"]


def test_a_device_that_does_not_answer_is_still_counted() -> None:
    found = fact("rtx4090_x2", "cuDeviceGetName@1=999", "cuDeviceGetAttribute@1=999")
    assert isinstance(found, CudaDriver)
    assert [(one.name != "", one.compute_capability) for one in found.devices] == [
        (True, "8.9"),
        (False, None),
    ]


@pytest.mark.parametrize(("fault", "signal"), [("segv", "SIGSEGV"), ("abort", "SIGABRT")])
def test_a_death_in_its_start_leaves_what_was_told_before(fault: str, signal: str) -> None:
    found = fact("t4", f"cuInit={fault}")
    assert isinstance(found, CudaDriver)
    assert (found.init_code, found.failure) == (None, f"killed by {signal}")
    assert found.version is not None and found.library


def test_a_hang_in_its_start_is_ended() -> None:
    found = fact("t4", "cuInit=hang", patience=SHORT)
    assert isinstance(found, CudaDriver)
    assert found.init_code is None
    assert found.failure.startswith("gave no answer within") and found.failure.endswith("and was killed")


def test_a_hang_at_the_devices_is_after_a_good_start() -> None:
    found = fact("t4", "cuDeviceGetCount=hang", patience=SHORT)
    assert isinstance(found, CudaDriver)
    assert (found.init_code, found.devices) == (0, ())
    assert "gave no answer" in found.failure


@pytest.mark.parametrize(
    ("library", "failure"),
    [
        ("empty", "file too short"),
        ("text", "invalid ELF header"),
        ("truncated", "killed by SIGBUS"),
        ("symbolless", "undefined symbol: cuInit"),
    ],
)
def test_a_file_that_is_no_libcuda(library: str, failure: str) -> None:
    found = fact("t4", cuda=library)
    assert isinstance(found, CudaDriver)
    assert failure in found.failure
    assert found.init_code is None and found.library.endswith("libcuda.so.1")


def test_an_old_library_without_the_newer_names() -> None:
    found = fact("t4", cuda="old")
    assert isinstance(found, CudaDriver)
    assert (found.init_code, len(found.devices), found.failure) == (0, 1, "")
