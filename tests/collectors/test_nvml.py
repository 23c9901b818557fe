"""NVML's collector against NVML libraries that we write ourselves."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from doctor.collectors import collect, program
from doctor.host import LocalHost, Patience

PRELUDE = """
class NVMLError(Exception):
    def __init__(self, value=0): self.value = value
    def __str__(self): return WORDS[self.value]
WORDS = {9: "Driver Not Loaded", 15: "GPU is lost", 18: "Driver/library version mismatch"}
class Memory: total, free, used = 24 << 30, 20 << 30, 4 << 30
def nvmlInit(): pass
def nvmlSystemGetCudaDriverVersion(): return 12080
def nvmlSystemGetDriverVersion(): return "570.86.15"
def nvmlDeviceGetCount(): return 2
def nvmlDeviceGetHandleByIndex(index): return index
def nvmlDeviceGetMemoryInfo(handle): return Memory
def nvmlDeviceGetCudaComputeCapability(handle): return (8, 9)
def nvmlDeviceGetName(handle): return "NVIDIA L4"
"""
GPU = {
    "name": "NVIDIA L4",
    "compute_capability": "8.9",
    "memory_total_bytes": 24 << 30,
    "memory_free_bytes": 20 << 30,
}


def look(tmp_path: Path, pynvml: str | None) -> dict[str, Any]:
    """What the collector says with this text as the module pynvml."""
    if pynvml is not None:
        (tmp_path / "pynvml.py").write_text(PRELUDE + pynvml)
    host = LocalHost()
    host.env = {**host.env, "PYTHONPATH": str(tmp_path)}
    answer = collect(host, sys.executable, program(("nvml",)), {}, patience=Patience(limit_s=30.0))
    section = answer.section("nvml")
    assert section is not None, answer.trouble
    return dict(section)


def test_a_driver_that_answers(tmp_path: Path) -> None:
    assert look(tmp_path, "") == {
        "section": "nvml",
        "driver": "570.86.15",
        "cuda": "12.8",
        "gpus": [{"index": 0, **GPU}, {"index": 1, **GPU}],
    }


def test_older_bindings_that_give_bytes(tmp_path: Path) -> None:
    said = look(
        tmp_path,
        "def nvmlSystemGetDriverVersion(): return b'470.1'\n"
        "def nvmlDeviceGetName(handle): return b'T4 \\xff'",
    )
    assert said["driver"] == "470.1"
    assert said["gpus"][0]["name"] == "T4 \ufffd"


@pytest.mark.parametrize(
    ("number", "cuda"), [(11040, "11.4"), (12000, "12.0"), (13010, "13.1"), (10020, "10.2")]
)
def test_the_number_of_cuda(tmp_path: Path, number: int, cuda: str) -> None:
    assert look(tmp_path, f"def nvmlSystemGetCudaDriverVersion(): return {number}")["cuda"] == cuda


@pytest.mark.parametrize(
    ("code", "words"), [(9, "Driver Not Loaded"), (18, "Driver/library version mismatch")]
)
def test_a_refusal_has_its_words_and_its_number(tmp_path: Path, code: int, words: str) -> None:
    said = look(tmp_path, f"def nvmlInit(): raise NVMLError({code})")
    assert said == {"section": "nvml", "error": words, "code": code}


def test_a_lost_gpu_does_not_hide_the_others(tmp_path: Path) -> None:
    said = look(
        tmp_path,
        "def nvmlDeviceGetHandleByIndex(index):\n    if index == 1: raise NVMLError(15)\n    return index",
    )
    assert said["gpus"] == [{"index": 0, **GPU}, {"index": 1, "error": "GPU is lost", "code": 15}]


def test_a_doctor_without_the_bindings_says_so(tmp_path: Path) -> None:
    (tmp_path / "pynvml.py").write_text("raise ImportError('No module named pynvml')")
    said = look(tmp_path, None)
    assert said["code"] == -1
    assert "nvidia-ml-py is not installed beside the doctor" in said["error"]


def test_the_true_bindings_answer_in_the_same_form() -> None:
    answer = collect(LocalHost(), sys.executable, program(("nvml",)), {}, patience=Patience(limit_s=30.0))
    section = answer.section("nvml")
    assert section is not None, answer.trouble
    assert ("driver" in section) != ("error" in section)
    assert "driver" in section or (isinstance(section["code"], int) and section["error"])
