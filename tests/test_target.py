"""Which interpreter is the patient."""

from __future__ import annotations

import os
import sys
import sysconfig

import pytest
from fakes import FakeHost

from doctor.target import Target, TargetNotFound, find_target

HERE = os.path.abspath(".venv/bin/python")
PURELIB = sysconfig.get_path("purelib")


def machine(
    *files: str, env: dict[str, str] | None = None, programs: dict[str, str] | None = None
) -> FakeHost:
    return FakeHost(files=dict.fromkeys(files, ""), env=env or {}, programs=programs or {})


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("/opt/env/bin/python", "/opt/env/bin/python"),
        ("/opt/env", "/opt/env/bin/python"),
        ("/opt/env/", "/opt/env/bin/python"),
        ("/opt/env", "/opt/env/bin/python3"),
        ("/opt/env", "/opt/env/Scripts/python.exe"),
        ("/opt/env", "/opt/env/python.exe"),
        ("env", os.path.abspath("env/bin/python")),
        ("~/env", os.path.expanduser("~/env/bin/python")),
        ("./python", os.path.abspath("python")),
    ],
)
def test_a_named_interpreter_or_folder(name: str, file: str) -> None:
    host = machine(file, "/active/bin/python", env={"VIRTUAL_ENV": "/active"})
    assert find_target(host, name) == Target(file, "--python")


def test_a_named_program_is_looked_for_on_the_path() -> None:
    host = machine(programs={"python3.11": "/usr/bin/python3.11"})
    assert find_target(host, "python3.11") == Target("/usr/bin/python3.11", "--python")


def test_a_link_that_leads_nowhere_is_the_interpreter_all_the_same() -> None:
    host = FakeHost(links=["/opt/env/bin/python", "/opt/env/bin/python3"], env={"VIRTUAL_ENV": "/opt/env"})
    assert find_target(host, "/opt/env") == Target("/opt/env/bin/python", "--python")
    assert find_target(host, "/opt/env/bin/python") == Target("/opt/env/bin/python", "--python")
    assert find_target(host, None) == Target("/opt/env/bin/python", "VIRTUAL_ENV")


def test_an_interpreter_that_is_there_goes_before_a_link_that_leads_nowhere() -> None:
    host = FakeHost(files={"/opt/env/bin/python3": ""}, links=["/opt/env/bin/python"])
    assert find_target(host, "/opt/env") == Target("/opt/env/bin/python3", "--python")


def test_what_is_named_and_absent_is_not_replaced_by_another() -> None:
    host = machine("/active/bin/python", HERE, env={"VIRTUAL_ENV": "/active"})
    with pytest.raises(TargetNotFound, match="--python /opt/env names no interpreter") as refused:
        find_target(host, "/opt/env")
    assert "--all-environments" in refused.value.hint


ACTIVE = {"VIRTUAL_ENV": "/venv", "CONDA_PREFIX": "/conda"}
EVERYWHERE = ("/venv/bin/python", "/conda/bin/python", HERE, f"{PURELIB}/peft/__init__.py")
ON_PATH = {"python": "/usr/bin/python", "python3": "/usr/bin/python3"}


@pytest.mark.parametrize(
    ("taken_away", "expected"),
    [
        ((), Target("/venv/bin/python", "VIRTUAL_ENV")),
        (("VIRTUAL_ENV",), Target("/conda/bin/python", "CONDA_PREFIX")),
        (("VIRTUAL_ENV", "CONDA_PREFIX"), Target(HERE, ".venv here")),
        (("VIRTUAL_ENV", "CONDA_PREFIX", HERE), Target(sys.executable, "the doctor's own")),
        (("VIRTUAL_ENV", "CONDA_PREFIX", HERE, EVERYWHERE[3]), Target("/usr/bin/python", "PATH")),
        (("VIRTUAL_ENV", "CONDA_PREFIX", HERE, EVERYWHERE[3], "python"), Target("/usr/bin/python3", "PATH")),
    ],
)
def test_the_order_in_which_a_target_is_looked_for(taken_away: tuple[str, ...], expected: Target) -> None:
    host = machine(
        *(file for file in EVERYWHERE if file not in taken_away),
        env={name: value for name, value in ACTIVE.items() if name not in taken_away},
        programs={name: path for name, path in ON_PATH.items() if name not in taken_away},
    )
    assert find_target(host, None) == expected


@pytest.mark.parametrize("variable", ["VIRTUAL_ENV", "CONDA_PREFIX"])
def test_an_active_environment_that_is_gone_is_said_and_not_passed_over(variable: str) -> None:
    host = machine(HERE, env={variable: "/gone"}, programs=ON_PATH)
    with pytest.raises(TargetNotFound, match=f"{variable} names /gone") as refused:
        find_target(host, None)
    assert f"unset {variable}" in refused.value.hint


@pytest.mark.parametrize("library", ["torch", "transformers", "peft"])
def test_a_doctor_that_lives_beside_the_stack_examines_its_own(library: str) -> None:
    host = machine(f"{PURELIB}/{library}/__init__.py", programs=ON_PATH)
    assert find_target(host, None) == Target(sys.executable, "the doctor's own")


def test_a_doctor_in_an_environment_of_its_own_does_not_examine_itself() -> None:
    host = machine(f"{PURELIB}/rich/__init__.py", f"{PURELIB}/torchless/x.py", programs=ON_PATH)
    assert find_target(host, None).chosen_by == "PATH"


def test_no_interpreter_at_all() -> None:
    with pytest.raises(TargetNotFound, match="no Python is on PATH") as refused:
        find_target(machine(), None)
    assert "--python PATH" in refused.value.hint


def test_an_empty_name_is_no_wish_for_the_default() -> None:
    with pytest.raises(TargetNotFound, match="names nothing"):
        find_target(FakeHost(env={"VIRTUAL_ENV": "/venv"}, files={"/venv/bin/python": ""}), "")
