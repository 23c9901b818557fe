"""A report as text for people, whole or line by line while the check runs."""

from __future__ import annotations

from threading import RLock
from typing import TextIO

from doctor.findings import Report
from doctor.render.details import block
from doctor.render.layout import PAINT_OF_MARK, Layout, Paint
from doctor.render.lines import SubjectLine, examining, lines_of, subject_line
from doctor.render.spinner import Spinner
from doctor.render.verdict import by_gravity, is_worth_a_line, unasked_rules, verdict

MARK_COLUMN = 7
TEXT_COLUMN = MARK_COLUMN + 20
STACKED_BELOW = 60  # columns: narrower terminals get the text beneath the title

PAINT_OF_VERDICT: dict[str, Paint] = {
    "healthy": "ok",
    "impaired": "warn",
    "broken": "bad",
    "undetermined": "warn",
}


def render(report: Report, *, width: int | None = None, color: bool = False, unicode: bool = False) -> str:
    """The whole report. ``width`` is in columns, None for lines of any length."""
    layout = Layout(width, color, unicode)
    lines = [
        *_head(examining(report.subject.name, report.facts.interpreter), layout),
        *(text for line in _subject_lines(report) for text in _set_line(line, layout)),
        *_tail(report, layout),
    ]
    return "\n".join(lines) + "\n"


class LiveTerminal:
    """A check as it happens: each subject as soon as it is known, then details and verdict.

    ``animated`` adds a line at the bottom that says what runs now and for how long; it needs a terminal.
    """

    def __init__(
        self,
        stream: TextIO,
        *,
        width: int | None = None,
        color: bool = False,
        unicode: bool = False,
        animated: bool = False,
    ) -> None:
        self._stream, self._animated = stream, animated
        self._layout = Layout(width, color, unicode)
        self._told: dict[str, SubjectLine] = {}
        self._spinner: Spinner | None = None
        self._lock = RLock()  # stages are named by the thread that runs them, lines told by another

    def begin(self, target: str) -> None:
        """Say whom the check examines; see :func:`doctor.render.lines.examining`."""
        self._write(_head(target, self._layout))

    def working(self, label: str) -> None:
        """Name what runs now, for example a stage of the trial; silent where nothing moves."""
        with self._lock:
            self.stop()
            if self._animated:
                self._spinner = Spinner(self._stream, self._layout, label)
                self._spinner.start()

    def line(self, line: SubjectLine) -> None:
        """Tell one subject; a mark that later findings change is told again at the end."""
        with self._lock:
            self.stop()
            self._told[line.title] = line
            self._write(_set_line(line, self._layout))

    def finish(self, report: Report) -> None:
        """Tell the subjects that are new or have changed, the findings and the verdict."""
        self.stop()
        for line in _subject_lines(report):
            told = self._told.get(line.title)
            if not told or told.mark != line.mark:
                self.line(line)
        self._write(_tail(report, self._layout))

    def stop(self) -> None:
        """Take the moving line away, at the end or when the check is broken off."""
        with self._lock:
            if self._spinner:
                spinner, self._spinner = self._spinner, None
                spinner.stop()

    def _write(self, lines: list[str]) -> None:
        self._stream.write("".join(f"{line}\n" for line in lines))
        self._stream.flush()


def _subject_lines(report: Report) -> list[SubjectLine]:
    told = [line for line in lines_of(report.facts) if is_worth_a_line(line, report)]
    return [subject_line(line, report.facts, report.findings) for line in told]


def _head(target: str, layout: Layout) -> list[str]:
    return [*layout.wrap(target, 0, "strong"), ""]


def _set_line(line: SubjectLine, layout: Layout) -> list[str]:
    mark = layout.mark(line.mark)
    left = layout.paint(mark, PAINT_OF_MARK[line.mark]) + " " * (MARK_COLUMN - len(mark))
    if layout.width is not None and layout.width < STACKED_BELOW:
        return [left + line.title, *layout.wrap(line.text, MARK_COLUMN)]
    first, *rest = layout.wrap(line.text, TEXT_COLUMN)
    return [f"{left}{line.title:{TEXT_COLUMN - MARK_COLUMN}}{first[TEXT_COLUMN:]}", *rest]


def _tail(report: Report, layout: Layout) -> list[str]:
    """The findings, one block each, notes side by side; what was not judged; the verdict."""
    windows = report.facts.system is not None and report.facts.system.os == "win32"
    lines: list[str] = []
    before = ""
    for finding in by_gravity(report):
        gap = [] if before == finding.severity == "note" else [""]
        lines += [*gap, *block(finding, layout, windows=windows)]
        before = finding.severity
    unasked = unasked_rules(report)
    lines += ["", *(layout.wrap(unasked, 0, "dim") if unasked else [])]
    return [*lines, *layout.wrap(verdict(report), 0, PAINT_OF_VERDICT[report.verdict])]
