"""A report inside another page, such as the output of a notebook's cell: no script, no links, no ids.

It takes text and ground from the page around it, whose theme it cannot know; what has a colour of its own
brings its ground along.
"""

from __future__ import annotations

from doctor.findings import Finding, Report
from doctor.render.lines import lines_of, subject_line
from doctor.render.report_html import findings
from doctor.render.report_html.marks import KIND_OF_VERDICT, mark_pill, pill
from doctor.render.report_html.markup import Html, join, tag
from doctor.render.report_html.rest import unseen
from doctor.render.verdict import by_gravity, counted, is_worth_a_line, word

_STYLE = """
.lora-doctor { font: 14px/1.5 system-ui, sans-serif; max-width: 64rem; overflow-wrap: anywhere; }
.lora-doctor p { margin: .3em 0; }
.lora-doctor .verdict { font-size: 1.15em; font-weight: 600; }
.lora-doctor .pill { display: inline-block; padding: 0 .6em; border-radius: 1em; font-size: .92em;
  font-weight: 600; white-space: nowrap; color: #fff; background: #4f5966; }
.lora-doctor .pill.ok { background: #12692f; } .lora-doctor .pill.warn { background: #7d4e00; }
.lora-doctor .pill.bad { background: #a81e17; } .lora-doctor .pill.note { background: #0b549f; }
.lora-doctor tr > th:first-child { white-space: nowrap; }
.lora-doctor .chips { list-style: none; margin: .2em 0; padding: 0; }
.lora-doctor .chips li { display: inline-block; margin-right: 1em; }
.lora-doctor .sign { width: 1em; height: 1em; vertical-align: -.12em; margin-right: .3em; fill: none;
  stroke: currentColor; stroke-width: 3; }
.lora-doctor table { border-collapse: collapse; margin: .4em 0; font-size: 1em; }
.lora-doctor td, .lora-doctor th { text-align: left; vertical-align: top; padding: .2em .9em .2em 0;
  border: 0; border-bottom: 1px solid #8886; background: none; white-space: normal; }
.lora-doctor pre { margin: .3em 0; padding: .45em .7em; border: 1px solid #8886; border-radius: 6px;
  white-space: pre-wrap; background: none; color: inherit; }
.lora-doctor h4 { margin: .8em 0 .2em; font-size: 1em; }
.lora-doctor details { margin: .5em 0; padding: .4em .8em; border: 1px solid #8886; border-radius: 8px; }
.lora-doctor summary { cursor: pointer; }
"""


def render(report: Report) -> str:
    """One ``div`` with a style that reaches nothing outside of it."""
    windows = report.facts.system is not None and report.facts.system.os == "win32"
    told = [
        subject_line(line, report.facts, report.findings)
        for line in lines_of(report.facts)
        if is_worth_a_line(line, report)
    ]
    lines = [
        tag("tr", tag("th", one.title), tag("td", mark_pill(one.mark)), tag("td", one.text)) for one in told
    ]
    return tag(
        "div",
        tag("style", Html(_STYLE)),
        tag(
            "p", pill(KIND_OF_VERDICT[report.verdict], word(report)), f" {counted(report)}", class_="verdict"
        ),
        tag("p", "Examined ", tag("code", report.subject.name)),
        *(_finding(one, report.primary, windows) for one in by_gravity(report)),
        tag("table", *lines),
        _unseen(report),
        class_="lora-doctor",
    )


def _finding(finding: Finding, primary: str | None, windows: bool) -> Html:
    summary = tag("summary", *findings.label(finding), tag("strong", finding.title))
    body = findings.body(finding, windows=windows)
    return tag("details", summary, body, open=finding.id == primary)


def _unseen(report: Report) -> Html:
    body = unseen(report)
    return tag("details", tag("summary", "Not seen, not judged"), body) if body else join(())
