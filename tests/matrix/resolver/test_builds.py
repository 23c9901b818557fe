"""Which bitsandbytes goes with which build of torch, by the listings of its wheels."""

from __future__ import annotations

import pytest

from doctor.matrix.resolver import Machine
from doctor.matrix.resolver.builds import cuda_of, goes_with, library_for, runs_on

LINUX, ARM, WINDOWS = Machine(), Machine(arch="aarch64"), Machine(os="win32")
MAC = Machine(os="darwin", arch="aarch64")


@pytest.mark.parametrize(
    ("release", "variant", "machine", "library"),
    [
        ("0.42.0", "cu118", LINUX, "118"),
        ("0.42.0", "cu124", LINUX, ""),
        ("0.45.5", "cu130", LINUX, ""),
        ("0.48.0", "cu130", LINUX, "130"),
        ("0.49.2", "cu132", LINUX, ""),  # only the exact CUDA is looked for
        ("0.50.2", "cu134", LINUX, "132"),  # the nearest of the same major
        ("0.50.2", "cu129", LINUX, "128"),
        ("0.45.5", "cu126", ARM, ""),  # the first wheels for aarch64 are those of 0.46.0
        ("0.46.0", "cu126", ARM, "126"),
        ("0.42.0", "cu118", WINDOWS, ""),  # its wheel "any" holds libraries for Linux alone
        ("0.43.0", "cu118", WINDOWS, "118"),
        ("0.48.2", "cpu", MAC, ""),
        ("0.49.0", "cpu", MAC, "cpu"),
        ("0.45.4", "cpu", LINUX, ""),  # its CPU library was forgotten
        ("0.45.5", "cpu", LINUX, "cpu"),
    ],
)
def test_the_library_that_is_loaded(release: str, variant: str, machine: Machine, library: str) -> None:
    assert library_for(release, variant, machine) == library


@pytest.mark.parametrize(
    ("release", "variant", "capability", "goes"),
    [
        ("0.47.0", "cu126", "5.2", True),  # runs sm_50
        ("0.48.0", "cu126", "5.2", False),  # Maxwell left the wheels
        ("0.50.2", "cu126", "6.1", True),
        ("0.50.2", "cu130", "7.0", False),
        ("0.45.2", "cu126", "12.0", False),
        ("0.45.5", "cu128", "12.0", True),
        ("0.42.0", "cu118", "3.7", False),
        ("0.42.0", "cu118", "8.6", True),  # what it has code for is not listed
    ],
)
def test_the_code_in_it(release: str, variant: str, capability: str, goes: bool) -> None:
    assert goes_with(release, variant, Machine(capabilities=(capability,))) is goes


@pytest.mark.parametrize(
    ("sm", "capability", "cuda", "runs"),
    [
        (["sm_80"], "8.7", "13.0", False),
        (["sm_80"], "8.7", "13.2", True),
        (["sm_87"], "8.7", "12.6", True),
        (["sm_80"], "8.9", "12.6", True),
        (["sm_70"], "7.2", "12.6", False),
        (["sm_120"], "12.1", "13.0", True),
    ],
)
def test_jetson_runs_the_code_of_others_from_cuda_13_2_on(
    sm: list[str], capability: str, cuda: str, runs: bool
) -> None:
    assert runs_on(sm, capability, cuda) is runs


def test_cuda_of_a_build() -> None:
    assert (cuda_of("cu126"), cuda_of("cu118"), cuda_of("cpu")) == ("12.6", "11.8", "")
