"""Random version sets of the stack, drawn from the release tables, and what happens when one is run.

Three ways of drawing, as real files are: the five packages as neighbours in time, from close together to far
apart; one old package under the newest of the others; some pinned and the others left to the installer.
"""

from __future__ import annotations

import datetime
import json
import os
import random
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from packaging.version import Version
from sandboxes import CannotBuild, Venv, Workshop

from doctor.matrix.releases import Release, releases_of

# The packages of a set, each with the oldest release that the matrix promises to know.
FLOORS = {"transformers": "4.36", "peft": "0.7", "accelerate": "0.25", "trl": "0.7", "bitsandbytes": "0.41"}
PACKAGES = tuple(FLOORS)
STAGES = (
    *("import-transformers", "import-accelerate", "import-peft", "import-bitsandbytes", "import-trl"),
    *("lora-step", "trainer-step", "sft-step"),
)
PROGRAM = Path(__file__).with_name("stages.py")
SPREADS_DAYS = (15, 60, 180, 500)  # neighbours, from close together to far apart
PATIENCE_S = 1800  # all stages of one environment, on a busy machine


class VersionSet(NamedTuple):
    """What is asked for: pinned versions, and the packages of which any version will do."""

    id: str
    pins: dict[str, str]
    free: tuple[str, ...] = ()


def draw(number: int, seed: int, python: str) -> Iterator[VersionSet]:
    """So many sets; the same seed gives the same sets as long as the release tables stand."""
    chance = random.Random(seed)
    known = {package: candidates(package, python) for package in PACKAGES}
    ways = (neighbours, one_old, neighbours, half_pinned)
    for index in range(number):
        pins, free = ways[index % len(ways)](chance, known)
        yield VersionSet(f"{seed}-{index:03}", pins, free)


def candidates(package: str, python: str) -> list[Release]:
    """Final releases that install on this Python on Linux, in the order of their uploads."""
    fit = (
        release
        for release in releases_of(package)
        if not release.yanked and not Version(release.version).is_prerelease
        if Version(release.version) >= Version(FLOORS[package])
        if release.has_wheel(python, "linux", "x86_64")
    )
    return sorted(fit, key=lambda release: release.uploaded)


Known = Mapping[str, list[Release]]
Drawn = tuple[dict[str, str], tuple[str, ...]]


def neighbours(chance: random.Random, known: Known) -> Drawn:
    """Releases around one day: the last of each package before that day, give or take a spread."""
    spread = chance.choice(SPREADS_DAYS)
    # The package that began last bounds the days on which all five existed.
    days = [datetime.date.fromisoformat(releases[0].uploaded) for releases in known.values()]
    last = max(datetime.date.fromisoformat(releases[-1].uploaded) for releases in known.values())
    day = max(days) + datetime.timedelta(days=chance.randint(0, (last - max(days)).days))
    shifts = {package: datetime.timedelta(days=chance.randint(-spread, spread)) for package in known}
    return {package: last_before(known[package], day + shifts[package]) for package in known}, ()


def last_before(releases: list[Release], day: datetime.date) -> str:
    """The release that was the newest upload on a day, the first of all where there was none."""
    older = [release for release in releases if release.uploaded <= day.isoformat()]
    return (older or releases[:1])[-1].version


def one_old(chance: random.Random, known: Known) -> Drawn:
    """One package of any age; the others as the installer takes them today."""
    old = chance.choice(PACKAGES)
    return {old: chance.choice(known[old]).version}, tuple(package for package in PACKAGES if package != old)


def half_pinned(chance: random.Random, known: Known) -> Drawn:
    """Two to four neighbours in time; the others as the installer takes them today."""
    pins, _ = neighbours(chance, known)
    pinned = chance.sample(PACKAGES, chance.randint(2, 4))
    return {name: pins[name] for name in sorted(pinned)}, tuple(
        name for name in PACKAGES if name not in pinned
    )


def try_out(wanted: VersionSet, workshop: Workshop, program: Path = PROGRAM) -> dict[str, object]:
    """One set installed and run, as a line of the record; ``refused`` says why it cannot be installed."""
    line: dict[str, object] = {"id": wanted.id, "pins": wanted.pins, "free": list(wanted.free)}
    try:
        with workshop.environment(workshop.resolve(wanted.pins, wanted.free)) as venv:
            line |= {"freeze": venv.installed(), "conflicts": venv.conflicts()}
            return line | {"outcome": run_stages(venv, program=program)}
    except CannotBuild as refusal:
        return line | {"refused": str(refusal)}


def run_stages(venv: Venv, *stages: str, program: Path = PROGRAM) -> dict[str, str]:
    """Stage -> "ok" or its error, tried in the environment. Raises :class:`CannotBuild` for no answer."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [venv.python, "-I", program, *stages],
            cwd=folder,
            env={**os.environ, "TMPDIR": folder, "HF_HOME": folder, "OMP_NUM_THREADS": "1"},
            capture_output=True,
            text=True,
            errors="replace",
            timeout=PATIENCE_S,
        )
    if done.returncode:
        raise CannotBuild(f"the stages gave no answer: {done.stderr[-2000:]}")
    outcomes: dict[str, str] = json.loads(done.stdout.splitlines()[-1])
    return outcomes
