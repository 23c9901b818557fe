"""NVIDIA drivers: which CUDA each offers, which GPUs it drives, and what a build asks of it.

Within a CUDA major a driver of its first branch runs every release (minor version compatibility), and a newer
driver runs older majors. PTX is outside of that: only a driver of the very CUDA that made it, or a newer one,
translates it. Sources: ``compat_matrix/platform/cuda_driver.toml``.
"""

from __future__ import annotations

from typing import Any, Literal

from doctor.matrix.gpu_code import numbers
from doctor.matrix.platform import table
from doctor.versions import Interval, comparable

Side = Literal["linux", "windows"]  # whose numbers a driver has; those of WSL are of Windows


def driver_floor(cuda: str, side: Side) -> str:
    """The first driver for the major of a CUDA: "525.60.13" for "12.6" on Linux; "" where none is known."""
    return next((row[side] for row in table("cuda_driver")["major"] if row["cuda"] == major_of(cuda)), "")


def driver_reaches(cuda: str, driver: str, side: Side) -> bool:
    """Does a driver reach the first one of the major of a CUDA?"""
    return is_at_least(driver, driver_floor(cuda, side))


def ptx_floor(cuda: str, side: Side) -> str:
    """The first driver that translates PTX of a CUDA, or its branch; "" where it is not known."""
    row = next((row for row in table("cuda_driver")["minor"] if row["cuda"] == cuda), None)
    return row.get(side, row["branch"]) if row else ""


def offered_cuda(driver: str, side: Side) -> str:
    """The newest CUDA that a driver offers, by the table: "12.2" for 535.104.05; "" below all of it."""
    rows = table("cuda_driver")["minor"]  # newest first
    return next((row["cuda"] for row in rows if is_at_least(driver, row.get(side, row["branch"]))), "")


def last_branch(capability: str) -> dict[str, Any] | None:
    """The last ``branch`` and ``cuda`` for a GPU that NVIDIA dropped; None for one that it still supports."""
    rows = table("cuda_driver")["last_branch"]
    return next((row for row in rows if Interval(**row["compute_capability"]).contains(capability)), None)


def first_branch(capability: str) -> str:
    """The branch of the first driver that can know a GPU: that of the first CUDA which does, or ""."""
    rows = table("cuda_driver")["first_cuda"]
    cuda = next((row["cuda"] for row in rows if row["compute_capability"] == capability), "")
    return next((row["branch"] for row in table("cuda_driver")["minor"] if row["cuda"] == cuda), "")


def is_too_old_for(driver: str, capability: str) -> bool:
    """Was a driver there before the GPU was?"""
    return not is_at_least(driver, first_branch(capability) or "0")


def has_dropped(driver: str, capability: str) -> bool:
    """Is a driver of a branch that no longer drives the GPU?"""
    last = last_branch(capability)
    return last is not None and numbers(driver)[:1] > numbers(last["branch"])


def major_of(cuda: str) -> str:
    """ "12" of "12.6"."""
    return cuda.partition(".")[0]


def is_at_least(driver: str, floor: str) -> bool:
    """Does a driver reach another? False where either is unknown."""
    have, need = comparable(driver), comparable(floor)
    return bool(have and need and have >= need)
