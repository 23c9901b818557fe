"""bitsandbytes' choice of its library; that the rule is its own is shown in the zoo, by its own code."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doctor.facts import BitsandbytesBuild, TorchBuild
from doctor.hardware import Accelerator, Gpu
from doctor.linking.choice import Question, choose, nearest, override_variable, select

from .choices import ALL, CASES, CPU, RELEASES, Case, choice_of

CUDA = "libbitsandbytes_cuda{}.so"


@pytest.mark.parametrize(
    ("release", "case", "library", "is_there", "error"),
    [
        ("0.42.0", "exact", CUDA.format(126), True, ""),
        ("0.42.0", "exact, an old GPU", CUDA.format("118_nocublaslt"), True, ""),
        ("0.45.5", "exact, an old GPU", CUDA.format(118), True, ""),
        (
            "0.42.0",
            "nearest below",
            CUDA.format(128),
            False,
            "CUDA Setup failed despite GPU being available.",
        ),
        ("0.45.5", "nearest below", CPU, True, ""),
        (
            "0.49.2",
            "nearest below",
            CUDA.format(128),
            False,
            "Configured CUDA binary not found at libbitsand",
        ),
        ("0.50.2", "nearest below", CUDA.format(126), True, ""),
        ("0.50.2", "nearest above", CUDA.format(121), True, ""),
        ("0.50.2", "another major alone", CUDA.format(126), False, "No compatible CUDA binary found at "),
        ("0.50.2", "variable, no number", "", False, "BNB_CUDA_VERSION='abc': value must be digits only"),
        ("0.50.2", "variable, empty", "", False, "BNB_CUDA_VERSION=''"),
        ("0.49.2", "variable, empty", CUDA.format(126), True, ""),
        ("0.49.2", "variable, no number", CUDA.format("abc"), False, "Configured CUDA binary not found"),
        (
            "0.43.1",
            "variable, there, an old GPU",
            CPU,
            True,
            "",
        ),  # "..._nocublaslt118.so", bitsandbytes #1312
        ("0.50.2", "variable, absent", CUDA.format(999), False, "No compatible CUDA binary"),
        ("0.50.2", "CPU build and variable", CPU, True, ""),
        ("0.50.2", "variable, no GPU", CPU, True, ""),
        ("0.47.0", "nothing for the CPU", CPU, False, "libbitsandbytes_cpu.so: cannot open shared object"),
        ("0.50.2", "nothing for the CPU", CPU, False, ""),
        ("0.45.5", "ROCm", "", False, "'NoneType' object has no attribute 'split'"),
        ("0.49.2", "ROCm", "libbitsandbytes_rocm64.so", True, ""),
        ("0.49.2", "ROCm and variable", "", False, "BNB_CUDA_VERSION=72 detected for ROCm!!"),
        ("0.50.2", "ROCm and variable", "libbitsandbytes_rocm72.so", True, ""),
        ("0.50.2", "ROCm, nearest", "libbitsandbytes_rocm72.so", True, ""),
        ("0.50.2", "XPU", "libbitsandbytes_xpu2026.so", True, ""),
        ("0.48.2", "XPU", "libbitsandbytes_xpu.so", True, ""),
    ],
)
def test_choice(release: str, case: str, library: str, is_there: bool, error: str) -> None:
    choice = choice_of(release, CASES[case])
    assert choice is not None
    assert (choice.library, choice.is_there) == (library, is_there)
    assert choice.error.startswith(error) and bool(choice.error) is bool(error)
    assert choice.because


def test_what_is_asked_for_is_told_where_another_stands_in() -> None:
    near, cpu = (choice_of(release, CASES["nearest below"]) for release in ("0.50.2", "0.45.5"))
    assert near and cpu
    assert near.asked == cpu.asked == CUDA.format(128)
    assert near.because == "it has none for CUDA 12.8, and this is the nearest of the same major"
    assert cpu.because == f"it has no {CUDA.format(128)} and takes its CPU library instead"


def test_each_system_has_its_own_ending() -> None:
    for end, case in ((".dll", Case(files=("libbitsandbytes_cuda126.dll",))), (".so", Case())):
        choice = choice_of("0.50.2", case)
        assert choice and choice.library == f"libbitsandbytes_cuda126{end}"
    mac = choice_of("0.50.2", Case(cuda=None, gpu=False, files=("libbitsandbytes_cpu.dylib",)))
    assert mac and (mac.library, mac.is_there) == ("libbitsandbytes_cpu.dylib", True)


@pytest.mark.parametrize("version", ["0.39.1", "0.40.1", "", "not a version"])
def test_a_rule_that_goes_by_the_system_s_cuda_cannot_be_told(version: str) -> None:
    assert choice_of(version, CASES["exact"]) is None


def test_a_twin_cannot_be_told_without_the_gpu() -> None:
    assert choose("0.42.0", ALL, "11.8", None, True, None, None) is None
    assert choose("0.50.2", ALL, "11.8", None, True, None, None) is not None


def test_an_intel_build_of_an_unknown_year_cannot_be_told() -> None:
    assert choose("0.50.2", ALL, None, None, False, None, None, xpu="") is None


def test_the_variable_for_rocm_has_a_name_of_its_own_since_0_50() -> None:
    assert override_variable("0.49.2", "6.4") == override_variable("0.50.2", None) == "BNB_CUDA_VERSION"
    assert override_variable("0.50.2", "6.4") == "BNB_ROCM_VERSION"


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_what_is_said_to_be_there_is_there(release: str, case: Case) -> None:
    choice = choice_of(release, case)
    assert choice is not None
    assert choice.is_there is (choice.library in case.files)
    assert not (choice.is_there and choice.error)


@given(have=st.sets(st.integers(110, 149)), wanted=st.integers(110, 149))
def test_the_nearest_is_of_the_same_major_and_below_before_above(have: set[int], wanted: int) -> None:
    files = [CUDA.format(digits) for digits in sorted(have)]
    question = Question("0.50.2", files, f"{wanted // 10}.{wanted % 10}", None, None, None)
    same = [digits for digits in have if digits // 10 == wanted // 10]
    below = [digits for digits in same if digits < wanted]
    best = max(below) if below else min(same, default=None)
    assert nearest(question) == (CUDA.format(best) if best else None)


def build(**fields: Any) -> TorchBuild:
    return TorchBuild(
        **{"version": "2.13.0", "cuda_version": None, "hip_version": None, "variant": "", **fields}
    )


OURS = BitsandbytesBuild(version="0.50.2", libraries=ALL, expected=None, override=None)
GPUS = tuple(
    Gpu(index=index, name="", compute_capability=at, memory_total_bytes=None, memory_free_bytes=None)
    for index, at in enumerate(("7.5", "12.0", "9.0"))
)
AMD = Accelerator(vendor="amd", name="")


@pytest.mark.parametrize(
    ("torch", "devices", "env", "library"),
    [
        (build(cuda_version="12.6"), {"gpus": GPUS}, {}, CUDA.format(126)),
        (build(cuda_version="12.6"), {}, {}, CPU),
        (build(cuda_version="12.6"), {"gpus": GPUS}, {"CUDA_VISIBLE_DEVICES": ""}, CPU),
        (build(cuda_version="12.6"), {"gpus": GPUS}, {"CUDA_VISIBLE_DEVICES": " -1 "}, CPU),
        (build(cuda_version="12.6"), {"gpus": GPUS}, {"CUDA_VISIBLE_DEVICES": "1"}, CUDA.format(126)),
        (build(), {"gpus": GPUS}, {}, CPU),
        (build(hip_version="6.4.1"), {"gpus": GPUS, "accelerators": ()}, {}, CPU),
        (build(hip_version="6.4.1"), {"accelerators": (AMD,)}, {}, "libbitsandbytes_rocm64.so"),
        (build(hip_version="6.4.1"), {"accelerators": None}, {}, None),
        (build(xpu_version="20260101"), {}, {}, "libbitsandbytes_xpu2026.so"),
    ],
)
def test_what_a_machine_selects(
    torch: TorchBuild, devices: dict[str, Any], env: dict[str, str], library: str | None
) -> None:
    choice = select(OURS, torch, env=env, **devices)
    assert (choice.library if choice else None) == library


def test_the_best_gpu_decides_on_a_twin() -> None:
    """As numbers: "12.0" is more than "7.0"."""
    old = BitsandbytesBuild(version="0.43.3", libraries=ALL, expected=None, override=None)
    choice = select(old, build(cuda_version="11.8"), gpus=GPUS, env={})
    assert choice and choice.library == CUDA.format(118)
