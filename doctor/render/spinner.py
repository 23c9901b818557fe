"""One moving line at the foot of a terminal while long work runs, by rich."""

from __future__ import annotations

from threading import Lock, Timer
from typing import TYPE_CHECKING, TextIO

from doctor.plain import one_line
from doctor.render.layout import Layout

if TYPE_CHECKING:
    from rich.progress import Progress

PATIENCE_S = 0.3  # work that is done sooner is never announced, and rich never imported for it


class Spinner:
    """Says what runs and for how long, until it is stopped."""

    def __init__(self, stream: TextIO, layout: Layout, label: str) -> None:
        self._stream, self._layout, self._label = stream, layout, one_line(layout.clean(label))
        self._lock, self._stopped = Lock(), False
        self._progress: Progress | None = None
        self._timer = Timer(PATIENCE_S, self._show)
        self._timer.daemon = True

    def start(self) -> None:
        """Begin to wait, then to turn."""
        self._timer.start()

    def stop(self) -> None:
        """Take the line away; the next text takes its place."""
        self._timer.cancel()
        with self._lock:
            self._stopped = True
            if self._progress:
                self._progress.stop()

    def _show(self) -> None:
        from rich.console import Console
        from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        with self._lock:
            if self._stopped:
                return
            console = Console(
                file=self._stream,
                width=self._layout.width,
                force_terminal=True,
                no_color=not self._layout.color,
            )
            self._progress = Progress(
                SpinnerColumn("dots" if self._layout.unicode else "line"),
                TextColumn("{task.description}", markup=False),
                TimeElapsedColumn(),
                console=console,
                transient=True,
                redirect_stdout=False,
                redirect_stderr=False,
            )
            self._progress.add_task(self._label, total=None)
            self._progress.start()
