"""An examination whose report is to be published: names are told apart by numbered masks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from doctor.cli.examination import Examination

if TYPE_CHECKING:
    from doctor.facts import Facts
    from doctor.findings import Report


class Publication(Examination):
    """A target being examined for a report that others will read."""

    def judged(self, facts: Facts) -> Report:
        """The report of facts without names and secrets."""
        from doctor.redact import redact_numbered

        return redact_numbered(self.diagnosed(facts), self.identity())
