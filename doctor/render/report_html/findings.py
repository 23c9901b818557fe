"""A finding as an article: what was seen, why, what it breaks, and the ways out with their commands."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from doctor.findings import Evidence, Finding, Fix, Question
from doctor.render.report_html.marks import KIND_OF_SEVERITY, pill
from doctor.render.report_html.markup import Html, Piece, join, tag
from doctor.render.shell import command_line


def root(finding: Finding, name: str, *, windows: bool) -> Html:
    """The finding to begin with, in the open: the fault on one side, the way out on the other."""
    fault = [part for part in (_evidence(finding), _why(finding), _breaks(finding)) if part]
    cure = [*_fixes(finding.fixes, windows), _more(finding)]
    sides = [tag("div", *side, class_="side") for side in (fault, cure) if side]
    title = tag("h3", finding.title, id=f"{name}-title")
    return tag(
        "article",
        tag("p", *label(finding), class_="label"),
        title,
        tag("div", *sides, class_="sides"),
        _symptoms(finding.symptoms),
        id=name,
        class_=f"panel finding {KIND_OF_SEVERITY[finding.severity]}",
        aria_labelledby=f"{name}-title",
    )


def article(finding: Finding, name: str, *, windows: bool) -> Html:
    """Any other finding, which the reader opens; an error lies open."""
    title = tag("h3", finding.title, id=f"{name}-title")
    summary = tag("summary", tag("span", *label(finding), class_="label"), title)
    inside = tag("div", body(finding, windows=windows), class_="side")
    return tag(
        "article",
        tag("details", summary, inside, open=finding.severity == "error"),
        id=name,
        class_=f"panel finding {KIND_OF_SEVERITY[finding.severity]}",
        aria_labelledby=f"{name}-title",
    )


def body(finding: Finding, *, windows: bool) -> Html:
    """All of a finding but its title, one after the other."""
    parts = [_evidence(finding), _why(finding), _breaks(finding), *_fixes(finding.fixes, windows)]
    return join([*parts, _symptoms(finding.symptoms), _more(finding)])


def command(words: Sequence[str], *, windows: bool = False) -> Html:
    """One command in a block of its own, for the script to add a button."""
    line = command_line(words, windows=windows)
    return tag(
        "pre", tag("code", line, class_="language-bat" if windows else "language-sh"), class_="command"
    )


def questions(asked: Sequence[Question], *, windows: bool) -> Iterator[Html]:
    """What to find out where nothing known decides."""
    for one in asked:
        yield tag("p", one.text)
        yield from (command(words, windows=windows) for words in one.commands)


def table(head: Sequence[str], rows: Sequence[Sequence[Piece]], kind: str = "") -> Html:
    """A table whose first column names the row."""
    heads = tag("tr", *(tag("th", name, scope="col") for name in head))
    lines = [
        tag("tr", tag("th", first, scope="row"), *(tag("td", cell) for cell in rest)) for first, *rest in rows
    ]
    return tag("table", tag("thead", heads), tag("tbody", *lines), class_=kind)


def label(finding: Finding) -> list[Piece]:
    """Severity, id, and how sure it is where it is not certain."""
    parts: list[Piece] = [pill(KIND_OF_SEVERITY[finding.severity], finding.severity), " "]
    parts += [tag("code", finding.id), " "]
    if finding.confidence != "confirmed":
        parts += [tag("span", finding.confidence, class_="dim"), " "]
    return parts


def _evidence(finding: Finding) -> Html:
    against = [tag("h4", "What speaks against it"), _seen(finding.against)] if finding.against else []
    return (
        join([tag("h4", "Evidence"), _seen(finding.evidence), *against])
        if finding.evidence
        else join(against)
    )


def _seen(evidence: Sequence[Evidence]) -> Html:
    """Values in a table; what has lines of its own, an error text, keeps them below it."""
    short = [one for one in evidence if "\n" not in one.seen.strip()]
    head = ("of", "seen", "wanted")[: 3 if any(one.wanted for one in short) else 2]
    rows = [
        [tag("code", one.subject), join([tag("code", one.seen), _where(one)]), tag("code", one.wanted)][
            : len(head)
        ]
        for one in short
    ]
    told = [table(head, rows)] if rows else []
    for one in evidence:
        if one not in short:
            wanted = [", wanted ", tag("code", one.wanted)] if one.wanted else []
            told += [
                tag("p", tag("code", one.subject), *wanted, _where(one)),
                tag("pre", one.seen.strip("\n")),
            ]
    return join(told)


def _where(one: Evidence) -> Piece:
    return tag("span", f"in {one.where}", class_="where") if one.where else ""


def _why(finding: Finding) -> Html:
    parts = [tag("p", " ".join(part.split())) for part in finding.why.split("\n\n") if part.strip()]
    return join([tag("h4", "Why"), *parts]) if parts else Html()


def _breaks(finding: Finding) -> Html:
    if not finding.breaks:
        return Html()
    stages = [tag("li", tag("code", stage)) for stage in finding.breaks]
    return join([tag("h4", "What it breaks"), tag("ul", *stages, class_="chips")])


def _fixes(fixes: Sequence[Fix], windows: bool) -> Iterator[Html]:
    for number, fix in enumerate(fixes):
        yield tag("h4", "Or" if number else "Fix")
        yield tag("p", fix.title, " ", *_standing(fix))
        yield from (command(words, windows=windows) for words in fix.commands)


def _standing(fix: Fix) -> Iterator[Html]:
    """Whom it concerns, where not the environment, and what the target's own installer said of it."""
    if fix.scope != "environment":
        yield tag("span", fix.scope, class_="pill unknown")
    if fix.verified is not None:
        yield pill("ok", "verified") if fix.verified else pill("unknown", "not verified")


def _symptoms(symptoms: Sequence[Finding]) -> Html:
    if not symptoms:
        return Html()
    return join([tag("h4", "It explains"), tag("ul", *map(_symptom, symptoms), class_="symptoms")])


def _symptom(symptom: Finding) -> Html:
    below = tag("ul", *map(_symptom, symptom.symptoms)) if symptom.symptoms else ""
    return tag("li", tag("code", symptom.id), " ", symptom.title, below)


def _more(finding: Finding) -> Html:
    return join([tag("h4", "Read more"), command(("lora-doctor", "explain", finding.id))])
