"""What is needed to go back: which run works on a target, what it has kept, and the past that may return."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping
from typing import Literal

import msgspec

from doctor.applying import files
from doctor.host import Host
from doctor.target import Target

# keeping: the past is not whole yet. begun: steps run. ready: the outcome is good and takes its place now.
State = Literal["keeping", "begun", "ready", "kept", "undoing"]


class Kept(msgspec.Struct, frozen=True):
    """A folder of the target and where its past lies; a past of "" says that there was no folder."""

    live: str
    past: str
    left_out: tuple[str, ...] = ()  # names at its top that are no part of it


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """One plan carried out, or being carried out."""

    name: str  # when it began: "20261130T132011Z-3fa8"
    way: Literal["aside", "in place"]
    state: State = "keeping"
    original: files.Inode = (0, 0)  # aside: the folder of the environment as it was
    twin: str = ""  # aside: the folder in which the steps run
    past: str = ""  # where what was before lies afterwards
    kept: tuple[Kept, ...] = ()  # in place: the folders and their past
    steps: tuple[str, ...] = ()  # their titles
    before: tuple[str, ...] = ()  # the exact freeze
    after: tuple[str, ...] = ()


class Journal(msgspec.Struct, frozen=True, kw_only=True):
    """All that is known of one target."""

    schema: int = 1
    target: str  # the interpreter
    prefix: str  # links followed
    run: Run | None = None  # None where none works or was cut short
    past: Run | None = None  # the run that can be undone
    waste: tuple[str, ...] = ()  # what still has to be removed


def state_folder(env: Mapping[str, str]) -> str:
    """Where the doctor keeps what must outlive it (XDG Base Directory Specification)."""
    home = env.get("XDG_STATE_HOME") or os.path.join(os.path.expanduser("~"), ".local", "state")
    return os.path.join(home, "lora-doctor")


def folder_of(env: Mapping[str, str], prefix: str) -> str:
    """The folder of one target's journal and lock."""
    key = hashlib.sha256(os.fsencode(prefix)).hexdigest()[:16]
    return os.path.join(state_folder(env), key)


def journal_in(folder: str) -> str:
    """The path of a journal."""
    return os.path.join(folder, "journal.json")


def lock_in(folder: str) -> str:
    """The path of the lock beside it."""
    return os.path.join(folder, "lock")


def read(path: str) -> Journal | None:
    """A journal, None where there is none or it is not one of ours."""
    content = files.read(path)
    try:
        return msgspec.json.decode(content, type=Journal) if content else None
    except msgspec.MsgspecError:
        return None


def write(path: str, journal: Journal) -> None:
    """Put a journal in place of the last one, at once. Raises OSError."""
    files.write(path, msgspec.json.encode(journal))


def known(host: Host) -> Iterator[tuple[str, Journal]]:
    """Every journal of this user, with its folder."""
    home = state_folder(host.env)
    for name in files.names_in(home):
        folder = os.path.join(home, name)
        journal = read(journal_in(folder))
        if journal is not None:
            yield folder, journal


def of_target(host: Host, target: Target) -> tuple[str, Journal] | None:
    """The journal of an interpreter, which need not run to be found; None where it has none."""
    executable = os.path.abspath(target.executable)
    folder = os.path.join(host.real_path(os.path.dirname(executable)), "")
    for place, journal in known(host):
        if executable == journal.target or folder.startswith(os.path.join(journal.prefix, "")):
            return place, journal
    return None


def last(host: Host, target: Target) -> Run | None:
    """The run on a target that ``--undo`` would take back."""
    found = of_target(host, target)
    return found[1].past if found else None


def unfinished(host: Host, target: Target) -> Run | None:
    """The run on a target that has not come to its end."""
    found = of_target(host, target)
    return found[1].run if found else None
