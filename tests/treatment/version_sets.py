"""Environments of real releases that were put together at random, and what a plan makes of them."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import healthy
import msgspec
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

from doctor.diagnosis import diagnose
from doctor.facts import Facts, Package, Packages, TorchBuild
from doctor.findings import Finding, Report, Subject
from doctor.matrix.machine import Machine
from doctor.matrix.releases import Release, release, releases_of
from doctor.matrix.torch_builds import builds_of, cuda_of, minor_of
from doctor.treatment.plan import Plan

DRAWN = (
    *("torch", "transformers", "peft", "accelerate", "trl", "bitsandbytes", "datasets", "numpy"),
    *("tokenizers", "huggingface-hub"),
)
NOT_LOOKED = (
    *("trial", "torch_runtime", "bitsandbytes_runtime", "linkage", "files", "hashes", "bitsandbytes"),
    *("compiling", "toolkits", "cuda_driver"),
)
# Driver, its CUDA and the compute capability of its GPU.
GPUS = {
    "new": ("580.95.05", "13.0", "8.9"),
    "driver 535": ("535.104.05", "12.2", "8.6"),
    "driver 470": ("470.82.01", "11.4", "7.5"),
    "V100": ("580.65.06", "13.0", "7.0"),
    "Blackwell": ("570.124.06", "12.8", "12.0"),
}


class Drawn(NamedTuple):
    """One environment: Python's minor, the machine, and a version of each package."""

    python: str
    machine: str
    versions: Mapping[str, str]

    @property
    def report(self) -> Report:
        return diagnose(facts_of(self), Subject("live", healthy.PYTHON))


def drawn(seed: int) -> Drawn:
    """Releases of one day, but for one to three of any day; all install on the Python."""
    dice = random.Random(seed)
    python, machine = dice.choice(("3.9", "3.10", "3.11", "3.12", "3.13")), dice.choice((*GPUS, "CPU"))
    day = f"20{dice.randint(23, 26)}-{dice.randint(1, 12):02d}-15"
    strangers = set(dice.sample(DRAWN, dice.randint(1, 3)))
    versions = {}
    for name in DRAWN:
        known = [one for one in releases_of(name) if fits(one, python)]
        of_day = [one for one in known if one.uploaded <= day]
        found = [dice.choice(known)] if name in strangers and known else (of_day[-1:] or known[:1])
        if found:
            versions[name] = found[0].version
    variants = [build["variant"] for build in builds_of(minor_of(versions["torch"]))] or ["cpu"]
    versions["torch"] += f"+{dice.choice(variants)}"
    return Drawn(python, machine, with_dependencies(versions, python))


def fits(one: Release, python: str) -> bool:
    """Does an installer take a release on Linux?"""
    admits = SpecifierSet(one.requires_python).contains(f"{python}.9")
    wheel = not one.wheels or one.has_wheel(python, "linux", "x86_64")
    return admits and wheel and not one.yanked and not Version(one.version).is_prerelease


def with_dependencies(versions: Mapping[str, str], python: str) -> dict[str, str]:
    """The same with what they need besides, each in the newest release that all of them admit."""
    whole = {"setuptools": "81.0.0", "rich": "14.0.0", "scipy": "1.13.1", **versions}
    for _ in range(3):
        wanted: dict[str, list[SpecifierSet]] = {}
        for need in (need for name in whole for need in needs(name, whole[name], python)):
            wanted.setdefault(canonicalize_name(need.name), []).append(need.specifier)
        for name in wanted.keys() - {*DRAWN}:
            known = [one.version for one in releases_of(name) if fits(one, python)]
            good = [one for one in known if all(bound.contains(one) for bound in wanted[name])]
            whole[name] = (good or known)[-1]
    return whole


def needs(name: str, version: str, python: str) -> Iterator[Requirement]:
    """What a release declares of packages that the tables have."""
    public, _, label = version.partition("+")
    known, markers = release(name, public), Machine(python=python).markers
    for need in map(Requirement, known.requires if known else ()):
        applies = need.marker is None or need.marker.evaluate({**markers, "extra": ""})
        if applies and releases_of(need.name) and (need.name, label) != ("triton", "cpu"):
            yield need


def facts_of(one: Drawn) -> Facts:
    """A healthy machine with these packages, of which nothing was tried."""
    assert healthy.FACTS.interpreter
    interpreter = msgspec.structs.replace(healthy.FACTS.interpreter, version=f"{one.python}.9")
    installed = {name: package(name, version, one.python) for name, version in one.versions.items()}
    variant = one.versions["torch"].partition("+")[2]
    torch = TorchBuild(
        version=one.versions["torch"],
        cuda_version=cuda_of(variant) or None,
        hip_version=None,
        variant=variant,
    )
    unknown: dict[str, Any] = dict.fromkeys(NOT_LOOKED, "not looked at")
    return healthy.facts(
        **{**unknown, **machine(one.machine)},
        packages=Packages(installed=installed),
        interpreter=interpreter,
        torch=torch,
    )


def machine(name: str) -> dict[str, Any]:
    """The facts of a driver and a GPU, or that there is none."""
    if name == "CPU":
        return {"driver": "no GPU", "gpus": "no GPU"}
    driver, cuda, capability = GPUS[name]
    assert healthy.FACTS.gpus and healthy.FACTS.driver
    gpu = msgspec.structs.replace(healthy.FACTS.gpus[0], compute_capability=capability, name="A GPU")
    known = msgspec.structs.replace(healthy.FACTS.driver, version=driver, cuda_version=cuda)
    return {"driver": known, "gpus": (gpu,)}


def package(name: str, version: str, python: str) -> Package:
    requires = tuple(str(need).partition(";")[0] for need in needs(name, version, python))
    return Package(
        name=name,
        version=version,
        location=healthy.SITE,
        installer="pip",
        requires=requires,
        modules=(name,),
    )


def after(one: Drawn, plan: Plan) -> Drawn:
    """The environment once the plan is carried out, as an installer does it."""
    versions = dict(one.versions)
    for step in plan.steps:
        for text in step.packages if step.kind == "install" else ():
            name, pinned, version = text.partition("==")
            assert pinned and Version(version), text  # a table has each of these packages
            assert name in versions or step.replaces[name] == ""
            versions[name] = version
    whole = with_dependencies(versions, one.python)
    return one._replace(versions={**whole, **versions})


def errors(report: Report) -> set[str]:
    """The ids of all errors, those that others explain among them."""
    return {found.id for found in unfolded(report.findings) if found.severity == "error"}


def unfolded(findings: tuple[Finding, ...]) -> Iterator[Finding]:
    for found in findings:
        yield found
        yield from unfolded(found.symptoms)
