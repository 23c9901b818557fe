"""Foreign code in this process: it may raise whatever it likes, and take only so long."""

from __future__ import annotations

import contextlib
import io
import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


class Failed(Exception):
    """What foreign code raised, or that it did not end, as a sentence."""


def within(limit_s: float, work: Callable[[], T]) -> T:
    """The result of foreign code. Raises :class:`Failed` for whatever it raises, and where it does not end.

    What does not end goes on in a thread of its own, which the doctor's exit does not wait for.
    """
    outcome: list[T] = []
    raised: list[BaseException] = []

    def run() -> None:
        try:
            outcome.append(work())
        except BaseException as error:  # SystemExit of a plugin must not end the doctor
            raised.append(error)

    thread = threading.Thread(target=run, daemon=True)
    with contextlib.redirect_stdout(io.StringIO()):  # a report in JSON must stay one
        thread.start()
        thread.join(limit_s)
    if raised:
        raise Failed(f"{type(raised[0]).__name__}: {raised[0]}") from raised[0]
    if not outcome:
        raise Failed(f"it did not end within {limit_s:g} s")
    return outcome[0]
