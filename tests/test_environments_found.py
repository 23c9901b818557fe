"""Every interpreter near a folder, each once."""

from __future__ import annotations

import json

import pytest
from fakes import FakeHost

from doctor.environments import find_environments
from doctor.target import Target

HERE = "/work-of/ann"
HOME = "/home/ann"


def found(
    *files: str,
    env: dict[str, str] | None = None,
    programs: dict[str, str] | None = None,
    texts: dict[str, str] | None = None,
    leads: dict[str, str] | None = None,
) -> list[Target]:
    host = FakeHost(
        files={**dict.fromkeys(files, ""), **(texts or {})},
        env={"HOME": HOME, **(env or {})},
        programs=programs or {},
        leads=leads,
    )
    return find_environments(host, HERE)


@pytest.mark.parametrize(
    ("file", "origin"),
    [
        (f"{HERE}/.venv/bin/python", "here"),
        (f"{HERE}/venv/Scripts/python.exe", "here"),
        (f"{HERE}/env/bin/python3", "here"),
        (f"{HOME}/miniforge3/bin/python", "conda"),
        (f"{HOME}/miniconda3/envs/train/bin/python", "conda"),
        (f"{HOME}/.conda/envs/train/bin/python", "conda"),
        (f"{HOME}/.pyenv/versions/3.11.9/bin/python", "pyenv"),
        (f"{HOME}/.virtualenvs/train/bin/python", "virtualenvs"),
    ],
)
def test_the_usual_places(file: str, origin: str) -> None:
    assert found(file) == [Target(file, origin)]


def test_any_folder_here_that_is_a_virtual_environment() -> None:
    assert found(f"{HERE}/qlora/pyvenv.cfg", f"{HERE}/qlora/bin/python", f"{HERE}/other/bin/python") == [
        Target(f"{HERE}/qlora/bin/python", "here")
    ]


def test_the_active_environment_comes_first_and_once() -> None:
    active = f"{HERE}/.venv/bin/python"
    other = f"{HOME}/.pyenv/versions/3.11.9/bin/python"
    targets = found(other, active, env={"VIRTUAL_ENV": f"{HERE}/.venv"}, programs={"python": active})
    assert targets == [Target(active, "VIRTUAL_ENV"), Target(other, "pyenv")]


def test_variables_that_move_the_places() -> None:
    pyenv, conda = "/opt/pyenv/versions/3.12.1/bin/python", "/opt/conda/bin/python"
    targets = found(pyenv, conda, env={"PYENV_ROOT": "/opt/pyenv", "CONDA_PREFIX": "/opt/conda"})
    assert targets == [Target(conda, "CONDA_PREFIX"), Target(pyenv, "pyenv")]


def test_what_conda_lists() -> None:
    listed = {f"{HOME}/.conda/environments.txt": "/scratch/train\n\n  /scratch/eval  \n/scratch/gone\n"}
    targets = found("/scratch/train/bin/python", "/scratch/eval/bin/python", texts=listed)
    assert [target.executable for target in targets] == [
        "/scratch/train/bin/python",
        "/scratch/eval/bin/python",
    ]


def kernel(*argv: object) -> dict[str, str]:
    return {f"{HOME}/.local/share/jupyter/kernels/qlora/kernel.json": json.dumps({"argv": list(argv)})}


def test_the_interpreter_of_a_jupyter_kernel() -> None:
    targets = found(
        "/srv/k/bin/python3.11", texts=kernel("/srv/k/bin/python3.11", "-m", "ipykernel_launcher")
    )
    assert targets == [Target("/srv/k/bin/python3.11", "kernel qlora")]


def test_a_kernel_that_names_a_program_on_the_path() -> None:
    targets = found(
        "/usr/bin/python3.11", programs={"python3.11": "/usr/bin/python3.11"}, texts=kernel("python3.11")
    )
    assert targets == [Target("/usr/bin/python3.11", "kernel qlora")]


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "{}", '{"argv": []}', '{"argv": "python"}', '{"argv": [3]}', '{"argv": ["/usr/bin/R"]}']
    + ['{"argv": ["/gone/bin/python"]}', '{"argv": ["python-absent"]}', "null", '{"argv": null}'],
)
def test_a_kernel_that_starts_no_python_is_passed_over(text: str) -> None:
    path = f"{HOME}/.local/share/jupyter/kernels/other/kernel.json"
    assert found("/usr/bin/R", texts={path: text}) == []


def test_what_is_on_the_path_comes_last() -> None:
    programs = {"python": "/usr/bin/python", "python3": "/usr/local/bin/python3"}
    assert found(programs=programs) == [
        Target("/usr/bin/python", "PATH"),
        Target("/usr/local/bin/python3", "PATH"),
    ]


def test_python_and_python3_of_one_environment_are_one() -> None:
    folder = "/venv/bin"
    programs = {"python": f"{folder}/python", "python3": f"{folder}/python3"}
    leads = {f"{folder}/python3": f"{folder}/python"}
    env = {"VIRTUAL_ENV": "/venv"}
    targets = found(f"{folder}/python", f"{folder}/python3", env=env, programs=programs, leads=leads)
    assert targets == [Target(f"{folder}/python", "VIRTUAL_ENV")]


def test_nothing_near() -> None:
    assert found() == []


def test_a_machine_without_a_home() -> None:
    assert find_environments(FakeHost(), HERE) == []
