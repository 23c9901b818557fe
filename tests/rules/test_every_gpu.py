"""Every GPU by every driver branch by every build of torch: no blame without cause, no cure blamed.

Machines that cannot be are left out: a driver from before the GPU, or from after its last branch.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import healthy
import pytest
from healthy import but

from doctor.diagnosis import judge
from doctor.facts import Facts
from doctor.matrix.bitsandbytes_builds import goes_with
from doctor.matrix.choosing import TorchChoice, driver_for, torch_for
from doctor.matrix.drivers import has_dropped, is_too_old_for
from doctor.matrix.gpu_code import JETSON
from doctor.matrix.machine import Machine
from doctor.matrix.platform import table
from doctor.matrix.torch_builds import obstacle
from doctor.rules import code_rules

from .gpu_machines import listed, machine

LIBRARY = "bitsandbytes/gpu-arch-missing"
IDS = {
    "torch/gpu-arch-missing",
    "torch/jetson-wheel-not-l4t",
    LIBRARY,
    "driver/too-old-for-cuda-runtime",
    "driver/too-old-for-ptx",
}
RULES = [rule for rule in code_rules(scripts=False) if rule.id in IDS]
DRIVERS = (
    *("450.80.02", "470.256.02", "520.61.05", "525.60.13", "535.183.01", "550.54.15", "560.35.03"),
    *("570.124.06", "575.57.08", "580.95.05", "590.48.01", "595.45.04", "610.43.02"),
)
BUILDS: list[dict[str, Any]] = [
    build for build in table("torch_builds")["build"] if not build.get("expected")
]
NEWEST = "2.15.0+cu132"
# One GPU stands for all of its compute capability and processor.
GPUS = {
    (row["compute_capability"], row.get("arch", "x86_64")): row["name"]
    for row in reversed(table("gpu_architectures")["gpu"])
}
each_gpu = pytest.mark.parametrize(("capability", "arch"), GPUS, ids=[f"{name}" for name in GPUS.values()])


def drivers_of(capability: str) -> list[str]:
    """The drivers that drive a GPU."""
    return [
        driver
        for driver in DRIVERS
        if not is_too_old_for(driver, capability) and not has_dropped(driver, capability)
    ]


@cache
def placed(capability: str, arch: str, driver: str, release: str, bitsandbytes: str = "0.50.2") -> Facts:
    """A machine whose torch was imported and gave its list."""
    system = but(healthy.FACTS.system, arch=arch)
    seen = listed(release, arch)
    name = GPUS[capability, arch]
    return machine(name, torch=release, driver=driver, seen=seen, system=system, bitsandbytes=bitsandbytes)


def blamed(given: Facts) -> frozenset[str]:
    found, not_judged = judge(given, RULES)
    assert not_judged == []
    return frozenset(finding.id for finding in found)


@cache
def blamed_there(*place: str) -> frozenset[str]:
    """What is said of a machine by its capability, processor, driver and torch."""
    return blamed(placed(*place))


def release_of(build: dict[str, Any]) -> str:
    return f"{build['torch']}.0+{build['variant']}"


def machines(capability: str, arch: str) -> Iterator[tuple[Facts, dict[str, Any], frozenset[str]]]:
    """The GPU with every driver that drives it and every build for its processor, and what is said of it."""
    for driver in drivers_of(capability):
        for build in BUILDS:
            if build["arch"] == arch:
                place = (capability, arch, driver, release_of(build))
                yield placed(*place), build, blamed_there(*place)


@each_gpu
def test_torch_and_driver_are_blamed_where_the_table_has_an_obstacle_and_nowhere_else(
    capability: str, arch: str
) -> None:
    for given, build, found in machines(capability, arch):
        held_off = obstacle(build, Machine.of(given))
        assert bool(found - {LIBRARY}) == bool(held_off), (release_of(build), given.driver, held_off)


@each_gpu
def test_what_is_proposed_is_not_blamed(capability: str, arch: str) -> None:
    for given, _, found in machines(capability, arch):
        choice = torch_for(given) if found else None
        if choice:
            assert given.driver
            cured = blamed_there(capability, arch, given.driver.version, with_label(choice))
            assert cured <= {LIBRARY}, (choice, given.driver, given.torch)


def with_label(choice: TorchChoice) -> str:
    """The release that an installer would take: "2.7.*" is 2.7.0."""
    return f"{choice.release.partition('+')[0].replace('*', '0')}+{choice.variant}"


@each_gpu
def test_where_no_build_serves_a_driver_is_named_with_which_one_does(capability: str, arch: str) -> None:
    for given, _, found in machines(capability, arch):
        if found and torch_for(given) is None:
            driver = driver_for(given)
            newer = but(given, driver=but(given.driver, version=driver, cuda_version=None))
            assert not driver or torch_for(newer), (driver, given.driver, given.torch)


@each_gpu
def test_the_tables_say_what_the_build_itself_would(capability: str, arch: str) -> None:
    for given, _, found in machines(capability, arch):
        assert blamed(but(given, torch_runtime=None)) == found


@each_gpu
def test_a_bitsandbytes_that_goes_with_torch_is_not_blamed(capability: str, arch: str) -> None:
    for release in ("0.45.5", "0.47.0", "0.50.2"):
        for build in BUILDS:
            given = placed(capability, arch, "580.95.05", release_of(build), release)
            if build["arch"] == arch and goes_with(release, build["variant"], Machine.of(given)):
                assert LIBRARY not in blamed(given)


def test_every_gpu_that_can_train_has_a_driver_and_a_build() -> None:
    without = {
        (capability, arch)
        for capability, arch in GPUS
        if not any(
            torch_for(placed(capability, arch, driver, "2.13.0+cu130")) for driver in drivers_of(capability)
        )
    }
    assert without == set()
    assert {capability for capability, _ in GPUS} & {*JETSON} == {"8.7"}
