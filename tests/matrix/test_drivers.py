"""Drivers by the table: the floor of each CUDA major, PTX, and the first and last branch of a GPU."""

from __future__ import annotations

import pytest

from doctor.matrix.drivers import (
    Side,
    driver_floor,
    driver_reaches,
    first_branch,
    has_dropped,
    is_too_old_for,
    last_branch,
    offered_cuda,
    ptx_floor,
)
from doctor.matrix.gpu_code import numbers
from doctor.matrix.platform import table


@pytest.mark.parametrize(
    ("cuda", "driver", "side", "reaches"),
    [
        ("11.8", "470.82.01", "linux", True),  # any driver of the major's first branch or newer
        ("11.8", "450.80.02", "linux", True),
        ("11.8", "450.51.06", "linux", False),
        ("12.1", "470.256.02", "linux", False),
        ("12.6", "525.60.13", "linux", True),
        ("12.0", "526.98", "windows", False),
        ("12.9", "527.41", "windows", True),
        ("13.0", "550.54.15", "linux", False),
        ("13.0", "580.65.06", "linux", True),
        ("13.2", "580.65.06", "linux", True),
        ("12.6", "610.43.02", "linux", True),  # newer drivers run older majors
        ("10.2", "610.43.02", "linux", False),  # of which the table knows nothing
        ("12.6", "garbage", "linux", False),
    ],
)
def test_the_floor_of_a_major(cuda: str, driver: str, side: Side, reaches: bool) -> None:
    assert driver_reaches(cuda, driver, side) is reaches


@pytest.mark.parametrize(
    ("driver", "side", "cuda"),
    [
        ("470.82.01", "linux", "11.4"),
        ("535.104.05", "linux", "12.2"),
        ("546.80", "windows", "12.3"),
        ("580.95.05", "linux", "13.0"),
        ("616.41", "windows", "13.4"),  # no Windows driver is listed for 13, so its branch decides
        ("390.157", "linux", ""),
    ],
)
def test_what_a_driver_offers(driver: str, side: Side, cuda: str) -> None:
    assert offered_cuda(driver, side) == cuda


def test_ptx_needs_the_driver_of_its_own_cuda() -> None:
    assert ptx_floor("12.8", "linux") == "570.26"
    assert ptx_floor("12.8", "windows") == "570.65"
    assert ptx_floor("13.4", "linux") == "615"
    assert ptx_floor("9.2", "linux") == ""


@pytest.mark.parametrize(
    ("capability", "branch", "cuda"), [("3.7", "470", "11.8"), ("5.2", "580", "12.9"), ("7.0", "580", "12.9")]
)
def test_the_last_branch_of_a_gpu(capability: str, branch: str, cuda: str) -> None:
    row = last_branch(capability)
    assert row and (row["branch"], row["cuda"]) == (branch, cuda)
    assert not has_dropped(f"{branch}.256.02", capability)
    assert has_dropped("590.48.01", capability)
    assert last_branch("7.5") is None and not has_dropped("999.1", "7.5")


@pytest.mark.parametrize(
    ("capability", "branch"), [("12.0", "570"), ("12.1", "575"), ("8.9", "520"), ("6.1", "")]
)
def test_the_first_branch_of_a_gpu(capability: str, branch: str) -> None:
    assert first_branch(capability) == branch
    assert is_too_old_for("450.80.02", capability) is bool(branch)
    assert not is_too_old_for("610.43.02", capability)


def test_the_table_descends_and_its_bounds_agree() -> None:
    rows = table("cuda_driver")["minor"]
    assert [numbers(row["cuda"]) for row in rows] == sorted(
        (numbers(row["cuda"]) for row in rows), reverse=True
    )
    for row in rows:  # the driver of a minor release reaches the floor of its major
        for side in ("linux", "windows"):
            if side in row and row["cuda"] != "11.0":
                assert driver_reaches(row["cuda"], row[side], side)
            assert driver_floor(row["cuda"], side)
