"""What to install of the system's own packages, in the words of each distribution."""

from __future__ import annotations

from doctor.facts import Facts, Interpreter
from doctor.findings import Fix

# Marks of a distribution's name, the command that installs, the C compiler, and the headers of Python.
# {minor} is "3.11", {digits} is "311".
FAMILIES: tuple[tuple[tuple[str, ...], tuple[str, ...], str, str], ...] = (
    (
        ("debian", "ubuntu", "mint", "pop!_os"),
        ("apt-get", "install", "-y"),
        "build-essential",
        "python{minor}-dev",
    ),
    (
        ("fedora", "red hat", "rocky", "almalinux", "centos", "amazon linux", "oracle linux"),
        ("dnf", "install", "-y"),
        "gcc",
        "python{minor}-devel",
    ),
    (("suse",), ("zypper", "install", "-y"), "gcc", "python{digits}-devel"),
    (("arch linux", "manjaro"), ("pacman", "-S", "--needed"), "gcc", "python"),
)


def python_headers(facts: Facts, compiler: bool, header: bool) -> tuple[Fix, ...]:
    """The fix that brings a C compiler, the headers of the target's Python, or both."""
    interpreter = facts.interpreter
    if interpreter and interpreter.kind == "conda":
        wanted = ("c-compiler",) if compiler else (f"python={interpreter.version}",)
        command = ("conda", "install", "-p", interpreter.prefix, "-c", "conda-forge", *wanted)
        return (Fix(f"Install {wanted[0]} into the conda environment", (command,)),)
    named = system_packages(facts, compiler, header and is_the_systems(interpreter))
    if named is None:
        return (Fix("Install a C compiler and the development package of this Python", scope="system"),)
    return (Fix("Install what triton compiles with", (named,), "system"),)


def is_the_systems(interpreter: Interpreter | None) -> bool:
    """Does a Python come from the distribution, whose package then has its headers?"""
    return interpreter is None or interpreter.base_prefix == "/usr"


def system_packages(facts: Facts, compiler: bool, header: bool) -> tuple[str, ...] | None:
    """The command of this distribution, None where it is not known or has nothing to give."""
    name = facts.system.name.lower() if facts.system else ""
    version = facts.interpreter.version if facts.interpreter else "3"
    minor = ".".join(version.split(".")[:2])
    for marks, install, gcc, headers in FAMILIES:
        if any(mark in name for mark in marks):
            wanted = [gcc] if compiler else []
            wanted += [headers.format(minor=minor, digits=minor.replace(".", ""))] if header else []
            root = () if facts.system and facts.system.container else ("sudo",)
            return (*root, *install, *wanted) if wanted else None
    return None
