"""Fixtures for all tests. Imports are lazy: the unit tests need none of this."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Iterator

import pytest

# Daemons stand where the search path of a plain user does not reach.
PROGRAMS = os.pathsep.join((os.environ.get("PATH", os.defpath), "/usr/sbin"))
absent: set[str] = set()


def pytest_configure(config: pytest.Config) -> None:
    """Heed signals: shells and nohup start what ignores them, and so would every child of a test."""
    for name in ("SIGINT", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, signal.default_int_handler if name == "SIGINT" else signal.SIG_DFL)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what this machine lacks: a CUDA build of torch, some 5 GB, or a program; and say so."""
    left_out = [item for item in items if lacks(item)]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if item not in left_out]
    absent.update(lacks(item) for item in left_out)


def lacks(item: pytest.Item) -> str:
    """What a test needs and this machine has not; "" where it has all."""
    if item.get_closest_marker("cuda_torch") and not os.environ.get("LORA_DOCTOR_CUDA_TORCH"):
        return "a CUDA build of torch (LORA_DOCTOR_CUDA_TORCH)"
    wanted = [name for marker in item.iter_markers("program") for name in marker.args]
    return next((name for name in wanted if not shutil.which(name, path=PROGRAMS)), "")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Name what was left out for want of something."""
    if absent:
        terminalreporter.write_line(f"left out, for want of: {', '.join(sorted(absent))}")


@pytest.fixture(scope="session")
def base_python() -> Iterator[str]:
    """Path of the Python of a healthy environment with the whole stack; never change anything in it."""
    from zoo.lab import Lab

    lab = Lab()
    yield str(lab.base().python)
    lab.close()
