"""Pages of findings that no rule judges: of the doctor itself, of a paste, of ranks together."""

from __future__ import annotations

from doctor.pages.together import TOGETHER
from doctor.plugins.rules import FAILED, FAILED_PAGE
from doctor.rules import Rule

CRASHED = """A rule of the doctor failed

Why: the doctor has a fault of its own, or the facts were of a kind that it does not know. It says nothing of
your environment; the other rules were asked all the same.

See: the finding names the rule and what it raised.

Fix: upgrade lora-doctor. If it stays, report it with the output of lora-doctor report.

Verify: the check no longer names it."""
HARMLESS = """Lines that healthy environments print as well

Why: warnings of deprecation, banners and notes on parts that are not used look alarming and stop nothing.
They often stand right above an error that has another cause.

See: the run goes on after the line, or another error follows it.

Fix: leave them. Where a run stops, look for the first line that names an error, and ask for that.

Verify: there is nothing to cure.

Tried in vain: changing versions until the line goes away."""


def page_alone(id: str, page: str) -> Rule:
    """A rule that finds nothing and has a page."""
    return Rule(id, "note", ("paste",), (), (), lambda: page, lambda facts: ())


ALONE = (
    page_alone("doctor/rule-crashed", CRASHED),
    page_alone(FAILED, FAILED_PAGE),
    page_alone("report/harmless-lines", HARMLESS),
    *(page_alone(id, page) for id, page in TOGETHER.items()),
)
