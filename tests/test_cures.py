"""Commands that name the target's own interpreter and installer."""

from __future__ import annotations

from typing import Any

import healthy
import pytest
from healthy import PYTHON, but, facts, packages

from doctor.cures import install, installer_of, reinstall, set_variable, torch_from, uninstall
from doctor.facts import Facts, Package
from doctor.findings import Fix


def made_by(installer: str, kind: str = "venv", **interpreter: Any) -> Facts:
    """The healthy facts with everything installed by one installer."""
    found = {name: but(one, installer=installer) for name, one in packages().installed.items()}
    return facts(
        packages=but(packages(), installed=found),
        interpreter=but(healthy.FACTS.interpreter, kind=kind, **interpreter),
    )


PIP, UV, CONDA = made_by("pip"), made_by("uv", has_pip=False), made_by("conda", kind="conda")


def only(fix: Fix) -> tuple[str, ...]:
    [command] = fix.commands
    return command


def test_pip() -> None:
    assert install(PIP, "Upgrade peft", "peft>=0.18.0") == Fix(
        "Upgrade peft", ((PYTHON, "-m", "pip", "install", "peft>=0.18.0"),), "environment", verified=False
    )


def test_uv() -> None:
    assert only(install(UV, "", "peft>=0.18.0")) == (
        *("uv", "pip", "install", "--python", PYTHON),
        "peft>=0.18.0",
    )


def test_conda() -> None:
    assert only(install(CONDA, "", "peft>=0.18.0")) == ("conda", "install", "-p", "/env", "peft>=0.18.0")


def test_an_interpreter_without_pip_gets_it_first() -> None:
    bare = made_by("pip", has_pip=False)
    assert install(bare, "", "peft").commands == (
        (PYTHON, "-m", "ensurepip"),
        (PYTHON, "-m", "pip", "install", "peft"),
    )


def test_an_interpreter_of_the_system_is_left_alone() -> None:
    fix = install(
        made_by("pip", externally_managed=True), "Install peft", "peft", options=("--index-url", "U")
    )
    assert fix.commands == (
        (PYTHON, "-m", "venv", ".venv"),
        (".venv/bin/python", "-m", "pip", "install", "--index-url", "U", "peft"),
    )
    assert fix.title == "Install peft, in an environment of its own"


def test_an_interpreter_of_which_nothing_is_known() -> None:
    unknown = facts(interpreter="does not run", packages="does not run")
    assert only(install(unknown, "", "peft")) == ("python", "-m", "pip", "install", "peft")
    assert only(uninstall(unknown, "", "peft")) == ("python", "-m", "pip", "uninstall", "-y", "peft")


def test_several_requirements_and_options() -> None:
    command = only(install(PIP, "", "torch==2.7.1", "peft", options=("--index-url", "https://example.org")))
    assert command[4:] == ("torch==2.7.1", "peft", "--index-url", "https://example.org")


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (PIP, (PYTHON, "-m", "pip", "install", "--force-reinstall", "--no-deps", "peft==0.21.2")),
        (UV, ("uv", "pip", "install", "--python", PYTHON, "--reinstall-package", "peft", "peft==0.21.2")),
        (CONDA, ("conda", "install", "-p", "/env", "--force-reinstall", "peft==0.21.2")),
    ],
    ids=["pip", "uv", "conda"],
)
def test_the_same_release_anew(given: Facts, expected: tuple[str, ...]) -> None:
    assert only(reinstall(given, "peft")) == expected
    assert only(reinstall(given, "peft", "0.20.0"))[-1] == "peft==0.20.0"


def test_a_package_whose_version_is_not_known_is_reinstalled_by_name() -> None:
    assert only(reinstall(facts(packages=packages(peft=None)), "peft"))[-1] == "peft"


def test_a_build_with_a_label_is_reinstalled_as_what_it_was() -> None:
    command = only(reinstall(PIP, "torch"))
    assert any(word.startswith("torch==2.13.0") for word in command)


def test_uninstalling() -> None:
    assert only(uninstall(PIP, "Remove them", "a", "b")) == (PYTHON, "-m", "pip", "uninstall", "-y", "a", "b")
    assert only(uninstall(made_by("uv"), "", "peft")) == (
        "uv",
        "pip",
        "uninstall",
        "--python",
        PYTHON,
        "peft",
    )


def test_conda_uninstalls_what_conda_installed() -> None:
    assert only(uninstall(CONDA, "", "peft"))[0] == "conda"


def test_conda_is_not_asked_for_what_only_pip_knows() -> None:
    command = only(install(CONDA, "", "torch==2.7.1", options=("--index-url", "https://example.org")))
    assert command[0] != "conda" or not {"--index-url", "torch==2.7.1"} & set(command)


@pytest.mark.parametrize("requirement", ["peft>=1", "peft<1", "peft==1", "peft", "peft > 1"])
def test_the_installer_of_a_package_is_told_by_its_own_record(requirement: str) -> None:
    one_by_conda = but(packages().installed["peft"], installer="conda")
    mixed = facts(
        packages=packages(peft=one_by_conda), interpreter=but(healthy.FACTS.interpreter, kind="conda")
    )
    assert only(install(mixed, "", requirement))[0] == "conda"


@pytest.mark.parametrize("requirement", ["peft!=0.20,>=0.18", "peft~=0.18", "peft[all]>=1"])
def test_the_installer_of_any_requirement_is_told_by_its_name(requirement: str) -> None:
    one_by_conda = but(packages().installed["peft"], installer="conda")
    mixed = facts(
        packages=packages(peft=one_by_conda), interpreter=but(healthy.FACTS.interpreter, kind="conda")
    )
    assert only(install(mixed, "", requirement))[0] == "conda"


def installers(*names: str, kind: str = "venv") -> Facts:
    found = {
        f"p{number}": Package(name=f"p{number}", version="1", location="/", installer=name)
        for number, name in enumerate(names)
    }
    return facts(
        packages=but(packages(), installed=found), interpreter=but(healthy.FACTS.interpreter, kind=kind)
    )


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (installers(), "pip"),
        (installers("uv", "uv", "pip"), "uv"),
        (installers("uv", "pip"), "pip"),
        (installers("conda", "conda", "pip"), "pip"),  # no conda to go to
        (installers("conda", "conda", "pip", kind="conda"), "conda"),
        (installers("conda", "pip", kind="conda"), "pip"),
        (installers("debian", "poetry", ""), "pip"),
    ],
)
def test_the_installer_of_what_is_not_there_yet_is_that_of_most(given: Facts, expected: str) -> None:
    assert installer_of(given, "absent") == expected


@pytest.mark.parametrize(
    ("own", "expected"), [("uv", "uv"), ("conda", "conda"), ("debian", "pip"), ("", "pip")]
)
def test_the_installer_of_what_is_there(own: str, expected: str) -> None:
    found = facts(packages=packages(peft=but(packages().installed["peft"], installer=own)))
    assert installer_of(found, "peft") == expected


def test_variables() -> None:
    assert set_variable("t", "A", "1") == Fix("t", (("export", "A=1"),), "setting")
    assert set_variable("t", "A", None) == Fix("t", (("unset", "A"),), "setting")


def test_words_are_left_whole_for_the_renderer_to_quote() -> None:
    spaced = facts(interpreter=but(healthy.FACTS.interpreter, executable="/my env/bin/python"))
    assert only(install(spaced, "", "torch<3,>=2"))[0] == "/my env/bin/python"
    assert only(install(spaced, "", "torch<3,>=2"))[-1] == "torch<3,>=2"


@pytest.mark.parametrize("given", [PIP, UV, CONDA, made_by("pip", externally_managed=True)])
def test_no_command_is_a_bare_pip_and_none_is_called_verified(given: Facts) -> None:
    for fix in (install(given, "", "peft"), reinstall(given, "peft"), uninstall(given, "", "peft")):
        assert fix.commands and fix.verified is False
        assert all(command[0] not in ("pip", "pip3") for command in fix.commands)


def with_driver(version: str, cuda: str, torch: str) -> Facts:
    """The healthy machine with a driver that nobody but NVML told of, and torch for CUDA 12.4."""
    return facts(
        driver=but(healthy.FACTS.driver, version=version, cuda_version=cuda),
        torch=but(healthy.FACTS.torch, version=torch, cuda_version="12.4", variant="cu124"),
        cuda_driver="not asked",
        torch_runtime="not imported",
    )


def test_a_newer_torch_is_one_that_the_driver_runs() -> None:
    fix = torch_from(with_driver("550.54.14", "12.4", "2.5.1+cu124"), "2.6.0")
    assert fix and "torch==2.6.0+cu124" in only(fix)
    assert only(fix)[-1] == "https://download.pytorch.org/whl/cu124"


def test_without_a_driver_or_a_torch_for_it_none_is_named() -> None:
    assert torch_from(with_driver("470.82.01", "11.4", "2.5.1+cu118"), "2.8.0") is None
    assert torch_from(facts(driver="none is needed"), "2.6.0") is None
