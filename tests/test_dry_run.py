"""What an installer's answers to a dry run mean."""

from __future__ import annotations

import pytest
from fakes import HUNG, NOT_STARTED, FakeHost, ended

from doctor.dry_run import dry_run
from doctor.installation import install_set

INDEX = "https://download.pytorch.org/whl/cu126"
PIP = ("/env/bin/python", "-m", "pip", "install")
UV = ("uv", "pip", "install", "--python", "/env/bin/python")
WITH_PIP = install_set(("torch==2.13.0+cu126", "peft==0.21.2"), INDEX, PIP)
WITH_UV = install_set(("torch==2.13.0+cu126", "peft==0.21.2"), INDEX, UV)


def host(**replies: object) -> FakeHost:
    """pip as it answers: its version, the list of torch's index, the dry run of the rest."""
    words = {
        "version": ended("pip 24.2 from /env (python 3.11)\n"),
        "index": ended("torch (2.15.0+cu126)\nAvailable versions: 2.15.0+cu126, 2.13.0+cu126\n"),
        "install": ended("Would install peft-0.21.2\n"),
        **replies,
    }
    fake = FakeHost()
    for word, reply in words.items():
        argument = "--version" if word == "version" else word
        fake.on("/env/bin/python", "-m", "pip", argument, replies=reply)  # type: ignore[arg-type]
    return fake


def test_pip_agrees() -> None:
    machine = host()
    assert dry_run(machine, WITH_PIP) == (True, "")
    *_, listing, rest = [call.argv for call in machine.calls]
    assert listing == (*PIP[:3], "index", "versions", "torch", "--index-url", INDEX)
    assert rest == (*PIP, "--dry-run", "peft==0.21.2", "torch==2.13.0")  # no gigabytes for another build


@pytest.mark.parametrize(
    ("replies", "agrees", "said"),
    [
        ({"index": ended("Available versions: 2.12.0+cu126\n")}, False, "does not list torch 2.13.0+cu126"),
        (
            {"install": ended("", "noise\nERROR: No matching distribution\n", 1)},
            False,
            "No matching distribution",
        ),
        ({"install": ended("", "ERROR: ConnectionError: name resolution\n", 1)}, None, "cannot be reached"),
        ({"install": HUNG}, None, "in time"),
        ({"version": ended("pip 23.2.1 from /env\n")}, None, "23.3 or newer"),
        ({"version": NOT_STARTED}, None, "23.3 or newer"),
    ],
)
def test_pip_does_not_agree_or_cannot_tell(
    replies: dict[str, object], agrees: bool | None, said: str
) -> None:
    answer, words = dry_run(host(**replies), WITH_PIP)
    assert answer is agrees
    assert said in words


def test_uv_is_asked_for_both() -> None:
    machine = FakeHost().on("uv", "pip", "install", "--dry-run", replies=ended("", "Would install\n"))
    assert dry_run(machine, WITH_UV) == (True, "")
    first, second = [call.argv for call in machine.calls]
    assert first == (*UV[:3], "--dry-run", *UV[3:], "torch==2.13.0+cu126", "--index-url", INDEX)
    assert second == (*UV[:3], "--dry-run", *UV[3:], "peft==0.21.2", "torch==2.13.0")


def test_an_environment_that_is_not_there_cannot_be_asked() -> None:
    planned = (("/usr/bin/python3", "-m", "venv", ".venv"), *WITH_PIP)
    answer, words = dry_run(FakeHost(), planned)
    assert answer is None and "not there yet" in words
