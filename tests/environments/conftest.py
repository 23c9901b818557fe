"""Fixtures of the end-to-end tests: the lab, and one run of the doctor for every question about it."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterator

import pytest

# Hard links, signals and terminals as POSIX has them.
collect_ignore_glob = ["test_*.py"] if sys.platform == "win32" else []

if sys.platform != "win32":
    from sandboxes import NoSuchPython

    from . import faults, surroundings  # noqa: F401  (they register their environments)
    from .environment import built
    from .lab import Lab
    from .running import Outcome, run_doctor

Check = Callable[..., "Outcome"]


@pytest.fixture(scope="session", autouse=True)
def no_gpu() -> None:
    """The expectations are those of a machine without a GPU."""
    if shutil.which("nvidia-smi"):
        pytest.skip("this machine has an NVIDIA driver")


@pytest.fixture(scope="session")
def lab() -> Iterator[Lab]:
    lab = Lab()
    yield lab
    lab.close()


@pytest.fixture(scope="session")
def check(lab: Lab) -> Check:
    """``check(environment, *options)``: the run's outcome; asked again, the same outcome."""
    outcomes: dict[tuple[str, ...], Outcome] = {}

    def checked(name: str, *options: str) -> Outcome:
        key = (name, *options)
        if key not in outcomes:
            try:
                with built(lab, name) as target:
                    folder = target.working_folder or lab.folder()
                    outcomes[key] = run_doctor(target, folder, "--format", "json", *options)
            except NoSuchPython as absent:
                pytest.skip(str(absent))
        return outcomes[key]

    return checked
