#!/usr/bin/env python3
"""Installs what `lora-doctor resolve` proposes for CPU machines of different Pythons, and runs every stage.

    scripts/verify_resolve.py [--any-build] [NUMBER ...]

NUMBER picks requests, from 1. torch is asked for as the constraints pin it, where that release has wheels for
the Python. `--any-build` takes PyPI's build, with gigabytes of CUDA libraries, where no CPU build is to be
had for a Python; without it such a request is not tried. Prints the stages that fail, then one line.
Linux.
"""

from __future__ import annotations

import argparse
import datetime
import json
import subprocess
import sys
from typing import NamedTuple

from sandboxes import CannotBuild, Workshop, torch_requirement
from version_sets import STAGES, run_stages

from doctor.matrix.releases import release


class Request(NamedTuple):
    """A Python, and what has to be in the set."""

    python: str
    pins: tuple[str, ...] = ()

    def __str__(self) -> str:
        return " ".join((f"Python {self.python}", *self.pins))


REQUESTS = (
    Request("3.11"),
    Request("3.11", ("peft==0.17.1",)),
    Request("3.11", ("transformers==5.24.0",)),
    Request("3.11", ("trl==0.9.6",)),
    Request("3.11", ("transformers==4.44.2",)),
    Request("3.11", ("accelerate==0.34.2", "peft==0.13.2")),
    Request("3.11", ("bitsandbytes==0.45.5", "trl<1")),
    Request("3.9"),
    Request("3.10", ("numpy<2",)),
    Request("3.12", ("trl==1.0.0",)),
    Request("3.12", ("transformers<5",)),
    Request("3.13"),
)


def constraints(request: Request) -> tuple[str, ...]:
    """The pins of a request, and the pinned torch where it is one for this Python."""
    version = torch_requirement().removeprefix("torch==").partition("+")[0]
    known = release("torch", version)
    fits = known is not None and known.has_wheel(request.python, "linux", "x86_64")
    return (*request.pins, *([f"torch=={version}"] if fits else []))


def proposal(request: Request) -> dict[str, str]:
    """The versions that resolve proposes. Raises :class:`CannotBuild` where it finds none."""
    machine = ["--python-version", request.python, "--os", "linux", "--arch", "x86_64"]
    command = [sys.executable, "-m", "doctor", "resolve", "--format", "json", *machine, *constraints(request)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise CannotBuild(f"resolve ended with {done.returncode}: {done.stdout[-2000:]}{done.stderr[-2000:]}")
    pins: dict[str, str] = json.loads(done.stdout)["pins"]
    return pins


def failures(request: Request, any_build: bool) -> dict[str, str]:
    """The stages that fail in the proposed set, with their errors. Raises :class:`CannotBuild`."""
    pins = proposal(request)
    torch = pins.pop("torch").partition("+")[0]
    print(f"  torch {torch}", *(f"{name} {version}" for name, version in pins.items()), flush=True)
    workshop = Workshop(request.python, torch, any_build=any_build)
    with workshop.environment(workshop.resolve(pins, force=False)) as venv:
        outcome = run_stages(venv, *STAGES)  # not 4 bits: before bitsandbytes 0.46 they need a GPU
    return {stage: error for stage, error in outcome.items() if error != "ok"}


def main() -> None:
    """Try the requests in turn."""
    options = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    options.add_argument("numbers", nargs="*", type=int, metavar="NUMBER", help="requests to try, from 1")
    options.add_argument("--any-build", action="store_true", help="PyPI's torch where there is no CPU build")
    given = options.parse_args()
    passed, tried = 0, [REQUESTS[number - 1] for number in given.numbers] or list(REQUESTS)
    for request in tried:
        print(request, flush=True)
        try:
            broken = failures(request, given.any_build)
        except CannotBuild as refusal:
            print(f"  NOT TRIED: {refusal}")
            continue
        for stage, error in broken.items():
            print(f"  FAILED {stage}: {error}")
        passed += not broken
    print(f"sets in which every stage passes: {passed} of {len(tried)}; {datetime.date.today()}")
    sys.exit(0 if passed == len(tried) else 1)


if __name__ == "__main__":
    main()
