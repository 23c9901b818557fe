"""The head start of ``check`` and ``fit``: children run while the command line's own library is imported.

Importing typer takes as long as looking through a whole environment does. So the target is read off the
arguments beforehand, and what was begun is taken up by the command if it comes to the same target.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from doctor.host import LocalHost
from doctor.probes import Looks
from doctor.target import Target, TargetNotFound, find_target

EXAMINING = ("check", "fit", "fix", "report")
NOT_ONE_TARGET = ("-h", "--help", "--all-environments", "--undo", "--from", "--issue-form")
_begun: list[Looks] = []
_hosts: list[LocalHost] = []


def begin(arguments: Sequence[str]) -> None:
    """Start looking at the target that the arguments of a command name, where they plainly name one."""
    if not arguments or arguments[0] not in EXAMINING or any(word in NOT_ONE_TARGET for word in arguments):
        return
    host = this_machine()
    with suppress(TargetNotFound):  # the command will say so
        _begun.append(Looks(host, find_target(host, python_of(arguments))))


def python_of(arguments: Sequence[str]) -> str | None:
    """The value of ``--python``, None where it is not given."""
    for index, word in enumerate(arguments):
        if word == "--python":
            return arguments[index + 1] if index + 1 < len(arguments) else None
        if word.startswith("--python="):
            return word.partition("=")[2]
    return None


def this_machine() -> LocalHost:
    """The host, which :func:`leave` closes."""
    _hosts.append(LocalHost())
    return _hosts[-1]


def take_up(host: LocalHost, target: Target) -> Looks:
    """The looks that were begun at this target, or new ones."""
    return next((looks for looks in _begun if looks.target == target), None) or Looks(host, target)


def leave() -> None:
    """Leave no child behind, however the command ended."""
    for host in _hosts:
        host.close()
