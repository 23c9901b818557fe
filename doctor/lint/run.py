"""One run of ``lint``: every file in its order, one report each, whether it can be read or not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from doctor.facts import Facts
from doctor.findings import Report
from doctor.host import LocalHost
from doctor.lint.inputs import STANDARD_INPUT, expand, open_source
from doctor.lint.judging import report_on, unread
from doctor.lint.scripts import Scripts
from doctor.readers import Unreadable
from doctor.readers.recognition import is_script


class Lint:
    """Files, judged for one machine."""

    def __init__(
        self,
        host: LocalHost,
        machine: Facts,
        torch_cuda: str = "",
        ignore: Sequence[str] = (),
        against: str | None = None,
        python: str | None = None,
        diff: bool = False,
    ) -> None:
        self.host, self.machine, self.torch_cuda, self.ignore = host, machine, torch_cuda, ignore
        self.scripts = Scripts(host, machine, torch_cuda, ignore, against=against, python=python)
        self.unreadable: list[tuple[str, str]] = []  # name and reason
        self.diff = diff
        self.patches: list[str] = []  # of scripts, as unified diffs, where they are asked for

    def reports(self, paths: Sequence[str]) -> Iterator[Report]:
        """A report of each file. Raises :class:`~doctor.lint.scripts.Unjudged`."""
        for path in expand(self.host, paths):
            yield self.report(path)

    def report(self, path: str) -> Report:
        """The report of one file; of one that cannot be read, a report that says so."""
        name = "standard input" if path == STANDARD_INPUT else path
        about_script = is_script(name)
        try:
            source = open_source(self.host, path)
            about_script = is_script(source.name, source.text)
            if not about_script:
                return report_on(source, self.machine, self.torch_cuda, self.ignore)
            report = self.scripts.report_on(source)
            if self.diff:
                self.patches.append(self.scripts.patch(source, report))
            return report
        except Unreadable as error:
            self.unreadable.append((name, str(error)))
            return unread(name, str(error), self.machine, "script" if about_script else "requirements")
