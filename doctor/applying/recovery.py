"""The way back, the same for a step that failed, a doctor that was killed and a machine that lost power.

A journal says what a run was about, the folders themselves say how far it came. Every step here may be
repeated after a death. As the guardian, this waits at the end of a pipe: if that closes before the run is
over, the doctor is dead and what it began is put back.
"""

from __future__ import annotations

import contextlib
import os
import sys
import time

import msgspec

from doctor.applying import files
from doctor.applying import journal as journals
from doctor.applying.journal import Journal, Run
from doctor.processes import end_marked, prepare

MARK = "LORA_DOCTOR_RUN"  # in the environment of every installer: the name of its run
DONE = b"done"
PROGRAM = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from doctor.applying.recovery import guard; guard(sys.argv[2])"
)


def name_of_now() -> str:
    """The name of a run that begins now, which no other run has."""
    return f"{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())}-{os.urandom(2).hex()}"


def recovered(path: str) -> Journal | None:
    """Bring what a journal names to an end: back, or forward where all was well. Raises OSError."""
    journal = journals.read(path)
    if journal is None:
        return None
    if journal.run is not None:
        end_marked(MARK, journal.run.name)
        way = aside if journal.run.way == "aside" else in_place
        journal = way(journal, journal.run)
        with contextlib.suppress(OSError):  # a disk that is full: what goes now makes room
            journals.write(path, journal)
    return cleaned(path, journal)


def cleaned(path: str, journal: Journal) -> Journal:
    """Remove what is no longer needed."""
    for one in journal.waste:
        files.discard(one)
        if os.path.basename(os.path.dirname(one)) == files.OURS:
            files.discard_if_empty(os.path.dirname(one))
    left = tuple(one for one in journal.waste if files.inode(one) is not None)
    journal = msgspec.structs.replace(journal, waste=left)
    if journals.read(path) != journal:
        journals.write(path, journal)
    return journal


def aside(journal: Journal, run: Run) -> Journal:
    """The folder that the environment was before tells by its place how far an exchange came."""
    here = files.inode(journal.prefix)
    if run.state == "undoing":
        return undoing(journal, run, here)
    if run.state == "ready" and files.inode(run.twin) == run.original:
        files.rename(run.twin, run.past)
        return kept(journal, run)
    if run.state == "ready" and files.inode(run.past) == run.original:
        if here is None:  # between two renames, where the system cannot exchange
            files.rename(run.twin, journal.prefix)
        return kept(journal, run)
    return dropped(journal, run)


def undoing(journal: Journal, run: Run, here: files.Inode | None) -> Journal:
    """The past on its way back to its place."""
    if here != run.original:
        if here is not None:  # the outcome still stands there
            return msgspec.structs.replace(journal, run=None)
        files.rename(run.past, journal.prefix)
    return undone(journal, run)


def in_place(journal: Journal, run: Run) -> Journal:
    """Folders go back one by one."""
    if run.state == "keeping":  # nothing has been changed, and not all is kept
        return dropped(journal, run)
    for one in run.kept:
        if one.past:
            files.put_back(one.past, one.live, one.left_out)
        else:
            files.discard(one.live)
    return undone(journal, run) if run.state == "undoing" else dropped(journal, run)


def kept(journal: Journal, run: Run) -> Journal:
    """The outcome is the target. Only one past is kept: the last."""
    older = (journal.past.past,) if journal.past else ()
    past = msgspec.structs.replace(run, state="kept")
    return msgspec.structs.replace(journal, run=None, past=past, waste=(*journal.waste, *older))


def dropped(journal: Journal, run: Run) -> Journal:
    """The target is what it was before this run."""
    waste = run.twin if run.way == "aside" else run.past
    return msgspec.structs.replace(journal, run=None, waste=(*journal.waste, waste))


def undone(journal: Journal, run: Run) -> Journal:
    """The target is what it was before the run that was undone; what was exchanged for it goes."""
    waste = (*journal.waste, *filter(None, (run.past, run.twin)))
    return msgspec.structs.replace(journal, run=None, past=None, waste=waste)


def guard(path: str) -> None:
    """Be the guardian of a run: say so, wait for its word, and put all back where the pipe closes without."""
    import signal

    prepare()
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        signal.signal(getattr(signal, name), signal.SIG_IGN)
    os.write(1, b"ready\n")
    said = sys.stdin.buffer.read()
    if said != DONE:
        with contextlib.suppress(OSError):  # the journal stays, and the next run tries again
            recovered(path)
