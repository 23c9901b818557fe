"""Rules on machines and builds that are described and not seen: what the platform tables say of them.

They share ids with the rules on what is installed, which look at the files themselves.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from doctor.cures import install
from doctor.facts import Facts
from doctor.findings import Evidence, Fix
from doctor.matrix.bitsandbytes_builds import library_for, release_that_goes
from doctor.matrix.choosing import is_asked_for
from doctor.matrix.devices import Device, kinds, visible_devices
from doctor.matrix.drivers import first_branch, has_dropped, is_too_old_for, last_branch
from doctor.matrix.gpu_code import JETSON, sm
from doctor.matrix.machine import Machine
from doctor.matrix.releases import releases_of
from doctor.matrix.torch_builds import cuda_of
from doctor.rules import Hit, Rule
from doctor.rules.bitsandbytes_code import library_hits
from doctor.rules.driver_builds import EVERYTHING

BREAKS = ("load-4bit", "qlora-step")
LIBRARY_PAGE = """The bitsandbytes release that a file asks for has no library for torch's CUDA

Why: a release ships libraries for the CUDA versions of its day.

Fix: ask for the first release that has one."""
CODE_PAGE = """The bitsandbytes release that a file asks for has no kernels for this GPU

Why: each library is built for one CUDA and a list of GPUs.

Fix: ask for the nearest release whose library has the code, else for a torch of another CUDA."""

DRIVER_PAGE = """The driver that is described does not drive the GPU that is described

Why: a driver drives the GPUs that were there when it was made, until a branch drops them. RTX 50 and B200
need branch 570, RTX 40 and H100 need 520; branch 580 is the last for Maxwell, Pascal and Volta (GTX 900 and
10, P100, V100), and 470 for Kepler (K80).

Fix: a driver of the GPU's first branch or newer, and none beyond its last.

References: https://docs.nvidia.com/datacenter/tesla/drivers/cuda-toolkit-driver-and-architecture-matrix.html"""


@cache
def build_rules() -> tuple[Rule, ...]:
    """A library that is not shipped, a GPU that it has no code for, a GPU that the driver does not drive."""
    needs = ("packages", "torch", "gpus", "system", "interpreter")
    missing, code = "bitsandbytes/native-library-missing", "bitsandbytes/gpu-arch-missing"
    return (
        Rule(missing, "error", needs, BREAKS, (), lambda: LIBRARY_PAGE, library_missing),
        Rule(code, "error", needs, BREAKS, (), lambda: CODE_PAGE, code_missing),
        Rule(
            "driver/gpu-not-supported",
            "error",
            ("driver", "gpus"),
            EVERYTHING,
            (),
            lambda: DRIVER_PAGE,
            undriven,
        ),
    )


def is_judged(facts: Facts) -> bool:
    """Do the facts come from a file that asks for a CUDA build of torch?"""
    return is_asked_for(facts) and facts.torch is not None and bool(cuda_of(facts.torch.variant))


def code_missing(facts: Facts) -> Iterator[Hit]:
    """A hit where the stated bitsandbytes has no code for a GPU that the stated torch serves."""
    version = facts.version_of("bitsandbytes")
    if version and is_judged(facts):
        yield from library_hits(facts, version)


def library_missing(facts: Facts) -> Iterator[Hit]:
    """A hit where the stated bitsandbytes ships no library that goes with the stated torch."""
    version = facts.version_of("bitsandbytes")
    if not version or not is_judged(facts):
        return
    assert facts.torch
    machine, variant = Machine.of(facts), facts.torch.variant
    known = [one.version for one in releases_of("bitsandbytes")]
    if version not in known or library_for(version, variant, machine):
        return
    first = release_that_goes(version, variant, machine)
    is_later = first and known.index(first) > known.index(version)
    yield Hit(
        title=f"bitsandbytes {version} ships no library for torch's CUDA {cuda_of(variant)}",
        confidence="likely",
        evidence=(
            Evidence("bitsandbytes", version, f"a release with a library for CUDA {cuda_of(variant)}"),
            Evidence("torch", facts.torch.version),
        ),
        fixes=(install(facts, f"Upgrade bitsandbytes to {first} or newer", f"bitsandbytes>={first}"),)
        if is_later
        else (),
    )


def undriven(facts: Facts) -> Iterator[Hit]:
    """One hit for each GPU that a described driver does not drive; what a real driver shows it drives."""
    assert facts.driver
    version = facts.driver.version
    for device in kinds(visible_devices(facts)) if facts.driver.source == "stated" and version else ():
        if device.capability in JETSON:
            continue
        if is_too_old_for(version, device.capability):
            branch = f"branch {first_branch(device.capability)} or newer"
            yield undriven_hit(version, device, "is older than", branch)
        last = last_branch(device.capability)
        if last and has_dropped(version, device.capability):
            yield undriven_hit(
                version, device, "no longer drives", f"branch {last['branch']}, the last for it"
            )


def undriven_hit(version: str, device: Device, says: str, branch: str) -> Hit:
    """The hit for one GPU."""
    gpu = f"{device.name}, {sm(device.capability)}"
    return Hit(
        title=f"NVIDIA driver {version} {says} {device.name}",
        confidence="likely",
        evidence=(Evidence("driver", version, branch), Evidence("gpu", gpu)),
        fixes=(Fix(f"Install an NVIDIA driver of {branch}", scope="system"),),
    )
