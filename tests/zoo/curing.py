"""``lora-doctor fix --apply`` on the environments of the zoo, and a check of its own afterwards."""

from __future__ import annotations

import json
import os
import re
import subprocess
import time
import uuid
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from packaging.utils import canonicalize_name
from sandboxes import built_once, key_of, locked, uv

from .environment import ENVIRONMENTS, QUICK, Target, built
from .lab import Lab, Venv
from .running import (
    MODULE,
    PATIENCE_S,
    Outcome,
    left_running,
    merged,
    run_doctor,
    run_environment,
)
from .wheelhouse import Wheelhouse

PATIENT = ("--timeout", "15")
ROUNDS = 3
LINKED = "torch==2.13.0+cu130"
APPLIED = ("delete", "remove", "install", "anew")
MADE_OF_STAND_INS = (
    "drivers",
    "machines",
    "linking",
    "compiling",
)  # modules; most of what they hold is empty
NAME = re.compile(r"[A-Za-z0-9][\w.-]*")
VISION = re.compile(r"torchvision==([\d.]+)")
TORCH = re.compile(r"torch==([\d.]+)\+?(\w*)")


@dataclass(frozen=True)
class Cure:
    """One environment, what ``fix`` planned for it, and what came of carrying that out."""

    name: str
    plan: dict[str, Any]
    rounds: tuple[dict[str, Any], ...] = ()  # plan and outcome of each; what one uncovers the next one cures
    after: Outcome | None = None  # None where nothing that cures the first finding is carried out
    seconds: float = 0.0
    left_running: tuple[str, ...] = ()
    words: str = ""  # what was printed beside the last outcome

    @property
    def primary(self) -> str | None:
        """The first finding of the environment."""
        return ENVIRONMENTS[self.name].expected.primary

    @cached_property
    def steps(self) -> list[dict[str, Any]]:
        """Steps that are carried out and cure the first finding."""
        return [step for step in applied_steps(self.plan) if self.primary in step["cures"]]

    @cached_property
    def scopes(self) -> set[str]:
        """Of all the steps that cure the first finding."""
        return {step["scope"] for step in self.plan["steps"] if self.primary in step["cures"]}

    @property
    def state(self) -> str:
        """How the last round ended."""
        return self.rounds[-1]["outcome"]["state"] if self.rounds else "nothing was told"

    @cached_property
    def all_steps(self) -> list[dict[str, Any]]:
        """What all rounds carried out."""
        return [step for treatment in self.rounds for step in applied_steps(treatment["plan"])]

    @cached_property
    def changed(self) -> set[str]:
        """Packages that are not what they were, by the freezes before and after."""
        frozen = self.rounds[0]["outcome"]["before"], self.rounds[-1]["outcome"]["after"]
        before, after = (dict(map(package_of, lines)) for lines in frozen)
        return {name for name in {*before, *after} if before.get(name) != after.get(name)}

    @cached_property
    def named(self) -> set[str]:
        """Packages that the plans name."""
        packages = {package_of(package)[0] for step in self.all_steps for package in step["packages"]}
        return packages | {Path(path).name.split("-")[0] for step in self.all_steps for path in step["paths"]}

    @cached_property
    def brought(self) -> set[str]:
        """Packages that were not there: what those that the plans install need."""
        return self.changed - {package_of(line)[0] for line in self.rounds[0]["outcome"]["before"]}

    @property
    def is_well(self) -> bool:
        """Does a check find no error any more, nor what was found first?"""
        return self.after is not None and not (
            {one["id"] for one in self.after.report["findings"] if one["severity"] == "error"}
            or self.primary in of_all(self.after.report["findings"])
        )


def applied_steps(plan: dict[str, Any]) -> list[dict[str, Any]]:
    """The steps of a plan that are carried out."""
    return [step for step in plan["steps"] if step["kind"] in APPLIED]


def of_all(findings: list[dict[str, Any]]) -> list[str]:
    """The ids of findings and of what they explain."""
    return [id for one in findings for id in (one["id"], *of_all(one["symptoms"]))]


def package_of(line: str) -> tuple[str, str]:
    """The name and the rest of a line of a freeze."""
    found = NAME.match(line)
    assert found, line
    return canonicalize_name(found[0]), line[found.end() :]


def cured(lab: Lab, name: str) -> Cure:
    """Build one environment, let the doctor cure it, and check it again."""
    with built(lab, name) as found:
        apart = lab.apart()
        target = with_uv(of_its_own(apart, found))
        # A quick look is enough where it finds the fault; the check at the end is as whole as ever.
        for options in dict.fromkeys((QUICK, patient(ENVIRONMENTS[name].expected.options))):
            planned = run_fix(target, apart.folder(), *options, "--format", "json")
            cure = Cure(name, json.loads(planned.stdout))
            if cure.scopes:
                break
        if cure.steps:
            house = stocked(apart, name, cure)
            if module_of(name) in MADE_OF_STAND_INS:
                target = merged(target, {"UV_DEFAULT_INDEX": house.url})
            if brought_torch(cure):  # what the machine's pip may be held to does not count for a stand-in
                target = merged(target, {"PIP_CONFIG_FILE": os.devnull})
            cure = carried_out(cure, target, apart.folder(), options, house)
        apart.clear()
        return cure


def carried_out(
    cure: Cure, target: Target, folder: Path, options: tuple[str, ...], house: Wheelhouse
) -> Cure:
    """The cure with what came of it, and a check of the environment as it is then."""
    began, rounds = time.monotonic(), []
    for _ in range(ROUNDS):
        applying = ("--torch-index", house.url, "--format", "json", "--apply", "--yes")
        done = run_fix(target, folder, *options, *applying)
        rounds += [json.loads(done.stdout)] if done.stdout.strip() else []
        if not rounds or rounds[-1]["outcome"]["state"] != "improved":
            break
    seconds = time.monotonic() - began
    after = run_doctor(target, folder, "--format", "json", *after_options(cure, options))
    return Cure(cure.name, cure.plan, tuple(rounds), after, seconds, done.left_running, done.stderr)


def after_options(cure: Cure, found_by: tuple[str, ...]) -> tuple[str, ...]:
    """The whole check; stand-ins, which compute nothing, are asked no more than the fault was found by."""
    if brought_torch(cure) or brought_vision(cure) or module_of(cure.name) in MADE_OF_STAND_INS:
        return found_by
    return patient(ENVIRONMENTS[cure.name].expected.options)


def patient(options: tuple[str, ...]) -> tuple[str, ...]:
    """With the time that a first import takes, when nothing of it is compiled yet."""
    return PATIENT if "--timeout" in options else options


def brought_vision(cure: Cure) -> list[re.Match[str]]:
    """Releases of torchvision that the cure brings from torch's own index, which is not within reach."""
    steps = [step for step in cure.plan["steps"] if step["index_url"]]
    return [found for step in steps for package in step["packages"] if (found := VISION.match(package))]


def brought_torch(cure: Cure) -> list[re.Match[str]]:
    """Builds of torch that the cure brings and no environment has: their wheels are not within reach."""
    steps = [step for step in cure.plan["steps"] if step["kind"] == "install"]
    return [torch for step in steps for package in step["packages"] if (torch := TORCH.match(package))]


def index_of_torch(lab: Lab) -> Wheelhouse:
    """An index of the wheel that the bases have, for all; uv keeps what it unpacks by the index's address."""
    house = Wheelhouse(lab.root / "index-of-torch")
    with locked(house.folder):
        if not house.folder.exists():
            house.offer(lab.torch_wheel()[1])
    return house


def index_of_linked(lab: Lab) -> Wheelhouse:
    """An index of all that links as on a machine with CUDA, for all: torch alone is 700 MB."""
    house = Wheelhouse(lab.root / f"index-of-linked-{key_of(LINKED, lab.base().folder.name)}")
    with built_once(house.folder) as missing:
        if missing:
            with built(lab, "linking_intact") as intact:
                house.pack(Venv(intact.python.parent.parent))
    return house


def stocked(lab: Lab, name: str, cure: Cure) -> Wheelhouse:
    """An index with what the cure will ask for and no public index has."""
    brought = brought_torch(cure)
    if module_of(name) == "linking" or any(torch[0] == LINKED for torch in brought):
        return index_of_linked(lab)
    vision = brought_vision(cure)
    if module_of(name) not in MADE_OF_STAND_INS and not (brought or vision):
        return index_of_torch(lab)
    house = Wheelhouse(lab.folder())
    for found in vision:
        house.make("torchvision", f"{found[1].rstrip('.')}.0+cpu", {"torchvision/__init__.py": b""})
    for torch in brought:
        house.make_torch(f"{torch[1]}+{torch[2]}", torch[2])
    return house


def module_of(name: str) -> str:
    """The module of this folder that builds an environment."""
    return ENVIRONMENTS[name].build.__module__.rpartition(".")[2]


def of_its_own(lab: Lab, target: Target) -> Target:
    """The target in an environment of its own: a base is for all, and a cure changes it."""
    folder = target.python.parent.parent
    if folder.parent != lab.root:
        return target
    return Target(Venv(folder).copy_to(lab.folder() / "venv").python, target.working_folder, target.variables)


def with_uv(target: Target) -> Target:
    """The same where uv is on PATH, as it is for whoever made an environment with it."""
    path = target.variables.get("PATH") or os.environ["PATH"]
    return merged(target, {"PATH": f"{Path(uv()).parent}{os.pathsep}{path}"})


@dataclass(frozen=True)
class Fixed:
    """One run of ``fix``."""

    code: int
    stdout: str
    stderr: str
    left_running: tuple[str, ...]


def run_fix(target: Target, working_folder: Path, *arguments: str) -> Fixed:
    """``lora-doctor fix --python TARGET`` with further arguments, from start to end."""
    mark = uuid.uuid4().hex
    done = subprocess.run(
        [*MODULE, "fix", "--python", str(target.python), *arguments],
        cwd=target.working_folder or working_folder,
        env=run_environment(target, mark),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=2 * PATIENCE_S,
    )
    return Fixed(done.returncode, done.stdout, done.stderr, left_running(mark))
