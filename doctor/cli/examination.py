"""One live examination as the commands run it: begin the children early, judge, redact, tell as it goes."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from doctor.host import Host, LocalHost
from doctor.probes import Looks
from doctor.target import Target, TargetNotFound, find_target

if TYPE_CHECKING:
    from doctor.cli.planned import Planned
    from doctor.facts import Facts
    from doctor.findings import Report
    from doctor.redact import Identity
    from doctor.render.terminal import LiveTerminal


class Examination:
    """A target being examined. Nothing heavy is imported before its children run."""

    def __init__(
        self,
        looks: Looks,
        *,
        quick: bool,
        stage_limit_s: float,
        static: bool = False,
        ignore: Sequence[str] = (),
        planned: Planned | None = None,
    ) -> None:
        self.looks, self.host, self.target, self.ignore = looks, looks.host, looks.target, tuple(ignore)
        self.static, self.planned = static, planned
        looks.quick, looks.trial.stage_limit_s = quick or static, stage_limit_s
        looks.left_out_by = "--static" if static else "--quick"
        self.live: LiveTerminal | None = None
        self.facts: Facts | None = None  # as they are, once all are gathered
        self._told: set[str] = set()
        self._now = ""

    def run(self) -> Report:
        """Gather and judge."""
        from doctor.checkup import FIELDS, STATIC_FIELDS, gather
        from doctor.diagnosis import machine_rules
        from doctor.plugins.probes import Extras

        self.looks.begin()
        extras = Extras(self.looks)
        machine_rules()  # read while the children look, not after
        try:
            if self.live:
                self.live.begin(
                    f"Examining {self.redacted(self.target.executable)} ({self.target.chosen_by})"
                )
                self.looks.trial.on_stage = self.say
                self.say("what is installed")
            fields = STATIC_FIELDS if self.static else FIELDS
            facts = extras.added_to(gather(self.looks, self.tell if self.live else None, fields))
            self.facts = self.with_workload(facts, self.planned) if self.planned else facts
            return self.judged(self.facts)
        finally:
            if self.live:
                self.live.stop()

    def with_workload(self, facts: Facts, planned: Planned) -> Facts:
        """The facts with what the plan needs; a gap where that cannot be told."""
        import msgspec

        from doctor.workload import Workload

        self.say("the plan")
        found = planned.workload(facts, self.target, traces=not self.looks.quick)
        told = {"workload": found} if isinstance(found, Workload) else {"gaps": (*facts.gaps, found)}
        facts = msgspec.structs.replace(facts, **told)
        if self.live:
            self.tell(facts)
        return facts

    def judged(self, facts: Facts) -> Report:
        """The redacted report of facts."""
        from doctor.redact import redact

        return redact(self.diagnosed(facts), self.identity())

    def diagnosed(self, facts: Facts) -> Report:
        """The report of facts as it is, for our own use: its commands name real paths."""
        from doctor.diagnosis import diagnose
        from doctor.findings import Subject

        return diagnose(facts, Subject("live", self.target.executable), self.ignore)

    def redacted(self, text: str) -> str:
        """A text for the screen without names and secrets."""
        from doctor.redact import redact_text

        return redact_text(text, self.identity())

    def identity(self) -> Identity:
        """Whom no output may name."""
        return identity_of(self.host)

    def tell(self, facts: Facts) -> None:
        """Print each subject whose facts have just become known."""
        from doctor.render.lines import is_settled, lines_of, subject_line

        settled = [
            line for line in lines_of(facts) if line.title not in self._told and is_settled(line, facts)
        ]
        if settled and self.live:
            report = self.judged(facts)
            for line in settled:
                self._told.add(line.title)
                self.live.line(subject_line(line, report.facts, report.findings))
            self.say(self._now)

    def say(self, what: str) -> None:
        """Name what runs now: a stage of the trial, or the survey before it."""
        self._now = what
        if self.live:
            self.live.working(what)


def identity_of(host: Host) -> Identity:
    """The user and the machine, whom no output may name."""
    from doctor.redact import Identity

    env = host.env
    user = env.get("USER") or env.get("LOGNAME") or env.get("USERNAME") or ""
    home = os.path.expanduser("~")
    name = os.uname().nodename if hasattr(os, "uname") else env.get("COMPUTERNAME", "")
    return Identity(home="" if home == "~" else home, user=user, host=name)


def chosen_target(host: LocalHost, python: str | None) -> Target:
    """The target that is asked for or found. Leaves with 3 where there is none."""
    from doctor.cli.output import EXIT_NOT_EXAMINED, refuse

    try:
        return find_target(host, python)
    except TargetNotFound as error:
        refuse(str(error), error.hint, EXIT_NOT_EXAMINED)
