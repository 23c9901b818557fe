"""Ctrl-C and signals that ask to end, held off for the moments that must not be cut in two."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator

ASKING = ("SIGINT", "SIGTERM", "SIGHUP")


@contextlib.contextmanager
def uninterrupted() -> Iterator[None]:
    """Let no signal end what runs within. One that comes is forgotten: the run is at its end then anyway."""
    if threading.current_thread() is not threading.main_thread():  # signals reach the main thread alone
        yield
        return
    numbers = [getattr(signal, name) for name in ASKING if hasattr(signal, name)]
    before = {number: signal.signal(number, lambda number, frame: None) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
