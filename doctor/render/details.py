"""One finding as a block of text: what was seen, why, the way out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from doctor.findings import Evidence, Finding, Fix
from doctor.plain import one_line
from doctor.render.layout import Layout, Paint
from doctor.render.shell import command_line

COLUMN = 10  # where text starts, right of the labels
SHOWN_LINES = 8  # of one piece of evidence; an error text may be long

_PAINT: dict[str, Paint] = {"error": "bad", "warning": "warn", "note": "note"}


def block(finding: Finding, layout: Layout, *, windows: bool = False) -> list[str]:
    """A finding in full; a note in one paragraph."""
    if finding.severity == "note":
        return _note(finding, layout)
    return [
        *_header(finding, layout),
        "",
        *_evidence(finding.evidence, layout),
        *_why(finding.why, layout),
        *(layout.labelled("breaks", ", ".join(finding.breaks), COLUMN) if finding.breaks else []),
        *_fixes(finding.fixes, layout, windows),
        *_symptoms(finding.symptoms, layout),
        *layout.labelled("more", f"lora-doctor explain {finding.id}", COLUMN, "command"),
    ]


def _header(finding: Finding, layout: Layout) -> list[str]:
    doubt = "" if finding.confidence == "confirmed" else f" ({finding.confidence})"
    severity = layout.paint(finding.severity, _PAINT[finding.severity])
    name = layout.paint(layout.clean(one_line(finding.id)), "strong")
    return [f"{severity}  {name}{doubt}", *layout.wrap(finding.title, 2)]


def _note(finding: Finding, layout: Layout) -> list[str]:
    label = layout.paint("note", "note")
    first, *rest = layout.wrap(f"{finding.id}: {finding.title}", 6)
    return [f"{label}  {first[6:]}", *rest]


def _evidence(evidence: Sequence[Evidence], layout: Layout) -> Iterator[str]:
    """A table where every row fits on a line, else one paragraph a row."""
    if not evidence:
        return
    rows = _table(evidence, layout) or [line for one in evidence for line in _row(one, layout)]
    yield layout.heading("seen", COLUMN) + rows[0][COLUMN:]
    yield from rows[1:]


def _table(evidence: Sequence[Evidence], layout: Layout) -> list[str]:
    cells = [[layout.clean(text) for text in (one.subject, one.seen, _asked(one))] for one in evidence]
    wide, deep = (max(len(row[column]) for row in cells) for column in (0, 1))
    rows = [
        f"{'':{COLUMN}}{subject:{wide}}  {seen:{deep}}  {asked}".rstrip() for subject, seen, asked in cells
    ]
    return rows if all(layout.fits(len(row)) and "\n" not in row for row in rows) else []


def _asked(one: Evidence) -> str:
    """What was wanted in its place, and where it stands in a file."""
    where = f"({one.where})" if one.where else ""
    return " ".join(filter(None, [f"wanted {one.wanted}" if one.wanted else "", where]))


def _row(one: Evidence, layout: Layout) -> list[str]:
    lines = [line for line in layout.clean(one.seen).split("\n") if line.strip()]
    wanted = _asked(one)
    if len(lines) < 2:
        joint = ", " if one.wanted and lines else " "
        return layout.wrap(f"{one.subject}: {joint.join([*lines, *filter(None, [wanted])])}", COLUMN)
    left = len(lines) - SHOWN_LINES
    shown = [*lines[:SHOWN_LINES], f"({left} more lines)"] if left > 0 else lines
    told = [row for line in [*shown, wanted] if line for row in layout.wrap(line, COLUMN + 2)]
    return [*layout.wrap(f"{one.subject}:", COLUMN), *told]


def _why(why: str, layout: Layout) -> list[str]:
    paragraphs = [part for part in why.split("\n\n") if part.strip()]
    lines = [line for part in paragraphs for line in [*layout.wrap(part, COLUMN), ""]][:-1]
    return [layout.heading("why", COLUMN) + lines[0][COLUMN:], *lines[1:]] if lines else []


def _fixes(fixes: Sequence[Fix], layout: Layout, windows: bool) -> Iterator[str]:
    for number, fix in enumerate(fixes):
        yield from layout.labelled("or" if number else "fix", f"{fix.title}{_standing(fix)}", COLUMN)
        for command in fix.commands:
            # Never broken: it is there to be copied.
            line = layout.clean(command_line(command, windows=windows))
            yield f"{'':{COLUMN + 2}}{layout.paint(line, 'command')}"


def _standing(fix: Fix) -> str:
    words: list[str] = [fix.scope] if fix.scope in ("system", "hardware") else []
    if fix.verified is not None:
        words.append("verified" if fix.verified else "not verified")
    return f" ({', '.join(words)})" if words else ""


def _symptoms(symptoms: Sequence[Finding], layout: Layout) -> Iterator[str]:
    for symptom in symptoms:
        yield from layout.labelled("also", f"explains {symptom.id}: {symptom.title}", COLUMN)
        yield from _symptoms(symptom.symptoms, layout)
