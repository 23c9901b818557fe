"""Fixes below the interpreter, in the words of the system that they are carried out on."""

from __future__ import annotations

import healthy
import pytest
from healthy import but, facts

from doctor.driver_cures import (
    drop_from_library_path,
    install_driver,
    on_host,
    reload_modules,
    without_folder,
)


@pytest.mark.parametrize(
    ("system", "words"),
    [
        ({"os": "win32", "name": "Windows 11"}, "nvidia.com/drivers"),
        ({"wsl": True, "name": "Ubuntu 24.04"}, "in Windows, and none inside WSL"),
        ({"name": "Slackware 15"}, "of your distribution"),
        ({"name": "openSUSE Leap 15.6"}, "from NVIDIA's own package repository"),
        ({"name": "Pop!_OS 22.04 LTS"}, "Install NVIDIA's driver, and reboot"),
    ],
)
def test_a_driver_is_installed_where_it_belongs(system: dict[str, object], words: str) -> None:
    assert words in install_driver(facts(system=but(healthy.FACTS.system, **system))).title


def test_without_a_system_there_are_words_and_no_commands() -> None:
    assert install_driver(facts(system="not seen")).commands == ()


def test_nothing_of_the_machine_is_run_from_inside_a_container() -> None:
    inside = facts(system=but(healthy.FACTS.system, container="docker"))
    assert on_host(inside, "Reboot", (("sudo", "reboot"),)).commands == ()
    assert on_host(facts(), "Reboot", (("sudo", "reboot"),)).commands == (("sudo", "reboot"),)


def test_what_is_to_be_run_on_the_host_is_written_out_inside_a_container() -> None:
    inside = facts(system=but(healthy.FACTS.system, container="docker"))
    start = on_host(inside, "Start it", (("sudo", "systemctl", "start", "it"), ("sudo", "reboot")))
    assert start.title == "On the host, outside of this container: start it (sudo systemctl start it)"


def test_all_modules_are_reloaded_where_it_is_not_known_which_are_there() -> None:
    assert reload_modules()[0][3:] == ("nvidia_drm", "nvidia_modeset", "nvidia_uvm", "nvidia")


@pytest.mark.parametrize(
    ("value", "rest"),
    [("/a:/b:/c", "/a:/c"), ("/b/", ""), ("/b:/b", ""), ("/a", None), ("", None), (":/b:", "")],
)
def test_one_folder_out_of_the_path(value: str, rest: str | None) -> None:
    given = facts(environment={"LD_LIBRARY_PATH": value})
    assert without_folder(given, "/b") == rest
    fix = drop_from_library_path(given, "/b")
    wanted = (
        None
        if rest is None
        else (("export", f"LD_LIBRARY_PATH={rest}") if rest else ("unset", "LD_LIBRARY_PATH"))
    )
    assert (fix.commands[0] if fix else None) == wanted
