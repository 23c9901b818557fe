"""The libraries of bitsandbytes by the table: which goes with a build of torch, and its code for a GPU.

For what is installed its files tell more; this is for what is not, and for what was not looked into.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from packaging.version import Version

from doctor.linking.choice import choose
from doctor.matrix.gpu_code import Fit, fit
from doctor.matrix.machine import Machine
from doctor.matrix.platform import holds_libraries, table
from doctor.matrix.releases import releases_of
from doctor.matrix.torch_builds import cuda_of
from doctor.versions import comparable


def library_for(bitsandbytes: str, variant: str, machine: Machine) -> str:
    """The CUDA of the library that bitsandbytes loads beside a build of torch: "126", "cpu", "" for none."""
    for wheel in rows_of("wheel", bitsandbytes):
        if holds_libraries(wheel["platform"], machine.os, machine.arch):
            if variant == "cpu":
                return "cpu" if wheel.get("cpu", True) else ""
            return chosen(bitsandbytes, variant.removeprefix("cu"), tuple(wheel["cuda"]))
    return ""


@cache
def chosen(bitsandbytes: str, wanted: str, libraries: tuple[str, ...]) -> str:
    """The library that a release takes for a CUDA ("126"), "" for none."""
    files = [f"libbitsandbytes_cuda{digits}.so" for digits in libraries]
    choice = choose(bitsandbytes, files, cuda_of(f"cu{wanted}"), None, True, None, "7.5")
    if choice is None or not choice.is_there:
        return ""
    return choice.library.removeprefix("libbitsandbytes_cuda").removesuffix(".so")


def goes_with(bitsandbytes: str, variant: str, machine: Machine) -> bool:
    """Does a bitsandbytes ship a library for a torch build, with code for every GPU as far as known?"""
    library = library_for(bitsandbytes, variant, machine)
    if library in ("", "cpu"):
        return bool(library)
    fits = {library_fit(bitsandbytes, library, capability, machine) for capability in machine.capabilities}
    return fits <= {"native", "unknown"}


def library_fit(bitsandbytes: str, library: str, capability: str, machine: Machine) -> Fit:
    """How the library for a CUDA ("126") in the wheel of a release suits a GPU, by the table."""
    if is_below_all(capability):
        return "older"
    fits = [
        fit([*row["sm"], row["ptx"]], capability, cuda_of("cu" + library))
        for row in rows_of("target", bitsandbytes)
        if row["arch"] == machine.arch and library in row["cuda"]
    ]
    return "native" if "native" in fits else next(iter(fits), "unknown")


def is_below_all(capability: str) -> bool:
    """Is a GPU older than all that any release has code for?"""
    floor, known = comparable(table("bitsandbytes_builds")["lowest"][0]["capability"]), comparable(capability)
    return bool(floor and known and known < floor)


def release_that_goes(bitsandbytes: str, variant: str, machine: Machine) -> str:
    """The nearest release that goes with a torch build: the first later one, else the last earlier one.

    "" where there is none, or the table does not have the release that is asked about.
    """
    known = [one.version for one in releases_of("bitsandbytes") if not one.yanked]
    if bitsandbytes not in known:
        return ""
    place = known.index(bitsandbytes)
    nearest = (*known[place + 1 :], *reversed(known[:place]))
    return next((one for one in nearest if rows_of("wheel", one) and goes_with(one, variant, machine)), "")


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
