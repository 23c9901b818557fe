"""The file by which an environment says who made it and whether it is finished; the lock of its making."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator
from typing import Literal

import msgspec

from doctor.host import Host

NAME = "lora-doctor.json"
State = Literal["new", "unfinished", "finished", "foreign"]


class Marker(msgspec.Struct, frozen=True, kw_only=True):
    """What is written into the folder before anything else, and again at the end."""

    schema: int = 1
    tool_version: str
    state: Literal["unfinished", "finished"]
    has_environment: bool = False  # are the interpreter and its pip in place?
    pins: tuple[str, ...] = ()  # what was asked for
    requirements: tuple[str, ...] = ()  # the whole set


def read(host: Host, folder: str) -> Marker | None:
    """What the folder says of itself, None where it says nothing."""
    text = host.read_text(os.path.join(folder, NAME))
    try:
        return msgspec.json.decode(text or "", type=Marker)
    except msgspec.DecodeError:
        return None


def state_of(host: Host, folder: str) -> State:
    """May something be installed here? "foreign" is whatever was not made here and is not empty."""
    known = read(host, folder)
    if known:
        return known.state
    if host.is_file(folder) or not all(name.startswith(NAME) for name in host.list_folder(folder)):
        return "foreign"
    return "new"


def write(folder: str, marker: Marker) -> None:
    """Replace the file at once, so that a kill leaves the old or the new one. Raises OSError."""
    path = os.path.join(folder, NAME)
    beside = f"{path}.{os.getpid()}"
    with open(beside, "wb") as file:
        file.write(msgspec.json.encode(marker))
        file.flush()
        os.fsync(file.fileno())
    os.replace(beside, path)


def emptied(folder: str) -> None:
    """Remove all that an unfinished making left, the marker last of all never. Raises OSError."""
    with os.scandir(folder) as entries:
        for entry in [entry for entry in entries if not entry.name.startswith(NAME)]:
            if entry.is_dir(follow_symlinks=False):
                shutil.rmtree(entry.path)
            else:
                os.unlink(entry.path)


@contextlib.contextmanager
def held(folder: str) -> Iterator[bool]:
    """Make the folder and hold its lock; False where another run holds it. Raises OSError.

    A killed holder lets go of it. Windows has no such lock, and none is held there.
    """
    os.makedirs(folder, exist_ok=True)
    try:
        import fcntl
    except ImportError:
        yield True
        return
    with open(os.path.join(folder, f"{NAME}.lock"), "w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True
