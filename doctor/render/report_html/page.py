"""The page of one report: the verdict, the root cause, the subjects, memory, other findings, what is open."""

from __future__ import annotations

from collections.abc import Iterator

from doctor.findings import Report
from doctor.render.report_html import bars, cards, findings, rest
from doctor.render.report_html.marks import KIND_OF_VERDICT, sign
from doctor.render.report_html.markup import Html, Piece, join, tag
from doctor.render.report_html.shell import document
from doctor.render.report_html.style import STYLE
from doctor.render.verdict import by_gravity, counted, open_subjects, word

_PULSE = "M2 13h5l2.5-7 4 13 2.8-8 1.2 2H22"


def render(report: Report) -> str:
    """The whole page."""
    sections = [(name, title, body) for name, title, body in _sections(report) if body]
    main = tag(
        "main", _verdict(report), _contents(sections), *(_section(*one) for one in sections), id="main"
    )
    return document(f"{word(report)}: {report.subject.name}", _top(), main, _foot(report), style=STYLE)


def _top() -> Html:
    pulse = tag("svg", tag("path", d=_PULSE), viewBox="0 0 24 24", aria_hidden="true", focusable="false")
    button = tag("button", id="theme", type="button", hidden=True)
    return tag("header", tag("span", pulse, "lora-doctor", class_="brand"), button, class_="top")


def _verdict(report: Report) -> Html:
    first = next((one for one in report.findings if one.id == report.primary), None)
    # A healthy environment in which the plan does not fit is no green light.
    kind = "warn" if first and report.verdict == "healthy" else KIND_OF_VERDICT[report.verdict]
    said = [tag("h1", word(report), id="verdict"), tag("p", first.title, class_="lead") if first else ""]
    about = [tag("div", tag("dt", name), tag("dd", value)) for name, value in _about(report) if value]
    return tag(
        "section",
        tag("div", sign(kind), class_="disc"),
        tag("div", *said),
        tag("dl", *about, class_="facts"),
        class_=f"panel verdict {kind}",
        aria_labelledby="verdict",
    )


def _about(report: Report) -> Iterator[tuple[str, Piece]]:
    interpreter = report.facts.interpreter
    yield "Examined", tag("code", report.subject.name)
    yield "Python", f"{interpreter.version}, {interpreter.kind}" if interpreter else ""
    yield "Found", counted(report) or "no error, no warning"
    yield "Not judged", open_subjects(report)


def _contents(sections: list[tuple[str, str, Html]]) -> Html:
    links = [tag("li", tag("a", title, href=f"#{name}")) for name, title, _ in sections]
    return tag("nav", tag("ul", *links), aria_label="Sections")


def _section(name: str, title: str, body: Html) -> Html:
    heading = tag("h2", title, id=f"{name}-heading")
    return tag("section", heading, body, id=name, aria_labelledby=f"{name}-heading")


def _sections(report: Report) -> Iterator[tuple[str, str, Html]]:
    """Name, title and body of each; empty where a report has nothing of the kind."""
    windows = report.facts.system is not None and report.facts.system.os == "win32"
    named = [(one, f"finding-{number}") for number, one in enumerate(by_gravity(report), 1)]
    roots = [(one, name) for one, name in named if one.id == report.primary][:1]
    yield "root", "Root cause", join(findings.root(*one, windows=windows) for one in roots)
    yield "asked", "To find out", _asked(report, windows)
    yield "seen", "What was seen", cards.cards(report, named)
    yield "memory", "Memory", bars.sections(report.facts)
    articles = join(findings.article(*one, windows=windows) for one in named if one not in roots)
    yield "others", "Other findings" if roots else "Findings", articles
    yield "unseen", "Not seen, not judged", rest.unseen(report)
    yield "details", "The environment in detail", join(rest.details(report.facts))


def _asked(report: Report, windows: bool) -> Html:
    asked = list(findings.questions(report.questions, windows=windows))
    return tag("div", *asked, class_="panel side") if asked else Html()


def _foot(report: Report) -> Html:
    told = f"lora-doctor {report.tool_version}, matrix of {report.matrix_reviewed}. "
    return tag(
        "footer",
        told,
        "Names and secrets are masked. This page loads nothing and sends nothing.",
        class_="foot",
    )
