"""The past of a target brought back, as ``fix --undo`` does it."""

from __future__ import annotations

import msgspec

from doctor.applying import files, recovery
from doctor.applying import journal as journals
from doctor.applying.applied import OnStep, guarded, settled
from doctor.applying.environment import examined
from doctor.applying.interrupts import uninterrupted
from doctor.applying.journal import Journal, Run
from doctor.applying.lock import locked
from doctor.applying.workplace import CannotApply
from doctor.host import Host
from doctor.target import Target


class Undone(msgspec.Struct, frozen=True, kw_only=True):
    """What was taken back."""

    schema: int = 1
    name: str  # of the run
    steps: tuple[str, ...]  # that no longer count
    frozen: tuple[str, ...]  # the exact freeze that stands again


def undone(host: Host, target: Target, on_step: OnStep, *, even_if_changed: bool = False) -> Undone:
    """Bring back what the last run changed. Raises :class:`CannotApply`, OSError.

    Refused where the environment has changed since, unless ``even_if_changed``.
    """
    settled(host)
    found = journals.of_target(host, target)
    if found is None or found[1].past is None:
        raise CannotApply(
            f"no fix of {target.executable} is kept", "see what is installed: lora-doctor check"
        )
    folder, _ = found
    with locked(journals.lock_in(folder), target.executable) as lock:
        path = journals.journal_in(folder)
        journal = recovery.recovered(path)
        if journal is None or journal.past is None:
            raise CannotApply("it has just been undone", "see what is installed: lora-doctor check")
        if not even_if_changed:
            refuse_changed(host, target, journal.past)
        on_step(f"Bringing back {journal.prefix} as it was")
        with guarded(host, path, lock):
            bring_back(path, journal, journal.past)
    return Undone(name=journal.past.name, steps=journal.past.steps, frozen=journal.past.before)


def refuse_changed(host: Host, target: Target, past: Run) -> None:
    """Raise :class:`CannotApply` where somebody has installed or removed packages since."""
    now, then = set(examined(host, target).frozen), set(past.after)
    changed = sorted(now ^ then)
    if changed:
        raise CannotApply(
            f"packages have changed since the fix of {past.name}: {', '.join(changed[:5])}"
            + (f" and {len(changed) - 5} more" if len(changed) > 5 else ""),
            f"what has come since would be lost: take it back first; the past itself lies in {past.past}",
        )


def bring_back(path: str, journal: Journal, past: Run) -> None:
    """Exchange, or put back folder by folder; either goes on after a death."""
    if past.way == "aside" and files.inode(past.past) != past.original:
        raise CannotApply(f"{past.past} is gone, so there is no past to return to", "lora-doctor check")
    with uninterrupted():
        run = msgspec.structs.replace(past, state="undoing")
        journals.write(path, msgspec.structs.replace(journal, run=run))
        if past.way == "aside":
            files.exchange(journal.prefix, past.past, past.twin)
        recovery.recovered(path)
