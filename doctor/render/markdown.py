"""A report as Markdown: what goes into an issue."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from doctor.facts import Facts, StageRun
from doctor.findings import Evidence, Finding, Fix, Report
from doctor.render.describe import failure, gib, plural
from doctor.render.json_report import encode
from doctor.render.lines import examining, lines_of, subject_line
from doctor.render.markdown_text import clipped, code, fenced, folded, prose, table
from doctor.render.shell import command_line
from doctor.render.verdict import by_gravity, is_worth_a_line, unasked_rules, verdict

LIMIT = 60_000  # characters; GitHub refuses an issue of more than 65,536
BODY_LIMIT = 45_000  # of what is not folded
TEXT_LIMIT = 1_500  # of one title, reason or value
SHOWN_ROWS = 12  # of evidence, fixes, commands and symptoms of one finding


def render(report: Report) -> str:
    """The whole report, at most LIMIT characters: what matters least is left out first, and named."""
    subjects = _subjects(report)
    opening = "\n\n".join(_opening(report))
    body = "\n\n".join([opening, *findings(report, BODY_LIMIT - len(subjects) - len(opening)), subjects])
    left_out = []
    for name, section in _sections(report):
        if len(body) + len(section) > LIMIT - 500:
            left_out.append(name)
        elif section:
            body += f"\n\n{section}"
    if left_out:
        body += f"\n\nLeft out, since an issue has no room for it: {', '.join(left_out)}."
    return body + "\n"


def _opening(report: Report) -> Iterator[str]:
    yield f"**{prose(clipped(verdict(report), TEXT_LIMIT))}**"
    name = examining(code(clipped(report.subject.name, TEXT_LIMIT)), None)
    interpreter = report.facts.interpreter
    about = f" ({prose(f'Python {interpreter.version}, {interpreter.kind}')})" if interpreter else ""
    told_by = f"lora-doctor {_text(report.tool_version)}, matrix of {_text(report.matrix_reviewed)}"
    yield f"{name}{about}, {told_by}."


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
    doubt = "" if finding.confidence == "confirmed" else f", {finding.confidence}"
    yield f"### {finding.severity}{doubt}: {code(finding.id)}"
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


def _subjects(report: Report) -> str:
    told = [
        subject_line(line, report.facts, report.findings)
        for line in lines_of(report.facts)
        if is_worth_a_line(line, report)
    ]
    rows = [(line.title, line.mark, _text(line.text)) for line in told]
    return "### What was seen\n\n" + table(("", "", ""), rows)


def _sections(report: Report) -> Iterator[tuple[str, str]]:
    """The folded parts, the most telling first."""
    yield "the gaps", _gaps(report)
    yield "the stages of the trial", _trial(report.facts)
    yield "the installed packages", _packages(report.facts)
    yield "all facts as JSON", _facts(report.facts)


def _gaps(report: Report) -> str:
    rows = [(code(gap.about), gap.kind, _text(gap.reason)) for gap in report.gaps]
    body = table(("not seen", "", "reason"), rows) if rows else ""
    unasked = unasked_rules(report)
    parts = [part for part in (body, prose(unasked)) if part]
    return folded("What could not be seen or asked", "\n\n".join(parts)) if parts else ""


def _trial(facts: Facts) -> str:
    if not facts.trial:
        return ""
    rows = [(run.stage, run.outcome, *_measured(run), _text(_remark(run))) for run in facts.trial.runs]
    return folded("Stages of the trial", table(("stage", "outcome", "time", "peak", ""), rows))


def _measured(run: StageRun) -> tuple[str, str]:
    return ("", "") if run.outcome == "blocked" else (f"{run.seconds:.1f} s", gib(run.peak_bytes))


def _remark(run: StageRun) -> str:
    """What a stage failed of or waits for, and the claims that do not hold."""
    chain = run.failure.chain if run.failure else ()
    words = ": ".join(chain[-1]) if chain else failure(run) if run.outcome == "failed" else run.blocked_by
    flaws = [f"{proof.name}: {proof.seen}, wanted {proof.wanted}" for proof in run.proofs if not proof.holds]
    return "; ".join(filter(None, [words, *flaws]))


def _packages(facts: Facts) -> str:
    if not facts.packages or not facts.packages.installed:
        return ""
    lines = [
        f"{name}=={package.version or '?'}" for name, package in sorted(facts.packages.installed.items())
    ]
    return folded(f"Installed packages ({len(lines)})", fenced("\n".join(lines)))


def _facts(facts: Facts) -> str:
    """All but the packages, which have their own list, and the gaps, which have theirs."""
    fields = {
        name: value for name, value in msgspec.to_builtins(facts).items() if name not in ("packages", "gaps")
    }
    return folded("Facts", fenced(msgspec.json.format(encode(fields), indent=1).decode(), "json"))
