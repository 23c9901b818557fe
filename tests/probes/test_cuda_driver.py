"""libcuda's fact where it is not asked, not there, or broke off."""

from __future__ import annotations

import sys
from typing import Any

import healthy
import pytest
from fakes import HUNG, NOT_STARTED, emits, ended
from healthy import CUDA, DRIVER

from doctor.facts import CudaDriver, Gap
from doctor.probes import Looks, cuda_driver

LIBRARY = f"/usr/lib/x86_64-linux-gnu/libcuda.so.{DRIVER}"
REFUSED = {"section": "libcuda", "init_code": 999, "init_error": "CUDA_ERROR_UNKNOWN"}
FORBIDDEN = {"/dev/nvidiactl": "Operation not permitted"}  # by a control group


def looks(**scripted: Any) -> Looks:
    return Looks(healthy.host(**scripted), healthy.TARGET)


def test_a_driver_that_answers() -> None:
    assert cuda_driver.probe(looks()) == healthy.FACTS.cuda_driver


def test_a_quick_look_does_not_ask() -> None:
    at = looks()
    at.quick = True
    found = cuda_driver.probe(at)
    assert found == Gap(about="cuda_driver", kind="not-asked", reason="cuInit is left out by --quick")


def test_hidden_devices_are_asked_for_too() -> None:
    host = healthy.host(env={"CUDA_VISIBLE_DEVICES": "", "LANG": "C"})
    cuda_driver.probe(Looks(host, healthy.TARGET))
    [call] = host.commands(sys.executable, "-", "libcuda")
    assert call.env is not None and "CUDA_VISIBLE_DEVICES" not in call.env


@pytest.mark.parametrize(
    ("answer", "fact"),
    [
        (HUNG, CudaDriver(library=LIBRARY, failure="gave no answer within 10 s and was killed")),
        (ended(code=-11), CudaDriver(library=LIBRARY, failure="killed by SIGSEGV")),
        (
            emits(*CUDA[:2], code=-6),
            CudaDriver(library=LIBRARY, version="13.0", failure="killed by SIGABRT"),
        ),
        (
            emits(CUDA[0], REFUSED, {"section": "libcuda", "refused": FORBIDDEN, "done": True}),
            CudaDriver(library=LIBRARY, init_code=999, init_error="CUDA_ERROR_UNKNOWN", refused=FORBIDDEN),
        ),
        (
            emits(CUDA[0], code=3),
            CudaDriver(library=LIBRARY, failure="ended with exit code 3 before it had answered"),
        ),
        (
            emits({"section": "libcuda", "error": "libcuda.so.1: file too short"}),
            CudaDriver(library=LIBRARY, failure="cannot be loaded: libcuda.so.1: file too short"),
        ),
    ],
)
def test_how_its_child_ended(answer: Any, fact: CudaDriver) -> None:
    assert cuda_driver.probe(looks(libcuda=answer)) == fact


def test_a_child_that_cannot_be_started_is_a_gap() -> None:
    found = cuda_driver.probe(looks(libcuda=NOT_STARTED))
    assert isinstance(found, Gap) and "No such file" in found.reason


@pytest.mark.parametrize(
    ("scripted", "kind", "reason"),
    [
        ({"files": {}, "libraries": {}}, "not-applicable", "no NVIDIA driver"),
        ({"libraries": {}}, "failed", f"driver {DRIVER} is there"),
        ({"files": {}, "libraries": {"libnvidia-ml.so.1": "/x"}}, "failed", f"driver {DRIVER} is there"),
        ({"files": healthy.BUS, "libraries": {}}, "failed", "an NVIDIA GPU is on the bus"),
        ({"os": "darwin"}, "not-applicable", "macOS has no CUDA"),
    ],
)
def test_why_there_is_none(scripted: dict[str, Any], kind: str, reason: str) -> None:
    at = looks(**scripted)
    found = cuda_driver.probe(at)
    assert isinstance(found, Gap)
    assert (found.about, found.kind) == ("cuda_driver", kind)
    assert reason in found.reason
