"""With what an environment is made."""

from __future__ import annotations

import pytest
from fakes import NOT_STARTED, FakeHost, ended

from doctor.installing.outcome import Stopped
from doctor.installing.tools import Tools, base_of, python_on_path, tools_for
from installing.wheels import resolution

PYTHON = "/usr/bin/python3"
NO_ENSUREPIP = ended("3.11.2 final\n", "ModuleNotFoundError: No module named 'ensurepip'\n", code=1)
SET = resolution("torch==2.13.0+cpu", "peft==0.18.0", index_url="https://download.pytorch.org/whl/cpu")


def refused(host: FakeHost) -> tuple[str, tuple[str, ...]]:
    with pytest.raises(Stopped) as stopped:
        tools_for(host, PYTHON)
    assert stopped.value.outcome.is_refusal
    return stopped.value.outcome.why, stopped.value.outcome.command


def test_uv_is_taken_where_it_is() -> None:
    assert tools_for(FakeHost(programs={"uv": "/usr/bin/uv"}), "3.12") == Tools("3.12", "uv")


def test_the_interpreters_own_venv_and_pip_elsewhere() -> None:
    assert tools_for(FakeHost().on(PYTHON, replies=ended("3.11.2 final\n")), PYTHON) == Tools(PYTHON, "pip")


@pytest.mark.parametrize(
    ("release", "command"),
    [
        ("ID=debian\n", ("apt-get", "install", "-y", "python3.11-venv")),
        ('ID=linuxmint\nID_LIKE="ubuntu debian"\n', ("apt-get", "install", "-y", "python3.11-venv")),
        ('ID=rocky\nID_LIKE="rhel centos fedora"\n', ("dnf", "install", "-y", "python3.11")),
        ("ID=opensuse-leap\n", ("zypper", "install", "-y", "python311-base")),
    ],
)
def test_without_venv_the_distributions_package_is_named(release: str, command: tuple[str, ...]) -> None:
    why, named = refused(FakeHost(files={"/etc/os-release": release}).on(PYTHON, replies=NO_ENSUREPIP))
    assert "cannot make a virtual environment" in why
    assert named == command


def test_uv_needs_no_venv_module_of_the_interpreter() -> None:
    host = FakeHost(programs={"uv": "/usr/bin/uv"}).on(PYTHON, replies=NO_ENSUREPIP)
    assert tools_for(host, PYTHON) == Tools(PYTHON, "uv")


@pytest.mark.parametrize("programs", [{}, {"uv": "/usr/bin/uv"}])
def test_a_pre_release_of_python_is_refused(programs: dict[str, str]) -> None:
    """As python3.11 of Ubuntu 22.04 is: torch 2.13 cannot be imported in it."""
    why, _ = refused(FakeHost(programs=programs).on(PYTHON, replies=ended("3.11.0rc1 candidate\n")))
    assert "Python 3.11.0rc1, a pre-release" in why


def test_uv_is_named_where_the_distribution_is_not_known() -> None:
    why, named = refused(FakeHost().on(PYTHON, replies=NO_ENSUREPIP))
    assert "ensurepip" in why
    assert "astral.sh/uv" in named[-1]


@pytest.mark.parametrize("answer", [NOT_STARTED, ended(stderr="Segmentation fault", code=139)])
def test_an_interpreter_that_does_not_answer_is_said(answer: object) -> None:
    why, _ = refused(FakeHost().on(PYTHON, replies=answer))  # type: ignore[arg-type]
    assert "does not answer" in why


def test_torch_comes_from_its_own_index_and_the_rest_does_not() -> None:
    torch, rest = Tools(PYTHON, "pip").install_commands("/env", SET, "")
    assert torch[-3:] == ("torch==2.13.0+cpu", "--index-url", "https://download.pytorch.org/whl/cpu")
    assert rest == ("/env/bin/python", "-m", "pip", "install", "peft==0.18.0")


def test_another_index_stands_in_for_torchs() -> None:
    torch, rest = Tools(PYTHON, "uv").install_commands("/env", SET, "https://mirror/cpu")
    assert torch == (
        *"uv pip install --python /env/bin/python torch==2.13.0+cpu".split(),
        "--index-url",
        "https://mirror/cpu",
    )
    assert "--index-url" not in rest


def test_a_shim_that_leads_nowhere_is_no_python() -> None:
    shim = {"python3.12": "/home/ann/.pyenv/shims/python3.12"}
    dead, alive = (
        FakeHost(programs=shim).on(shim["python3.12"], replies=ended(code=code)) for code in (127, 0)
    )
    assert (python_on_path(dead, "3.12"), python_on_path(alive, "3.12")) == ("", shim["python3.12"])
    assert python_on_path(FakeHost(), "3.12") == ""


def test_no_environment_is_built_on_another() -> None:
    host = FakeHost(
        files={"/env/pyvenv.cfg": "", "/env/bin/python": "", "/usr/bin/python3.10": ""},
        leads={"/env/bin/python": "/usr/bin/python3.10"},
    )
    assert base_of(host, "/env/bin/python") == "/usr/bin/python3.10"
    assert base_of(host, "/usr/bin/python3") == "/usr/bin/python3"  # a link of the system's stays as it is
