"""What a fix changes, read off its commands: they are the promise, so they are what is planned with."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from doctor.treatment.plan import Command, Kind

FLAGS = {  # of an install; True: the next word belongs to it
    "--force-reinstall": False,
    "--no-deps": False,
    "--upgrade": False,
    "-U": False,
    "-y": False,
    "--index-url": True,
    "--reinstall-package": True,
    "--python": True,
    "-p": True,
    "-c": True,
}
REGISTRATIONS = (".dist-info", ".egg-info")  # folders that say that a distribution is installed
ANEW = {"--force-reinstall", "--reinstall-package"}


class Change(NamedTuple):
    """One change of the target, in no installer's words; ``packages`` as in :class:`Step`."""

    kind: Kind
    packages: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    index_url: str = ""
    variable: str = ""
    value: str | None = None


def changes_of(commands: Sequence[Command]) -> tuple[Change, ...] | None:
    """What these commands change, None where one of them is for a person to judge."""
    changes = [change_of(command) for command in commands if not is_preparation(command)]
    told = tuple(change for change in changes if change is not None)
    return told if told and len(told) == len(changes) else None


def is_preparation(command: Command) -> bool:
    """Does a command only make an installer or an environment, which the plan sees to by itself?"""
    return command[1:3] in (("-m", "ensurepip"), ("-m", "venv")) or command[:2] == ("uv", "venv")


def change_of(command: Command) -> Change | None:
    """What one command changes, None for one that is not known."""
    if command[:1] == ("export",) and len(command) == 2:
        name, _, value = command[1].partition("=")
        return Change("set", variable=name, value=value)
    if command[:1] == ("unset",) and len(command) == 2:
        return Change("set", variable=command[1])
    if (
        command[:2] == ("rm", "-r")
        and command[2:]
        and all(path.endswith(REGISTRATIONS) for path in command[2:])
    ):
        return Change("delete", paths=command[2:])
    words = arguments(command)
    if words is None or not words:
        return None
    return installation(words[1:]) if words[0] == "install" else removal(words[1:])


def arguments(command: Command) -> Command | None:
    """ "install" or "uninstall" and what follows, of the command of an installer."""
    for start in (("uv", "pip"), ("conda",)):
        if command[: len(start)] == start:
            return verb(command[len(start) :])
    return verb(command[3:]) if command[1:3] == ("-m", "pip") else None


def verb(words: Command) -> Command | None:
    """The words where they begin with one of the two verbs, "remove" being conda's for the second."""
    return words if words[:1] in (("install",), ("uninstall",), ("remove",)) else None


def installation(words: Command) -> Change | None:
    """What an install installs."""
    packages, flags = [], {}
    rest: Iterator[str] = iter(words)
    for word in rest:
        if word.startswith("-"):
            if word not in FLAGS:
                return None
            flags[word] = next(rest, "") if FLAGS[word] else ""
        else:
            packages.append(word)
    kind: Kind = "anew" if ANEW & set(flags) else "install"
    index_url = flags.get("--index-url", "")
    return Change(kind, tuple(packages), index_url=index_url) if packages else None


def removal(words: Command) -> Change | None:
    """What an uninstall takes away."""
    change = installation(words)
    return change._replace(kind="remove") if change else None


def name_of(requirement: str) -> str:
    """The package that a requirement is about, by its normalised name."""
    try:
        return canonicalize_name(Requirement(requirement).name)
    except InvalidRequirement:
        return requirement
