"""The commands of each distribution that bring what triton compiles with."""

from __future__ import annotations

import pytest
from healthy import FACTS, but, facts

from doctor.distribution import python_headers
from doctor.facts import Facts


def on(name: str, base_prefix: str = "/usr", container: str | None = None) -> Facts:
    return facts(
        system=but(FACTS.system, name=name, container=container),
        interpreter=but(FACTS.interpreter, base_prefix=base_prefix),
    )


@pytest.mark.parametrize(
    ("name", "command"),
    [
        ("Debian GNU/Linux 12 (bookworm)", "sudo apt-get install -y build-essential python3.11-dev"),
        ("Ubuntu 24.04.3 LTS", "sudo apt-get install -y build-essential python3.11-dev"),
        ("Linux Mint 22", "sudo apt-get install -y build-essential python3.11-dev"),
        ("Fedora Linux 42 (Workstation Edition)", "sudo dnf install -y gcc python3.11-devel"),
        ("Rocky Linux 9.5 (Blue Onyx)", "sudo dnf install -y gcc python3.11-devel"),
        ("openSUSE Tumbleweed", "sudo zypper install -y gcc python311-devel"),
        ("Arch Linux", "sudo pacman -S --needed gcc python"),
    ],
)
def test_both_are_installed_in_the_words_of_the_distribution(name: str, command: str) -> None:
    [fix] = python_headers(on(name), compiler=True, header=True)
    assert [" ".join(words) for words in fix.commands] == [command]
    assert fix.scope == "system"


def test_a_container_has_no_sudo() -> None:
    [fix] = python_headers(on("Ubuntu 24.04.3 LTS", container="docker"), compiler=True, header=False)
    assert fix.commands == (("apt-get", "install", "-y", "build-essential"),)


def test_a_python_of_ones_own_has_no_headers_in_the_distribution() -> None:
    own = on("Ubuntu 24.04.3 LTS", base_prefix="/home/ada/.pyenv/versions/3.11.9")
    [both] = python_headers(own, compiler=True, header=True)
    assert both.commands == (("sudo", "apt-get", "install", "-y", "build-essential"),)
    [header] = python_headers(own, compiler=False, header=True)
    assert header.commands == ()


def test_conda_brings_its_own() -> None:
    conda = facts(interpreter=but(FACTS.interpreter, kind="conda", prefix="/opt/conda"))
    [compiler] = python_headers(conda, compiler=True, header=False)
    assert compiler.commands == (("conda", "install", "-p", "/opt/conda", "-c", "conda-forge", "c-compiler"),)
    [header] = python_headers(conda, compiler=False, header=True)
    assert header.commands[0][-1] == "python=3.11.9"


@pytest.mark.parametrize("given", [on("Void Linux"), Facts()])
def test_where_nothing_is_known_there_is_no_command(given: Facts) -> None:
    [fix] = python_headers(given, compiler=True, header=True)
    assert fix.commands == ()
