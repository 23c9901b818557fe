"""Fixes in the words of the target's own interpreter and installer, never a bare ``pip``."""

from __future__ import annotations

import os
import re

from doctor import edits
from doctor.facts import Facts, Interpreter
from doctor.findings import Fix
from doctor.matrix.choosing import TorchChoice, driver_for, last_branches, torch_for, torch_since
from doctor.matrix.machine import Machine

Command = tuple[str, ...]


def name_of(requirement: str) -> str:
    """The package that a requirement is about: "peft" of "peft[all]>=0.18,!=0.19"."""
    found = re.match(r"[A-Za-z0-9][\w.-]*", requirement.strip())
    return found.group(0) if found else ""


def installer_of(facts: Facts, package: str = "") -> str:
    """ "conda", "uv" or "pip": what put the package there, else what put most of the rest there."""
    installed = facts.packages.installed if facts.packages else {}
    known = installed.get(package)
    if known and known.installer in ("conda", "uv", "pip"):
        return known.installer
    made_by = [one.installer for one in installed.values()]
    interpreter = facts.interpreter
    if made_by.count("uv") > made_by.count("pip"):
        return "uv"
    if interpreter and interpreter.kind == "conda" and made_by.count("conda") > made_by.count("pip"):
        return "conda"
    return "pip"


def install_commands(
    facts: Facts, requirements: tuple[str, ...], installer: str, again: bool
) -> tuple[Command, ...]:
    """The commands that install requirements; ``again`` also where they are there already."""
    interpreter = facts.interpreter
    python = interpreter.executable if interpreter else "python"
    names = [name_of(requirement) for requirement in requirements]
    flags: Command
    if installer == "conda" and interpreter:
        flags = ("--force-reinstall",) if again else ()
        return (("conda", "install", "-p", interpreter.prefix, *flags, *requirements),)
    if installer == "uv":
        flags = tuple(part for name in names for part in ("--reinstall-package", name)) if again else ()
        return (("uv", "pip", "install", "--python", python, *flags, *requirements),)
    flags = ("--force-reinstall", "--no-deps") if again else ()
    pip = (python, "-m", "pip", "install", *flags, *requirements)
    return (pip,) if interpreter is None or interpreter.has_pip else ((python, "-m", "ensurepip"), pip)


def install(facts: Facts, title: str, *requirements: str, again: bool = False, options: Command = ()) -> Fix:
    """A fix that installs, or that edits the file which says what is.

    An interpreter that must not be changed gets a virtual environment instead.
    """
    interpreter = facts.interpreter
    if facts.packages and facts.packages.wanted:
        return edits.ask_for(facts.packages.wanted, title, requirements, options)
    if interpreter and interpreter.externally_managed:
        return in_new_environment(interpreter, title, (*options, *requirements))
    installer = installer_of(facts, name_of(requirements[0]) if requirements else "")
    if installer == "conda" and options:
        installer = "pip"  # an index of wheels is no channel of conda's
    *before, last = install_commands(facts, requirements, installer, again)
    return Fix(title, (*before, (*last, *options)), "environment", verified=False)


def in_new_environment(interpreter: Interpreter, title: str, arguments: Command) -> Fix:
    """The way out of an interpreter that belongs to the system (PEP 668)."""
    python = os.path.join(".venv", "bin", "python")
    commands = (
        (interpreter.executable, "-m", "venv", ".venv"),
        (python, "-m", "pip", "install", *arguments),
    )
    return Fix(f"{title}, in an environment of its own", commands, "environment", verified=False)


TORCH_INDEX = "https://download.pytorch.org/whl/"


def torch_for_machine(facts: Facts) -> tuple[Fix, ...]:
    """Install the torch build that this driver and these GPUs can use, or first the driver that one needs.

    Nothing where no build is known that they could use.
    """
    choice = torch_for(facts)
    if choice is None:
        return newer_driver(facts, driver_for(facts)) if facts.driver else ()
    return (torch_fix(facts, choice),)


def torch_fix(facts: Facts, choice: TorchChoice) -> Fix:
    """Install one build of torch."""
    alone = "this driver runs" if facts.driver else "runs on this GPU"
    runs = "this driver and GPU run" if facts.driver and facts.gpus else alone
    built = "" if "+" in choice.release else f" built for {choice.variant}"
    title = f"Install torch {choice.release}{built}, which {runs}"
    options = ("--index-url", TORCH_INDEX + choice.variant)
    return install(facts, title, f"torch=={choice.release}", options=options)


def torch_from(facts: Facts, first: str) -> Fix | None:
    """Install the nearest torch from a release on that this driver and these GPUs can use; None without one.

    The plain index has each release for one CUDA alone.
    """
    choice = torch_since(facts, first)
    return torch_fix(facts, choice) if choice else None


def newer_driver(facts: Facts, version: str, hint: str = "") -> tuple[Fix, ...]:
    """Install a driver from one version on, in bounds of the last branch for these GPUs; nothing for ""."""
    if not version:
        return ()
    last = next(last_branches(Machine.of(facts)), "")
    bound = f" of branch {last}, the last for this GPU" if version.partition(".")[0] == last else ""
    ceiling = f", not beyond branch {last}, the last for this GPU" if last and not bound else ""
    system = facts.system
    place = " on the host" if system and system.container else " in Windows" if system and system.wsl else ""
    title = f"Install NVIDIA driver {version} or newer{bound}{ceiling}{place}, then restart{hint}"
    return (Fix(title, scope="system"),)


def uninstall(facts: Facts, title: str, *packages: str) -> Fix:
    """A fix that takes packages away."""
    if facts.packages and facts.packages.wanted:
        return edits.drop(facts.packages.wanted, title, packages)
    python = facts.interpreter.executable if facts.interpreter else "python"
    installer = installer_of(facts, packages[0])
    if installer == "conda" and facts.interpreter:
        return Fix(title, (("conda", "remove", "-p", facts.interpreter.prefix, *packages),), verified=False)
    if installer == "uv":
        return Fix(title, (("uv", "pip", "uninstall", "--python", python, *packages),), verified=False)
    return Fix(title, ((python, "-m", "pip", "uninstall", "-y", *packages),), verified=False)


def set_variable(title: str, name: str, value: str | None) -> Fix:
    """A fix that sets an environment variable, or unsets it where the value is None."""
    command = ("unset", name) if value is None else ("export", f"{name}={value}")
    return Fix(title, (command,), "setting")


def reinstall(facts: Facts, package: str, version: str = "") -> Fix:
    """A fix that lays the same release and build of a package down anew."""
    version = version or facts.version_of(package) or ""
    label = version.partition("+")[2]
    title = f"Reinstall {package}"
    if label and package.startswith("torch"):
        # "2.13.0+cpu" stands in the index of that build alone, and the plain index has another build.
        options = ("--index-url", TORCH_INDEX + label)
        return install(facts, title, f"{package}=={version}", again=True, options=options)
    requirement = f"{package}=={version}" if version and not label else package
    return install(facts, title, requirement, again=True)
