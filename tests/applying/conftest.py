"""Wheels once for all tests here, and a state folder of each test's own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from .workshop import NO_HOME, Patient, make_wheels


@pytest.fixture(scope="session")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_wheels(tmp_path_factory.mktemp("wheels"))


@pytest.fixture(autouse=True)
def own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    for name, value in NO_HOME.items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def patient(tmp_path: Path, wheels: Path) -> Callable[..., Patient]:
    """Makes an environment in which demo is old."""

    def make(name: str = "venv", **how: bool) -> Patient:
        return Patient(tmp_path / "home" / name, wheels, **how)

    return make
