"""Fixtures of the end-to-end tests: the lab, and one run of the doctor for every question about it."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterator

import pytest

# Hard links, signals and terminals as POSIX has them.
collect_ignore_glob = ["test_*.py"] if sys.platform == "win32" else []

if sys.platform != "win32":
    from sandboxes import NoSuchPython

    from . import (  # noqa: F401  (they register their environments)
        behaviour,
        broken_files,
        compiling,
        drivers,
        linking,
        machines,
        metadata,
        releases,
        surroundings,
    )
    from .environment import ENVIRONMENTS, faulty
    from .lab import Lab
    from .running import Outcome
    from .runs import Runs
    from .table import PAGE, CureRow, Row, page

Check = Callable[..., "Outcome"]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--write-zoo", action="store_true", help="write docs/zoo.md from this run")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Write the page, where it was asked for and every environment was run."""
    if not config.getoption("--write-zoo", default=False):
        return
    reports = [report for kind in ("passed", "failed") for report in terminalreporter.getreports(kind)]
    told = [(name, value) for report in reports for name, value in report.user_properties]
    rows = {value[0]: Row(*value) for name, value in told if name == "zoo"}
    cures = {value[0]: CureRow(*value) for name, value in told if name == "cure"}
    absent = [name for name in ENVIRONMENTS if name not in rows]
    absent += [name for name in faulty() if name not in cures]
    if absent:
        terminalreporter.write_line(
            f"{PAGE.name} was not written: {len(absent)} were not run, as {absent[0]}"
        )
    else:
        PAGE.write_text(page(rows, cures), encoding="utf-8")


@pytest.fixture(scope="session", autouse=True)
def no_gpu() -> None:
    """The expectations are those of a machine without a GPU."""
    if shutil.which("nvidia-smi") or os.path.exists("/dev/nvidiactl"):
        pytest.skip("this machine has an NVIDIA driver")


@pytest.fixture(scope="session")
def lab() -> Iterator[Lab]:
    lab = Lab()
    yield lab
    lab.close()


@pytest.fixture(scope="session")
def runs(lab: Lab, request: pytest.FixtureRequest) -> Iterator[Runs]:
    """Runs of the doctor; those that the collected tests will ask for are begun at once."""
    runs = Runs(lab)
    asked = [item.callspec.params.get("name") for item in request.session.items if hasattr(item, "callspec")]
    runs.begin([name for name in dict.fromkeys(asked) if name in ENVIRONMENTS])
    yield runs
    runs.close()


@pytest.fixture(scope="session")
def check(runs: Runs) -> Check:
    """``check(environment, *options)``: the run's outcome; asked again, the same outcome."""

    def checked(name: str, *options: str) -> Outcome:
        try:
            return runs(name, *options)
        except NoSuchPython as absent:
            pytest.skip(str(absent))

    return checked
