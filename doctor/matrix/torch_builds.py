"""The CUDA builds of torch by the table: which run on one machine, and what holds off the others."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from doctor.facts import Facts
from doctor.matrix.gpu_code import fit
from doctor.matrix.machine import Machine
from doctor.matrix.platform import table

PUBLISHED = re.compile(r"\d+(\.\d+){1,2}(\.post\d+)?(\+(cpu|cu\d+))?")


def cuda_of(variant: str) -> str:
    """torch's CUDA of a build: "12.6" of "cu126", "" of "cpu"."""
    digits = variant.removeprefix("cu")
    return f"{digits[:-1]}.{digits[-1]}" if digits.isdigit() else ""


def is_published(version: str) -> bool:
    """Is it a release as torch's own index has it? A nightly and a build of NVIDIA's containers are none."""
    return PUBLISHED.fullmatch(version) is not None


def minor_of(release: str) -> str:
    """The minor release by which the tables go: "2.7" of "2.7.1"."""
    return ".".join(release.split(".")[:2])


def runs_on_driver(variant: str, facts: Facts) -> bool:
    """Does the driver of these facts run a CUDA build? False where no driver is known."""
    cuda = cuda_of(variant)
    return bool(cuda) and facts.driver is not None and Machine.of(facts).driver_runs(cuda)


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


def architectures_of(minor: str, variant: str, arch: str) -> tuple[str, ...]:
    """What a build has code for, as torch.cuda.get_arch_list() gives it; () where the table has it not."""
    builds = (build for build in builds_of(minor) if (build["variant"], build["arch"]) == (variant, arch))
    return next((tuple(build["sm"]) for build in builds), ())


def obstacle(build: dict[str, Any], machine: Machine) -> str:
    """Why a build is of no use here, in half a sentence; "" where it is of use."""
    cuda = cuda_of(build["variant"])
    if build["arch"] != machine.arch or (machine.os == "win32" and machine.arch != "x86_64"):
        return f"is not known to be built for {machine.arch}"
    if build.get("expected"):
        return "is not known to be published"
    if machine.torch_cuda and machine.torch_cuda != cuda:
        return f"is for CUDA {cuda}"
    if machine.has_driver and not machine.driver_runs(cuda):
        return f"needs a newer driver than {machine.driver or machine.driver_words}"
    return next((why for one in machine.capabilities if (why := gpu_obstacle(build, one, machine))), "")


def gpu_obstacle(build: dict[str, Any], capability: str, machine: Machine) -> str:
    """Why a build does not run on one GPU of the machine. PTX does not count: it asks more of a driver."""
    if fit(build["sm"], capability, cuda_of(build["variant"])) != "native":
        return f"has no code for compute capability {capability}"
    undriven = machine.why_undriven(capability)
    return f"is of no use: {undriven}" if undriven else ""
