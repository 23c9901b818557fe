"""A doctor that carries a plan out and is struck at one moment. Run as a program by the tests.

What it is told, as JSON: ``python``, ``commands``, ``moment``, ``signal``, ``marker`` (a file that
a step makes), ``after_s`` (for the moment "at any time"), ``alone`` (its guardian dies with it),
``limit_bytes`` (of any file it may write).
"""

from __future__ import annotations

import errno
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from applying.workshop import plan, recheck
from doctor.applying import applied as course
from doctor.applying import aside, files, recovery
from doctor.applying import journal as journals
from doctor.findings import Report
from doctor.host import LocalHost
from doctor.target import Target

TOLD: dict[str, Any] = json.loads(sys.argv[1])
GUARDIANS: list[int] = []


def strike() -> None:
    """Die, or be asked to end, here and now; once."""
    if not TOLD["moment"]:
        return
    TOLD["moment"] = ""
    if TOLD.get("alone"):
        for pid in GUARDIANS:
            os.kill(pid, signal.SIGKILL)
    os.kill(os.getpid(), getattr(signal, TOLD["signal"]))
    if threading.current_thread() is threading.main_thread():
        time.sleep(0.01)  # the handler runs here


def around(
    module: Any, name: str, *, before: bool = False, at: int = 1, when: Callable[..., bool] | None = None
) -> None:
    """Strike before or after a function's call; the ``at``-th that fits."""
    original, calls = getattr(module, name), [0]

    def struck(*args: Any, **how: Any) -> Any:
        fits = when is None or when(*args)
        calls[0] += fits
        if before and fits and calls[0] == at:
            strike()
        result = original(*args, **how)
        if not before and fits and calls[0] == at:
            strike()
        return result

    setattr(module, name, struck)


def cannot_exchange(one: str, other: str) -> None:
    raise OSError(errno.EINVAL, "this file system cannot")


def watch(marker: Path) -> None:
    """Strike once a step has come so far that it leaves a mark."""
    while not marker.exists():
        time.sleep(0.005)
    strike()


def in_state(state: str) -> Callable[..., bool]:
    return lambda path, journal: journal.run is not None and journal.run.state == state


def kept(path: str, journal: journals.Journal) -> bool:
    return journal.run is None and journal.past is not None


MOMENTS: dict[str, Callable[[], None]] = {
    "": lambda: None,
    "with the lock": lambda: around(course, "begun"),
    "with a guardian": lambda: around(course, "course", before=True),
    "with a journal": lambda: around(journals, "write", when=in_state("keeping")),
    "in the middle of cloning": lambda: around(files, "place", at=20),
    "before the twin is moved in": lambda: around(aside, "move_in", before=True),
    "after cloning": lambda: around(course, "carried_out", before=True),
    "in a step": lambda: threading.Thread(target=watch, args=[Path(TOLD["marker"])], daemon=True).start(),
    "after the steps": lambda: around(course, "carried_out"),
    "in the check": lambda: around(course, "judged", before=True),
    "after the check": lambda: around(course, "judged"),
    "after moving out": lambda: around(aside, "move_out"),
    "before the exchange": lambda: around(journals, "write", when=in_state("ready")),
    "right after the exchange": lambda: around(files, "exchange"),
    "between two renames": lambda: (
        setattr(files, "_exchange", cannot_exchange),
        around(files, "rename"),
    )[0],
    "after two renames": lambda: (
        setattr(files, "_exchange", cannot_exchange),
        around(files, "rename", at=2),
    )[0],
    "before the journal says kept": lambda: around(journals, "write", before=True, when=kept),
    "after the journal says kept": lambda: around(journals, "write", when=kept),
    "before clean-up": lambda: around(recovery, "cleaned", before=True, at=2),
    "in clean-up": lambda: around(files, "discard", before=True),
    "after clean-up": lambda: around(files, "discard"),
    "while putting back": lambda: around(files, "_put_back_one", at=3),
    "at any time": lambda: threading.Timer(TOLD["after_s"], strike).start(),
}


class Companion(course.Companion):
    """A guardian whose number is known."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        GUARDIANS.append(self._process.pid)


def checked(python: str) -> Report:
    return recheck(python)


def main() -> int:
    if TOLD.get("limit_bytes"):
        import resource

        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (TOLD["limit_bytes"], TOLD["limit_bytes"]))
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(143))
    course.Companion = Companion  # type: ignore[misc]
    MOMENTS[TOLD["moment"]]()
    host = LocalHost()
    try:
        target = Target(TOLD["python"], "--python")
        made = plan(TOLD["python"], *map(tuple, TOLD["commands"]))
        outcome = course.applied(host, target, made, checked, lambda title: None)
        sys.stdout.write(f"{outcome.state}: {outcome.failed}: {outcome.said}\n")
    except KeyboardInterrupt:
        return 130
    except course.CannotApply as error:
        sys.stdout.write(f"refused: {error}\n")
        return 2
    finally:
        host.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
