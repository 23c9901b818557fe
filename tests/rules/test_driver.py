"""Faults of the driver and of how the machine shows its GPUs, and what comes near them."""

from __future__ import annotations

from typing import Any

import healthy
import pytest
from fakes import HUNG
from healthy import but

from doctor.facts import DriverSigns, Facts

from .judging import case, check, facts, ids, of

SIGNS, SYSTEM = healthy.FACTS.driver_signs, healthy.FACTS.system
MISMATCH = "Failed to initialize NVML: Driver/library version mismatch"
NOT_FOUND: dict[str, Any] = {"nvml_error": "NVML Shared Library Not Found", "nvml_code": 12}
NO_DRIVER = "no driver answers"


def silent(**changes: Any) -> Facts:
    """A machine whose driver does not answer."""
    signs = changes.pop("signs", {})
    return facts(
        **{
            "driver": NO_DRIVER,
            "gpus": NO_DRIVER,
            "driver_signs": DriverSigns(**{"bus_gpus": 1, **signs}),
            **changes,
        }
    )


def hidden(value: str) -> Facts:
    return facts(environment={"CUDA_VISIBLE_DEVICES": value})


HITS = {
    "two versions, by NVML": case(
        "driver/library-version-mismatch",
        "error",
        silent(
            signs={
                "nvml_error": "Driver/library version mismatch",
                "nvml_code": 18,
                "kernel_version": "535.54",
            }
        ),
        "two versions",
        seen=("kernel module 535.54; Driver/library version mismatch",),
        command="sudo reboot",
    ),
    "two versions, by nvidia-smi": case(
        "driver/library-version-mismatch", "error", silent(signs={"smi_error": MISMATCH}), "two versions"
    ),
    "two versions, by the number alone": case(
        "driver/library-version-mismatch",
        "error",
        silent(signs={"nvml_error": "Fehler", "nvml_code": 18}),
        "two versions",
        seen=("Fehler",),
    ),
    "nvidia-smi refuses on a machine with a GPU": case(
        "driver/not-answering",
        "error",
        silent(
            signs={"smi_error": "NVIDIA-SMI has failed\nmore", "nvml_code": 9, "nvml_error": "Not Loaded"}
        ),
        "gets no answer",
        seen=("NVIDIA-SMI has failed -> ",),
    ),
    "nvidia-smi refuses on a machine that shows no GPU": case(
        "driver/not-answering",
        "warning",
        silent(signs={"smi_error": "NVIDIA-SMI has failed", "bus_gpus": 0}),
        "gets no answer",
    ),
    "a GPU and no driver": case(
        "driver/not-installed",
        "error",
        silent(signs=NOT_FOUND),
        "1 NVIDIA GPU on the bus, and no NVIDIA driver is installed",
        seen=("NVML Shared Library Not Found",),
    ),
    "docker": case(
        "gpu/none-visible-in-container",
        "error",
        silent(signs=NOT_FOUND, system=but(SYSTEM, container="docker")),
        "This docker container was started without the machine's GPU",
    ),
    "an empty variable": case(
        "gpu/hidden-by-environment",
        "error",
        hidden(""),
        "CUDA_VISIBLE_DEVICES is '', which hides all 1 GPUs",
        command="unset CUDA_VISIBLE_DEVICES",
    ),
    "minus one": case("gpu/hidden-by-environment", "error", hidden("-1"), "'-1'"),
    "two drivers": case(
        "driver/witnesses-disagree",
        "note",
        facts(driver=but(healthy.FACTS.driver, disagreement={"nvml": "580.95.05", "nvidia-smi": "535.54"})),
        "Two witnesses",
        seen=("nvml says 580.95.05, nvidia-smi says 535.54",),
    ),
}

MISSES = {
    "no GPU anywhere": silent(signs={**NOT_FOUND, "bus_gpus": 0}),
    "a container of a machine without a GPU": silent(
        signs={**NOT_FOUND, "bus_gpus": 0}, system=but(SYSTEM, container="docker")
    ),
    "a container that was given the GPU": facts(system=but(SYSTEM, container="docker")),
    "one GPU chosen": hidden("0"),
    "a GPU chosen by its UUID": hidden("GPU-8932f937"),
    "a variable where there is no GPU": facts(
        environment={"CUDA_VISIBLE_DEVICES": ""}, gpus=(), torch=but(healthy.FACTS.torch, variant="cu130")
    ),
}


@pytest.mark.parametrize("name", HITS)
def test_hit(name: str) -> None:
    check(*HITS[name])


@pytest.mark.parametrize("name", MISSES)
def test_near_miss(name: str) -> None:
    assert ids(MISSES[name]) == []


@pytest.mark.parametrize(
    ("engine", "words"),
    [
        ("docker", "docker run --gpus all"),
        ("podman", "nvidia.com/gpu=all"),
        ("kubernetes", "nvidia.com/gpu: 1"),
    ],
)
def test_each_container_engine_has_its_own_words(engine: str, words: str) -> None:
    finding = of(
        "gpu/none-visible-in-container", silent(signs=NOT_FOUND, system=but(SYSTEM, container=engine))
    )
    assert words in finding.fixes[0].title


def test_a_driver_of_two_versions_is_not_also_called_silent() -> None:
    both = {"smi_error": MISMATCH, "nvml_error": MISMATCH, "nvml_code": 18}
    assert ids(silent(signs=both)) == ["driver/library-version-mismatch"]


@pytest.mark.parametrize(
    "signs",
    [
        {"nvml_error": "Driver Not Loaded", "nvml_code": 9},
        {"nvml_error": f"it gave no answer within {HUNG.seconds:.0f} s and was killed"},
        {**NOT_FOUND, "kernel_version": "535.54"},
    ],
    ids=["not loaded", "hangs", "module without library"],
)
def test_a_gpu_on_the_bus_without_an_answer_is_always_spoken_of(signs: dict[str, Any]) -> None:
    assert ids(silent(signs=signs)) != []
