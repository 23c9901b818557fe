"""A report as Markdown: what goes into an issue.

The verdict, its root cause and the versions that matter stand open; all else is folded, what is most telling
first. Only what may be published is told (``doctor/disclosure.py``).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from doctor.disclosure import disclosed
from doctor.findings import Evidence, Finding, Fix, Report
from doctor.render.describe import listed, plural
from doctor.render.issue_limits import BODY_LIMIT_BYTES
from doctor.render.lines import examining
from doctor.render.markdown_blocks import Block, blocks, versions
from doctor.render.markdown_text import clipped, code, fenced, folded, prose, table
from doctor.render.shell import command_line
from doctor.render.verdict import by_gravity, verdict

LAST_LINE = 400  # bytes for the words on what was left out
A_FINDING = "a finding"  # the name of a block, of which there are many
TEXT_LIMIT = 1_500  # of one title, reason or value
HEAD_LIMIT = 150  # of each text in the opening
VERDICT_LIMIT = 600
SUMMARY_LIMIT = 200  # of the line that is seen of a folded finding
SHOWN_ROWS = 12  # of evidence, fixes, commands and symptoms of one finding


def render(report: Report, limit_bytes: int = BODY_LIMIT_BYTES) -> str:
    """The whole report, at most so long: blocks that matter least are left out whole, and named."""
    report = disclosed(report)
    room = limit_bytes - LAST_LINE
    room_of_findings = room * 2 // 3
    told, left_out = [], list[str]()
    for block in (*_opening(report, room), *_folded_findings(report), *blocks(report)):
        size = size_bytes(block.text) + 2
        if size > (min(room, room_of_findings) if block.name == A_FINDING else room):
            left_out.append(block.name)
            continue
        told.append(block.text)
        room -= size
        room_of_findings -= size
    if left_out:
        told.append(f"Left out, since there is no room for it: {_named(left_out)}.")
    return "\n\n".join(told) + "\n"


def size_bytes(text: str) -> int:
    """The length of a text in UTF-8."""
    return len(text.encode("utf-8", "replace"))


def opening(report: Report) -> Iterator[str]:
    """How it stands, and who says so."""
    yield f"**{prose(clipped(verdict(report), VERDICT_LIMIT))}**"
    name = examining(code(clipped(report.subject.name, HEAD_LIMIT)), None)
    interpreter = report.facts.interpreter
    about = f" ({_short(f'Python {interpreter.version}, {interpreter.kind}')})" if interpreter else ""
    told_by = f"lora-doctor {_short(report.tool_version)}, matrix of {_short(report.matrix_reviewed)}"
    yield f"{name}{about}, {told_by}."


def root_cause(report: Report) -> Finding | None:
    """The finding whose repair comes first; None where there is none."""
    return next((one for one in report.findings if one.id == report.primary), None)


def root_parts(report: Report) -> list[str]:
    """The root cause: its heading, its title, then all that speaks for it and cures it; [] where none is."""
    root = root_cause(report)
    return list(_finding(root, report)) if root else []


def _opening(report: Report, room: int) -> Iterator[Block]:
    for text in opening(report):
        yield Block("", text)
    parts = root_parts(report)
    if parts:
        whole = "\n\n".join(parts)
        # A cause that has no room with all its evidence is still named.
        yield Block("", whole if size_bytes(whole) < room // 2 else parts[0])
    yield Block("the versions", f"### Versions\n\n{versions(report.facts)}")


def _folded_findings(report: Report) -> Iterator[Block]:
    root = root_cause(report)
    for finding in by_gravity(report):
        if finding is not root:
            yield Block(A_FINDING, _folded(finding, report))


def _folded(finding: Finding, report: Report) -> str:
    """One finding behind its title; where there is no more of it, that is all."""
    _, title, *parts = _finding(finding, report)
    if not parts:
        return f"- {_kind(finding)}: {code(clipped(finding.id, HEAD_LIMIT))}: {title}"
    summary = f"{_kind(finding)}: {finding.id}: {finding.title}"
    body = parts if len(summary) <= SUMMARY_LIMIT else [title, *parts]
    return folded(clipped(summary, SUMMARY_LIMIT), "\n\n".join(body))


def _named(left_out: Sequence[str]) -> str:
    """What was left out; of findings, how many."""
    count = left_out.count(A_FINDING)
    names = [f"{plural(count, 'finding')} of less weight"] if count else []
    return listed(names + [name for name in left_out if name != A_FINDING])


def _short(text: str) -> str:
    return prose(clipped(text, HEAD_LIMIT))


def findings(report: Report, room: int) -> Iterator[str]:
    """Each in full where there is room for it, else by its name and title alone."""
    left_out = 0
    for finding in by_gravity(report):
        parts = list(_finding(finding, report))
        forms = ("\n\n".join(parts), "\n\n".join(parts[:2]))
        told = next((form for form in forms if len(form) + 2 <= room), None)
        left_out += told is None
        room -= len(told) + 2 if told else 0
        if told:
            yield told
    if left_out:
        yield f"{plural(left_out, 'more finding')} had no room here."


def _finding(finding: Finding, report: Report) -> Iterator[str]:
    yield f"### {_kind(finding)}: {code(clipped(finding.id, HEAD_LIMIT))}"
    yield f"{_text(finding.title)}"
    yield from _evidence(finding.evidence[:SHOWN_ROWS])
    yield from (_text(part) for part in finding.why.split("\n\n")[:SHOWN_ROWS] if part.strip())
    if finding.breaks:
        yield f"Breaks {', '.join(code(stage) for stage in finding.breaks)}."
    for fix in finding.fixes[:SHOWN_ROWS]:
        yield from _fix(fix, report)
    if finding.symptoms:
        shown = finding.symptoms[:SHOWN_ROWS]
        yield "\n".join(f"- explains {code(symptom.id)}: {_text(symptom.title)}" for symptom in shown)


def _kind(finding: Finding) -> str:
    return (
        finding.severity if finding.confidence == "confirmed" else f"{finding.severity}, {finding.confidence}"
    )


def _evidence(evidence: Sequence[Evidence]) -> Iterator[str]:
    """Values in a table; what has lines of its own, an error text, keeps them below it."""
    short = [one for one in evidence if "\n" not in one.seen.strip()]
    head = ("", "seen", "wanted", *(("where",) if any(one.where for one in evidence) else ()))
    rows = [
        [
            code(clipped(cell, TEXT_LIMIT))
            for cell in (one.subject, one.seen, one.wanted, one.where)[: len(head)]
        ]
        for one in short
    ]
    if rows:
        yield table(head, rows)
    for one in evidence:
        if one not in short:
            wanted = f", wanted {code(clipped(one.wanted, TEXT_LIMIT))}" if one.wanted else ""
            yield f"Seen of {code(clipped(one.subject, TEXT_LIMIT))}{wanted}:"
            yield fenced(clipped(one.seen, TEXT_LIMIT), "text")


def _fix(fix: Fix, report: Report) -> Iterator[str]:
    standing = {True: ", verified", False: ", not verified", None: ""}[fix.verified]
    yield f"**Fix** ({fix.scope}{standing}): {_text(fix.title)}"
    windows = report.facts.system is not None and report.facts.system.os == "win32"
    lines = [
        clipped(command_line(command, windows=windows), TEXT_LIMIT) for command in fix.commands[:SHOWN_ROWS]
    ]
    if lines:
        yield fenced("\n".join(lines), "bat" if windows else "sh")


def _text(text: str) -> str:
    return prose(clipped(text, TEXT_LIMIT))
