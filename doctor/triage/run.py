"""One run of ``triage``: every paste in its order, one report each, whether it can be read or not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from doctor.facts import Facts, Gap
from doctor.findings import Evidence, Finding, Report, Subject
from doctor.host import Host
from doctor.readers import Unreadable
from doctor.redact import Identity, redact
from doctor.told_names import names_in
from doctor.triage.inputs import STANDARD_INPUT, Source, sources
from doctor.triage.judging import judge
from doctor.triage.reading import read


class Triage:
    """Pastes, judged with what options say of the machine."""

    def __init__(self, host: Host, machine: Facts, ignore: Sequence[str] = ()) -> None:
        self.host, self.machine, self.ignore = host, machine, ignore
        self.unreadable: list[tuple[str, str]] = []  # name and reason

    def reports(self, paths: Sequence[str]) -> Iterator[Report]:
        """A report of each paste."""
        for path in paths:
            name = "standard input" if path == STANDARD_INPUT else path
            try:
                for source in sources(self.host, path):
                    yield self.report(source)
            except Unreadable as error:
                self.unreadable.append((name, str(error)))
                yield unread(name, str(error))

    def report(self, source: Source) -> Report:
        """The report of one paste."""
        return judged(source, self.machine, self.ignore)


def judged(source: Source, machine: Facts, ignore: Sequence[str] = ()) -> Report:
    """The report of one paste without its names and secrets, with the lines as the whole file has them."""
    report = judge(read(source.text, machine), source.name, ignore)
    report = redact(report, Identity(), names_in(source.text))
    return renumbered(report, source.lines) if source.lines else report


def renumbered(report: Report, lines: Sequence[int]) -> Report:
    """A report of the interesting lines of a log, in the line numbers of the log."""

    def where(one: Evidence) -> Evidence:
        number = one.where.removeprefix("line ")
        known = one.where.startswith("line ") and number.isdigit() and int(number) <= len(lines)
        return msgspec.structs.replace(one, where=f"line {lines[int(number) - 1]}") if known else one

    def moved(finding: Finding) -> Finding:
        return msgspec.structs.replace(finding, evidence=tuple(map(where, finding.evidence)))

    return msgspec.structs.replace(report, findings=tuple(map(moved, report.findings)))


def unread(name: str, reason: str) -> Report:
    """The report of a file that cannot be read: nothing was judged, and the gap says why."""
    from doctor import __version__
    from doctor.matrix.rows import reviewed

    gap = Gap(about="paste", kind="failed", reason=reason)
    return Report(
        tool_version=__version__,
        matrix_reviewed=str(reviewed()["date"]),
        subject=Subject("report", name),
        verdict="undetermined",
        primary=None,
        gaps=(gap,),
        facts=Facts(gaps=(gap,)),
    )
