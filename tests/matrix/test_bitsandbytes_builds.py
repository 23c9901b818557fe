"""Which bitsandbytes goes with which build of torch, by the listings of its wheels."""

from __future__ import annotations

import pytest

from doctor.matrix.bitsandbytes_builds import goes_with, library_fit, library_for, release_that_goes
from doctor.matrix.machine import Machine

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
        ("0.42.0", "cu118", "8.6", True),
    ],
)
def test_the_code_in_it(release: str, variant: str, capability: str, goes: bool) -> None:
    assert goes_with(release, variant, Machine(capabilities=(capability,))) is goes


@pytest.mark.parametrize(
    ("release", "library", "capability", "machine", "how"),
    [
        ("0.50.2", "126", "7.0", LINUX, "native"),
        ("0.50.2", "130", "7.0", LINUX, "older"),  # CUDA 13 dropped Volta
        ("0.50.2", "126", "5.2", LINUX, "older"),  # Maxwell left the wheels in 0.48
        ("0.47.0", "126", "5.2", LINUX, "native"),
        ("0.50.2", "118", "3.7", LINUX, "older"),  # Kepler was in none
        ("0.45.2", "126", "12.0", LINUX, "ptx"),
        ("0.45.3", "128", "12.0", LINUX, "native"),
        ("0.43.0", "118", "9.0", LINUX, "ptx"),  # the script left sm_90 out, not compute_89
        ("0.46.0", "128", "12.1", ARM, "ptx"),
        ("0.49.0", "130", "12.1", ARM, "native"),
        ("0.50.2", "126", "9.0", WINDOWS, "native"),
        ("0.50.2", "130", "7.0", WINDOWS, "older"),
        ("0.41.0", "118", "6.1", LINUX, "native"),  # by its twin without cublasLt
        ("0.41.0", "118", "12.0", LINUX, "newer"),  # releases up to 0.42 hold no PTX
        ("0.50.2", "134", "12.1", Machine(os="win32", arch="aarch64"), "unknown"),
        ("0.99.0", "126", "9.0", LINUX, "unknown"),
    ],
)
def test_how_a_library_suits_a_gpu(
    release: str, library: str, capability: str, machine: Machine, how: str
) -> None:
    assert library_fit(release, library, capability, machine) == how


@pytest.mark.parametrize(
    ("release", "variant", "capability", "other"),
    [
        ("0.45.2", "cu128", "12.0", "0.45.3"),  # the first later one
        ("0.50.2", "cu126", "5.2", "0.47.0"),  # the last earlier one
        ("0.42.0", "cu124", "8.6", "0.43.1"),
        ("0.50.2", "cu130", "7.0", ""),
        ("99.0", "cu126", "8.6", ""),  # a release that the table does not have
    ],
)
def test_the_nearest_release_that_goes(release: str, variant: str, capability: str, other: str) -> None:
    assert release_that_goes(release, variant, Machine(capabilities=(capability,))) == other
