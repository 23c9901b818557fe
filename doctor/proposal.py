"""Facts and pins -> the set that ``resolve`` proposes, with its reasons and its commands."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence

import msgspec
from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from doctor.cures import installer_of
from doctor.facts import Facts
from doctor.installation import index_of, install_set, labelled
from doctor.matrix.releases import releases_of
from doctor.matrix.resolver import Conflict, Machine, Solution, Wish, because, blame, closest, is_known, solve
from doctor.resolution import Command, Resolution
from doctor.stack import STACK

SET = (*STACK, "datasets")


class PinInvalid(ValueError):
    """A pin that is none, or that no table of releases can speak of; ``hint`` says what to do instead."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.hint = hint


def pin(text: str) -> Requirement:
    """A pin in the words of PEP 508. Raises :class:`PinInvalid`."""
    try:
        requirement = Requirement(text)
    except InvalidRequirement:
        raise PinInvalid(
            f"{text!r} is no requirement", 'write it as "peft==0.17.1" or "transformers>=5"'
        ) from None
    name, releases = canonicalize_name(requirement.name), releases_of(requirement.name)
    if requirement.url or not releases:
        what = (
            f"{text!r} names a file"
            if requirement.url
            else f"{name} is not among the packages that are known here"
        )
        raise PinInvalid(what, "leave it out, and install it after the set")
    if not is_known(requirement):
        first, last = releases[0].version, releases[-1].version
        raise PinInvalid(
            f"{text} is not among the known releases of {name}, {first} to {last}", "pin one of these"
        )
    requirement.name = name
    return requirement


def propose(
    facts: Facts, pins: Sequence[Requirement], *, stay_close: bool = False, torch_cuda: str = ""
) -> Resolution:
    """The newest set, or the one closest to what is installed, for the machine of the facts."""
    machine = msgspec.structs.replace(Machine.of(facts), torch_cuda=torch_cuda)
    installed = installed_versions(facts)
    if stay_close:
        outcome = closest(pins, machine, extra_packages=SET, installed=installed)
    else:
        outcome = solve(pins, machine, extra_packages=SET, use_rows=True)
    if isinstance(outcome, Conflict):
        conflict, ways_out = blame(pins, machine, extra_packages=SET)
        reasons = (*failed_looks(facts), *conflict.reasons)
        return Resolution(
            python=machine.minor, because=reasons, ways_out=ways_out, machine=machine_in_words(facts, machine)
        )
    wish = Wish(tuple(pins), SET, installed if stay_close else {})
    return resolution(facts, machine, outcome, tuple(because(machine, wish, outcome)))


def resolution(facts: Facts, machine: Machine, solution: Solution, reasons: tuple[str, ...]) -> Resolution:
    """A solution with all that people and programs want to know of it."""
    index_url = index_of(solution.torch_variant, machine.os)
    requirements = labelled(solution.pins, solution.torch_variant, machine.os, machine.arch)
    installers = {name: tuple(commands(facts, name, requirements, index_url)) for name in ("pip", "uv")}
    left_out = tuple(f"without {package}: {why}" for package, why in solution.left_out.items())
    return Resolution(
        pins=solution.pins,
        torch_variant=solution.torch_variant or None,
        python=machine.minor,
        because=reasons,
        commands=installers["uv" if installer_of(facts) == "uv" else "pip"],
        installers=installers,
        constraints=requirements,
        index_url=index_url,
        changes=changes(facts, requirements) if facts.packages else {},
        warnings=(*failed_looks(facts), *solution.warnings, *left_out),
        machine=machine_in_words(facts, machine),
    )


def changes(facts: Facts, requirements: tuple[str, ...]) -> dict[str, str]:
    """What is installed in place of each pick, where that differs; "" for what is not installed."""
    installed, wanted = installed_versions(facts), (one.split("==") for one in requirements)
    return {name: installed.get(name, "") for name, version in wanted if installed.get(name) != version}


def installed_versions(facts: Facts) -> Mapping[str, str]:
    """What the target has, torch with the label of its build."""
    return {name: one.version for name, one in facts.packages.installed.items()} if facts.packages else {}


def failed_looks(facts: Facts) -> Iterator[str]:
    """A driver that is there and does not answer: the set is then for the CPU, which must not stay unsaid."""
    for gap in facts.gaps:
        if gap.about == "driver" and gap.kind == "failed":
            why = f"the NVIDIA driver does not answer ({gap.reason})"
            yield f"{why}: state --driver and --gpu for a CUDA build"


def machine_in_words(facts: Facts, machine: Machine) -> str:
    """ "Python 3.11 on linux x86_64, driver 535.104.05, Tesla T4 (compute capability 7.5)"."""
    gpus = [f"{gpu.name} (compute capability {gpu.compute_capability})" for gpu in facts.gpus or ()]
    driver = [f"driver {machine.driver}"] if machine.driver else []
    cuda = [f"CUDA {machine.torch_cuda}"] if machine.torch_cuda else []
    parts = [f"Python {machine.minor} on {machine.os} {machine.arch}", *driver, *dict.fromkeys(gpus), *cuda]
    return ", ".join(parts if machine.wants_cuda else [*parts, "CPU"])


def commands(
    facts: Facts, installer: str, requirements: tuple[str, ...], index_url: str
) -> Iterator[Command]:
    """How pip or uv installs the set; into an environment of its own where the target must not change."""
    interpreter = facts.interpreter
    python = interpreter.executable if interpreter and interpreter.executable else "python"
    if interpreter and interpreter.externally_managed:
        yield (
            ("uv", "venv", "--python", python, ".venv")
            if installer == "uv"
            else (python, "-m", "venv", ".venv")
        )
        python = os.path.join(".venv", "Scripts" if os.name == "nt" else "bin", "python")
    elif installer == "pip" and interpreter and not interpreter.has_pip:
        yield (python, "-m", "ensurepip")
    install: Command = (python, "-m", "pip", "install")
    if installer == "uv":
        known = interpreter and interpreter.executable
        install = ("uv", "pip", "install", "--python", python) if known else ("uv", "pip", "install")
    yield from install_set(requirements, index_url, install)
