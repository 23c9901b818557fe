"""Fixtures for all tests. Imports are lazy: the unit tests need none of this."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import pytest


def pytest_configure(config: pytest.Config) -> None:
    """Heed signals: shells and nohup start what ignores them, and so would every child of a test."""
    for name in ("SIGINT", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, signal.default_int_handler if name == "SIGINT" else signal.SIG_DFL)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what needs a CUDA build of torch, some 5 GB, where none is named."""
    if os.environ.get("LORA_DOCTOR_CUDA_TORCH"):
        return
    left_out = [item for item in items if item.get_closest_marker("cuda_torch")]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if item not in left_out]


@pytest.fixture(scope="session")
def base_python() -> Iterator[str]:
    """Path of the Python of a healthy environment with the whole stack; never change anything in it."""
    from zoo.lab import Lab

    lab = Lab()
    yield str(lab.base().python)
    lab.close()
