"""Fixtures for all tests. Imports are lazy: the unit tests need none of this."""

from __future__ import annotations

from collections.abc import Iterator

import pytest


@pytest.fixture(scope="session")
def base_python() -> Iterator[str]:
    """Path of the Python of a healthy environment with the whole stack; never change anything in it."""
    from environments.lab import Lab

    lab = Lab()
    yield str(lab.base().python)
    lab.close()
