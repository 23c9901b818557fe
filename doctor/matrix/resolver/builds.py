"""The platform tables, asked for one machine: which builds of torch run, and which bitsandbytes beside."""

from __future__ import annotations

from functools import cache
from typing import Any

from packaging.version import Version

from doctor.matrix.platform import driver_reaches, has_code_for, holds_libraries, table
from doctor.matrix.resolver.machine import Machine
from doctor.versions import comparable

# GPUs on one chip with their processor: until CUDA 13.2 no code for other GPUs of their major runs on them.
JETSON = ("5.3", "6.2", "7.2", "8.7")
JETSON_UNITED = (13, 2)


def cuda_of(variant: str) -> str:
    """torch's CUDA of a build: "12.6" of "cu126", "" of "cpu"."""
    digits = variant.removeprefix("cu")
    return f"{digits[:-1]}.{digits[-1]}" if digits.isdigit() else ""


def minor_of(release: str) -> str:
    """The minor release by which the tables go: "2.7" of "2.7.1"."""
    return ".".join(release.split(".")[:2])


@cache
def variants(minor: str, machine: Machine) -> tuple[str, ...]:
    """The builds of a minor release of torch that this machine can use, the best one last.

    The build that torch's own index gives without asking is best, for most people run it; then newer CUDA.
    """
    if not machine.wants_cuda:
        return ("cpu",)
    plain = next((row["plain"] for row in table("torch_builds")["minor"] if row["torch"] == minor), "")
    usable = [build["variant"] for build in builds_of(minor) if not obstacle(build, machine)]
    return tuple(sorted(usable, key=lambda variant: (variant == plain, cuda_number(variant))))


def cuda_number(variant: str) -> int:
    """CUDA as a number that sorts: 126 of "cu126"."""
    return int(variant.removeprefix("cu"))


def builds_of(minor: str) -> list[dict[str, Any]]:
    """The CUDA builds that the table has of a minor release."""
    return [build for build in table("torch_builds")["build"] if build["torch"] == minor]


def obstacle(build: dict[str, Any], machine: Machine) -> str:
    """Why a build is of no use here, in half a sentence; "" where it is of use."""
    cuda = cuda_of(build["variant"])
    if build["arch"] != machine.arch:
        return f"is not known to be built for {machine.arch}"
    if build.get("expected"):
        return "is not known to be published"
    if machine.torch_cuda and machine.torch_cuda != cuda:
        return f"is for CUDA {cuda}"
    if machine.driver and not driver_reaches(build["variant"], machine.driver, machine.os):
        return f"needs a newer driver than {machine.driver}"
    for capability in machine.capabilities:
        if not runs_on(build["sm"], capability, cuda):
            return f"has no code for compute capability {capability}"
    return ""


def runs_on(sm: list[str], capability: str, cuda: str) -> bool:
    """Does a build with code for these architectures run on a GPU, the exception of Jetson included?

    Source: DEVICE_REQUIREMENT in torch/cuda/__init__.py, and its second table from torch 2.14 on.
    """
    if capability in JETSON and tuple(int(part) for part in cuda.split(".")) < JETSON_UNITED:
        return f"sm_{capability.replace('.', '')}" in sm
    return has_code_for(sm, capability)


def library_for(bitsandbytes: str, variant: str, machine: Machine) -> str:
    """The CUDA of the library that bitsandbytes loads beside a build of torch: "126", "cpu", "" for none."""
    for wheel in rows_of("wheel", bitsandbytes):
        if holds_libraries(wheel["platform"], machine.os, machine.arch):
            if variant == "cpu":
                return "cpu" if wheel.get("cpu", True) else ""
            return chosen(bitsandbytes, variant.removeprefix("cu"), wheel["cuda"])
    return ""


def chosen(bitsandbytes: str, wanted: str, libraries: list[str]) -> str:
    """The library for exactly this CUDA or, in releases that look for one, the nearest of the same major."""
    if wanted in libraries:
        return wanted
    near = [digits for digits in libraries if digits[:-1] == wanted[:-1]]
    looks = any(row["fallback"] == "same-major" for row in rows_of("selection", bitsandbytes))
    return min(near, key=lambda digits: abs(int(digits) - int(wanted))) if looks and near else ""


def goes_with(bitsandbytes: str, variant: str, machine: Machine) -> bool:
    """Does a bitsandbytes ship a library for a torch build that has code for every GPU?"""
    library = library_for(bitsandbytes, variant, machine)
    return bool(library) and all(
        has_library_code(bitsandbytes, library, capability, machine) for capability in machine.capabilities
    )


def has_library_code(bitsandbytes: str, library: str, capability: str, machine: Machine) -> bool:
    """Has the library code for the GPU? True where that is not known of a GPU that wheels were made for."""
    if library == "cpu":
        return True
    floor = comparable(table("bitsandbytes_builds")["lowest"][0]["capability"])
    known = comparable(capability)
    if floor and known and known < floor:
        return False
    targets = [
        row
        for row in rows_of("target", bitsandbytes)
        if machine.os == "linux" and row["arch"] == machine.arch and library in row["cuda"]
    ]
    return not targets or any(runs_on(row["sm"], capability, cuda_of("cu" + library)) for row in targets)


@cache
def rows_of(kind: str, bitsandbytes: str) -> tuple[dict[str, Any], ...]:
    """The rows of the table that speak of one release of bitsandbytes."""
    version = comparable(bitsandbytes)
    return tuple(
        row for first, last, row in bounded(kind) if version and first and last and first <= version <= last
    )


@cache
def bounded(kind: str) -> tuple[tuple[Version | None, Version | None, dict[str, Any]], ...]:
    """The rows of a kind with the releases that they hold for."""
    rows = table("bitsandbytes_builds")[kind]
    return tuple((comparable(row["first"]), comparable(row["last"]), row) for row in rows)
