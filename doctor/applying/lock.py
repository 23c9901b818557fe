"""Two runs on one target kept apart: a lock that the system takes off whoever dies."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator

from doctor.applying.workplace import CannotApply

RESTORING_S = 30.0  # the guardian of a run that was killed holds the lock until it has put all back


@contextlib.contextmanager
def locked(path: str, of: str) -> Iterator[int]:
    """Hold the lock in a file; yields its descriptor, which a guardian may hold with us.

    Raises :class:`CannotApply` where another run that lives holds it.
    """
    import fcntl

    try:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise CannotApply(
            f"the state of a run cannot be kept in {os.path.dirname(path)}: {error.strerror}",
            "name a folder that you may write to in XDG_STATE_HOME",
        ) from error
    try:
        _take(file, of)
        os.ftruncate(file, 0)
        os.pwrite(file, f"{os.getpid()}\n".encode(), 0)
        yield file
        fcntl.flock(file, fcntl.LOCK_UN)  # for the guardian too, which has ended by now
    finally:
        os.close(file)


def is_held(path: str) -> bool:
    """Does a run that lives, or its guardian, hold this lock?"""
    import fcntl

    try:
        file = os.open(path, os.O_RDWR)
    except OSError:
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(file)
    return False


def _take(file: int, of: str) -> None:
    import fcntl

    until = time.monotonic() + RESTORING_S
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except OSError:
            holder = os.pread(file, 20, 0).decode("ascii", "replace").strip()
            if _lives(holder) or time.monotonic() > until:
                raise CannotApply(
                    f"another run of the doctor works on {of} (process {holder or 'unknown'})",
                    "wait for it to end, or stop it: the environment then goes back to what it was",
                ) from None
            time.sleep(0.1)


def _lives(pid: str) -> bool:
    try:
        os.kill(int(pid), 0)
    except (ValueError, ProcessLookupError):
        return False
    except OSError:  # another user's
        return True
    return True
