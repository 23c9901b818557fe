"""Trees of files cloned, exchanged, compared and put back: the one place where applying touches the disk.

Standard library only: the guardian, which restores when the doctor is killed, runs it too.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import filecmp
import hashlib
import os
import shutil
import stat
import sys
import time
from collections.abc import Iterator
from typing import NamedTuple

OURS = ".lora-doctor"  # a folder of kept files, which is no part of what is kept
AT_FDCWD, RENAME_EXCHANGE = -100, 2  # Linux: fcntl.h, fs.h
NO_EXCHANGE = (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EXDEV)
# What programs edit where it lies, so that a second name of the same file would see it.
EDITED_IN_PLACE = (".pth", ".egg-link", "pyvenv.cfg", "history", ".lock")
METADATA = (".dist-info", ".egg-info")
TRIES = 20

Inode = tuple[int, int]  # device and number


class Entry(NamedTuple):
    """A file, link or folder below a folder."""

    name: str  # relative to it
    path: str
    state: os.stat_result

    @property
    def is_folder(self) -> bool:
        return stat.S_ISDIR(self.state.st_mode)

    @property
    def is_link(self) -> bool:
        return stat.S_ISLNK(self.state.st_mode)

    @property
    def is_file(self) -> bool:
        return stat.S_ISREG(self.state.st_mode)


def entries(folder: str, left_out: tuple[str, ...] = (), below: str = "") -> Iterator[Entry]:
    """All that lies below a folder, a folder before what it holds; without ``left_out`` at the top."""
    with os.scandir(os.path.join(folder, below)) as found:
        names = sorted(one.name for one in found)
    for name in names:
        if name == OURS or (not below and name in left_out):
            continue
        path = os.path.join(folder, below, name)
        entry = Entry(os.path.join(below, name), path, os.lstat(path))
        yield entry
        if entry.is_folder:
            yield from entries(folder, (), entry.name)


def inode(path: str) -> Inode | None:
    """Which file, link or folder a path names; None where there is none."""
    try:
        state = os.lstat(path)
    except OSError:
        return None
    return state.st_dev, state.st_ino


def is_within(path: str, folder: str) -> bool:
    """Does a path lie below a folder, links followed?"""
    return os.path.realpath(path).startswith(os.path.join(os.path.realpath(folder), ""))


def is_writable(folder: str) -> bool:
    """May this user make and remove files in a folder?"""
    return os.access(folder, os.W_OK | os.X_OK)


def can_be_exchanged(folder: str) -> bool:
    """May a folder be renamed: is it no mount point, and is the folder that holds it ours to write?"""
    parent = os.path.dirname(folder)
    device = inode(folder)
    return is_writable(parent) and device is not None and device[0] == os.lstat(parent).st_dev


def link_tree(source: str, made: str, left_out: tuple[str, ...] = ()) -> None:
    """The tree again under a new name: hard links, or copies where there can be none or must be none.

    Raises OSError; what was made by then stays.
    """
    os.makedirs(made)
    folders = [(source, made)]
    for entry in entries(source, left_out):
        target = os.path.join(made, entry.name)
        if entry.is_folder:
            os.mkdir(target)
            folders.append((entry.path, target))
        else:
            place(entry, target)
    for folder, target in reversed(folders):  # a folder's time changes with what is put into it
        like(folder, target)


def place(entry: Entry, target: str) -> None:
    """One file or link under another name."""
    if entry.is_link:
        os.symlink(os.readlink(entry.path), target)
    elif entry.is_file:
        if not is_edited_in_place(entry.name):
            with contextlib.suppress(OSError):  # another file system, too many links, a foreign owner
                os.link(entry.path, target)
                return
        shutil.copyfile(entry.path, target)
        like(entry.path, target)


def like(model: str, path: str) -> None:
    """Give a file or folder the mode, times and owner of another."""
    state = os.stat(model)
    with contextlib.suppress(OSError, AttributeError):  # only root may give away
        os.chown(path, state.st_uid, state.st_gid)
    shutil.copystat(model, path)


def is_same(one: Entry, path: str) -> bool:
    """Is it one file by two names, or another with the same content and mode?"""
    state = os.lstat(path)
    if one.is_link:
        return stat.S_ISLNK(state.st_mode) and os.readlink(path) == os.readlink(one.path)
    if (one.state.st_dev, one.state.st_ino) == (state.st_dev, state.st_ino):
        return True
    return one.state.st_mode == state.st_mode and filecmp.cmp(one.path, path, shallow=False)


def rewrite(path: str, content: bytes) -> None:
    """Replace a file's content under its mode and times; its other names keep the old content."""
    beside = f"{path}.{os.getpid()}.new"
    try:
        with open(beside, "wb") as file:
            file.write(content)
        like(path, beside)
        os.replace(beside, path)
    finally:
        with contextlib.suppress(OSError):
            os.unlink(beside)


def write(path: str, content: bytes) -> None:
    """Write a file whole or not at all, and have it on the disk. Raises OSError."""
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    beside = f"{path}.{os.getpid()}.new"
    try:
        with open(beside, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, path)
    finally:
        with contextlib.suppress(OSError):
            os.unlink(beside)


def read(path: str) -> bytes | None:
    """A file's content, None where it cannot be read."""
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return None


def names_in(folder: str) -> tuple[str, ...]:
    """Names in a folder, sorted; none where there is no folder."""
    try:
        return tuple(sorted(os.listdir(folder)))
    except OSError:
        return ()


def is_edited_in_place(name: str) -> bool:
    """Is it a file that programs edit where it lies? pip empties REQUESTED so, beside RECORD."""
    return name.endswith(EDITED_IN_PLACE) or os.path.dirname(name).endswith(METADATA)


def has_mode_of(model: str, state: os.stat_result) -> bool:
    """Is a file's mode that of another?"""
    return os.lstat(model).st_mode == state.st_mode


def take_over(model: str, path: str) -> None:
    """Let a path be the file that another path is: a hard link, or a copy."""
    beside = f"{path}.{os.getpid()}.new"
    place(Entry(model, model, os.lstat(model)), beside)
    os.replace(beside, path)


def link_target(path: str) -> str:
    """Where a symbolic link leads, as it says."""
    return os.readlink(path)


def relink(path: str, leads_to: str) -> None:
    """Let a symbolic link lead elsewhere."""
    os.unlink(path)
    os.symlink(leads_to, path)


def exchange(one: str, other: str, spare: str) -> None:
    """Let two folders change names at once.

    Where the file system has no such step, ``one`` is first renamed to ``spare`` and left there, so that
    ``other`` is gone afterwards; between these two renames nothing has the name ``one``. Raises OSError.
    """
    try:
        _exchange(one, other)
    except OSError as error:
        if error.errno not in NO_EXCHANGE:
            raise
        rename(one, spare)
        rename(other, one)


def _exchange(one: str, other: str) -> None:
    call = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None) if sys.platform == "linux" else None
    if call is None:
        raise OSError(errno.ENOSYS, "no exchange of two names")
    if call(AT_FDCWD, os.fsencode(one), AT_FDCWD, os.fsencode(other), RENAME_EXCHANGE) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), one)


def rename(old: str, new: str) -> None:
    """Another name, on the same file system. Raises OSError."""
    os.rename(old, new)


def flush() -> None:
    """Have all that was written on the disk: what is exchanged must survive a loss of power."""
    if hasattr(os, "sync"):
        os.sync()


def discard(path: str) -> None:
    """Remove a file or a tree, whatever its modes and although a dying child may still write to it."""
    for attempt in range(TRIES):
        if inode(path) is None:
            return
        if os.path.isdir(path) and not os.path.islink(path):
            if attempt:
                time.sleep(0.05)
                _open_up(path)
            shutil.rmtree(path, ignore_errors=True)
        else:
            os.unlink(path)


def discard_if_empty(folder: str) -> None:
    """Remove a folder that holds nothing."""
    with contextlib.suppress(OSError):
        os.rmdir(folder)


def _open_up(folder: str) -> None:
    """Let what lies in folders be removed; files keep their modes, which other names of them share."""
    os.chmod(folder, 0o700)
    with contextlib.suppress(OSError):
        for entry in entries(folder):
            if entry.is_folder:
                os.chmod(entry.path, 0o700)


def put_back(kept: str, live: str, left_out: tuple[str, ...] = ()) -> None:
    """Make a live tree what the kept one is, changing only what differs. May be repeated after a death."""
    os.makedirs(live, exist_ok=True)
    past = {entry.name: entry for entry in entries(kept, left_out)}
    for entry in list(entries(live, left_out)):
        old = past.get(entry.name)
        if old is None or stat.S_IFMT(old.state.st_mode) != stat.S_IFMT(entry.state.st_mode):
            discard(entry.path)
    for name, old in past.items():
        _put_back_one(old, os.path.join(live, name))
    for old in reversed(list(past.values())):
        if old.is_folder:
            like(old.path, os.path.join(live, old.name))
    like(kept, live)


def _put_back_one(old: Entry, path: str) -> None:
    if old.is_folder:
        os.makedirs(path, exist_ok=True)
    elif inode(path) is None or not is_same(old, path):
        beside = f"{path}.{os.getpid()}.back"
        place(old, beside)
        os.replace(beside, path)


def digest(folder: str) -> str:
    """A number that changes with every file that is made, removed or written; compiled code set aside."""
    told = hashlib.sha256()
    for entry in entries(folder):
        if "__pycache__" in entry.name:
            continue
        state = entry.state
        times = 0 if entry.is_folder else state.st_mtime_ns
        size = 0 if entry.is_folder else state.st_size
        told.update(f"{entry.name!r} {state.st_mode} {size} {times} {state.st_ino}\n".encode())
    return told.hexdigest()


def size_bytes(folder: str) -> int:
    """What copies of all files below a folder would take."""
    return sum(entry.state.st_size for entry in entries(folder) if entry.is_file)
