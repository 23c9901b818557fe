"""A check as ``fix`` and ``install`` run it: the same questions, asked of one interpreter after another."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from doctor.target import Target

if TYPE_CHECKING:
    from doctor.cli.examination import Examination
    from doctor.findings import Report
    from doctor.host import LocalHost
    from doctor.probes import Looks


class Checking(NamedTuple):
    """The options of a check."""

    quick: bool
    stage_limit_s: float
    ignore: tuple[str, ...] = ()
    strict: bool = False  # are warnings and gaps as grave as errors?

    def examination(self, host: LocalHost, target: Target) -> Examination:
        """The first examination of a target, with the looks that were begun at it."""
        from doctor.cli.early import take_up

        return self.of(take_up(host, target))

    def of(self, looks: Looks) -> Examination:
        """One examination with these options."""
        from doctor.cli.examination import Examination

        return Examination(looks, quick=self.quick, stage_limit_s=self.stage_limit_s, ignore=self.ignore)

    def report(self, host: LocalHost, python: str) -> Report:
        """The report of an interpreter by its path, looked at anew; nothing in it is masked."""
        from doctor.probes import Looks

        examination = self.of(Looks(host, Target(python, "--python")))
        examination.run()
        assert examination.facts is not None
        return examination.diagnosed(examination.facts)
