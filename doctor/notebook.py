"""``doctor.check()``: the report in Jupyter and Colab, of the kernel's own interpreter."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TextIO

from doctor.cli.examination import Examination
from doctor.findings import Report
from doctor.host import LocalHost
from doctor.plain import one_line
from doctor.probes import Looks
from doctor.render.terminal import LiveTerminal
from doctor.smoke.trial import STAGE_LIMIT_S
from doctor.target import Target, named_target

COLUMNS = 100  # of the text that stands in for the page where there is none


class Shown:
    """A report that a notebook shows as a page and everything else as text."""

    def __init__(self, report: Report) -> None:
        self.report = report

    def __repr__(self) -> str:
        from doctor.render import terminal

        return terminal.render(self.report, width=COLUMNS, unicode=True)

    def _repr_html_(self) -> str:
        from doctor.render.report_html import fragment

        return fragment.render(self.report)

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        return {"text/plain": repr(self), "text/html": self._repr_html_()}


class OneLine(LiveTerminal):
    """What runs now, on one line that is written over and is gone at the end; the report tells the rest."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__(stream)
        self._out, self._shown = stream, ""

    def begin(self, target: str) -> None:
        """Nothing: the report names the target."""

    def working(self, label: str) -> None:
        """Name what runs now. A notebook knows the carriage return and no other movement."""
        text = f"lora-doctor: {one_line(label)} ..."
        if text == self._shown:
            return
        self._out.write("\r" + text.ljust(len(self._shown)))
        self._out.flush()
        self._shown = text

    def line(self, line: object) -> None:
        """Nothing: the report has it."""

    def stop(self) -> None:
        """Take the line away, where there is one."""
        if self._shown:
            self._out.write("\r" + " " * len(self._shown) + "\r")
            self._out.flush()
            self._shown = ""


def check(quick: bool = False, python: str | None = None, ignore: Sequence[str] = ()) -> Shown:
    """See :func:`doctor.check`. Raises :class:`doctor.target.TargetNotFound`."""
    host = LocalHost()
    try:
        target = named_target(host, python) if python else Target(sys.executable, "this kernel")
        looks = Looks(host, target)
        examination = Examination(looks, quick=quick, stage_limit_s=STAGE_LIMIT_S, ignore=ignore)
        examination.live = OneLine(sys.stdout)
        return Shown(examination.run())
    finally:
        host.close()
