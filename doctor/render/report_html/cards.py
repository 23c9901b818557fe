"""One card a subject: its mark, its line, the findings that speak of it, and its values."""

from __future__ import annotations

from collections.abc import Sequence

from doctor.findings import Finding, Report
from doctor.render.lines import Line, lines_of, subject_line, title_of, with_symptoms
from doctor.render.report_html.marks import KIND_OF_MARK, mark_pill
from doctor.render.report_html.markup import Html, tag
from doctor.render.report_html.seen import rows
from doctor.render.verdict import is_worth_a_line

_NAMES = {"gpu": "GPU", "cuda versions": "CUDA versions", "torch": "torch", "bitsandbytes": "bitsandbytes"}


def cards(report: Report, named: Sequence[tuple[Finding, str]]) -> Html:
    """All subjects of a report; ``named`` has each finding with the id of its element."""
    told = [line for line in lines_of(report.facts) if is_worth_a_line(line, report)]
    return tag("div", *(_card(line, report, named) for line in told), class_="cards")


def _card(line: Line, report: Report, named: Sequence[tuple[Finding, str]]) -> Html:
    told = subject_line(line, report.facts, report.findings)
    name = _NAMES.get(line.title, line.title.capitalize())
    key = line.title.replace(" ", "-")
    head = tag("div", tag("h3", name, id=f"subject-{key}"), mark_pill(told.mark), class_="head")
    links = [
        tag("li", tag("a", finding.id, href=f"#{place}"))
        for finding, place in named
        if any(title_of(one) == line.title for one in with_symptoms((finding,)))
    ]
    return tag(
        "article",
        head,
        tag("p", told.text),
        tag("ul", *links, class_="links") if links else "",
        _values(name, rows(line.title, report.facts)),
        class_=f"panel card {KIND_OF_MARK[told.mark]}",
        aria_labelledby=f"subject-{key}",
    )


def _values(name: str, told: list[tuple[str, str]]) -> Html | str:
    if not told:
        return ""
    pairs = [tag("div", tag("dt", key), tag("dd", value)) for key, value in told]
    summary = tag("summary", "Values", tag("span", f" of {name}", class_="unseen"))
    return tag("details", summary, tag("dl", *pairs))
