"""Which torch to put in place of one that cannot work here: of this release, else of the nearest."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from doctor.facts import Facts
from doctor.matrix.bitsandbytes_builds import goes_with
from doctor.matrix.drivers import driver_floor, first_branch, is_at_least, last_branch
from doctor.matrix.gpu_code import numbers
from doctor.matrix.machine import Machine
from doctor.matrix.platform import table
from doctor.matrix.releases import releases_of
from doctor.matrix.torch_builds import cuda_of, is_published, minor_of, variants
from doctor.versions import comparable


class TorchChoice(NamedTuple):
    """A torch release and the CUDA build of it."""

    release: str  # "2.13.0+cu126", or "2.14.*" where another release is wanted
    variant: str  # "cu126"


def torch_for(facts: Facts) -> TorchChoice | None:
    """The torch build for this driver, these GPUs and this Python that changes the least.

    None where the driver of a machine is not known, or no published build suits all of them. A file is
    judged without a driver too: the GPU alone decides there.
    """
    machine = Machine.of(facts)
    if not machine.has_driver and not is_asked_for(facts):
        return None
    return nearest_build(facts, machine)


def torch_since(facts: Facts, first: str) -> TorchChoice | None:
    """The nearest build from a release on that this driver and these GPUs run, None where none is known."""
    if facts.torch is None or facts.driver is None:
        return None
    there = msgspec.structs.replace(facts.torch, version=first)
    choice, bound = torch_for(msgspec.structs.replace(facts, torch=there)), comparable(first)
    release = comparable(choice.release.removesuffix(".*")) if choice else None
    return choice if release and bound and release >= bound else None


def is_asked_for(facts: Facts) -> bool:
    """Do the facts come from a file, so that there is nothing to look at?"""
    return facts.packages is not None and facts.packages.wanted is not None


def nearest_build(facts: Facts, machine: Machine) -> TorchChoice | None:
    """The build of the release that is there, else of the nearest that has one; the newest without torch."""
    if not machine.wants_cuda:
        return None
    torch = facts.torch.version if facts.torch else ""
    release = public_release(torch)
    for minor in minors_by_nearness(facts):
        usable = variants(minor, machine) if has_python(minor, machine) else ()
        if usable:
            variant = preferred(usable, facts, machine)
            # The label makes an installer replace the build that is there: "2.13.0" is what it has already.
            same = f"{release}+{variant}"
            return TorchChoice(same if minor_of(release) == minor else f"{minor}.*", variant)
    return None


def public_release(version: str) -> str:
    """The release that a build is of, where the index has it: "2.13.0" of "2.13.0+rocm7.1"; else ""."""
    release = version.partition("+")[0]
    known = any(one.version == release for one in releases_of("torch"))
    return release if known or is_published(version) else ""


def minors_by_nearness(facts: Facts) -> list[str]:
    """The minor releases of the table, the one that is there first; the newer of two that are as near."""
    minors: list[str] = [row["torch"] for row in table("torch_builds")["minor"]]
    installed = comparable(facts.torch.version) if facts.torch else None
    newest_first = minors[::-1]
    if installed is None:
        return newest_first
    here = installed.major * 100 + installed.minor
    return sorted(newest_first, key=lambda minor: abs(place_of(minor) - here))


def place_of(minor: str) -> int:
    """A minor release as a number that can be subtracted: 213 of "2.13"."""
    major, rest = numbers(minor)
    return major * 100 + rest


def has_python(minor: str, machine: Machine) -> bool:
    """Were wheels of this torch published for a Python? Every build is taken to come for the same ones."""
    releases = [known for known in releases_of("torch") if known.version.startswith(f"{minor}.")]
    return any(known.has_wheel(machine.minor, machine.os, machine.arch) for known in releases)


def preferred(usable: tuple[str, ...], facts: Facts, machine: Machine) -> str:
    """The best build of those that run, for which the bitsandbytes that is there has a library."""
    version = facts.version_of("bitsandbytes")
    served = [variant for variant in usable if version and goes_with(version, variant, machine)]
    return (served or list(usable))[-1]


def driver_for(facts: Facts) -> str:
    """The first driver with which some torch build would suit these GPUs; "" where none would."""
    machine = Machine.of(facts)
    free = msgspec.structs.replace(machine, driver="", driver_cuda="")
    choice = nearest_build(facts, free) if machine.capabilities else None
    return driver_of(cuda_of(choice.variant), machine) if choice else ""


def driver_of(cuda: str, machine: Machine) -> str:
    """The first driver that runs a CUDA and drives the GPUs of a machine; "" where none does both."""
    floor = driver_floor(cuda, machine.side)
    for branch in (first_branch(capability) for capability in machine.capabilities):
        floor = branch if branch and not is_at_least(floor, branch) else floor
    is_driven = all(numbers(floor)[:1] <= numbers(branch) for branch in last_branches(machine))
    return floor if is_driven else ""


def last_branches(machine: Machine) -> Iterator[str]:
    """The last driver branch of each GPU that NVIDIA dropped."""
    for capability in machine.capabilities:
        last = last_branch(capability)
        if last:
            yield last["branch"]
