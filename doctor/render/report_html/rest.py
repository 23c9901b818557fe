"""What closes a page: what could not be seen or judged, and the whole environment, folded."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from doctor.disclosure import told_of
from doctor.facts import Facts, StageRun
from doctor.findings import Report
from doctor.render.json_report import encode
from doctor.render.markdown_blocks import measured, remark
from doctor.render.report_html.findings import table
from doctor.render.report_html.marks import pill
from doctor.render.report_html.markup import Html, Piece, tag, text
from doctor.render.verdict import plain_name, unasked_rules

LONGEST_FACTS = 100_000  # characters of the JSON: what a reader might want to look up, and no archive
_KINDS = {"failed": "could not be had", "not-asked": "not asked for", "not-applicable": "does not apply here"}
_OUTCOMES = {"ok": ("ok", "ok"), "failed": ("bad", "failed"), "blocked": ("unknown", "not run")}


def unseen(report: Report) -> Html:
    """Gaps and rules that could not be asked; nothing where there are none."""
    gaps = [(plain_name(gap.about), _KINDS[gap.kind], gap.reason) for gap in report.gaps]
    parts: list[Piece] = [table(("not seen", "how", "reason"), gaps)] if gaps else []
    if report.not_judged:
        rules = [
            tag("li", tag("code", rule.id), f" for want of {_missing(rule.missing)}")
            for rule in report.not_judged
        ]
        parts += [
            tag("p", unasked_rules(report)),
            tag("details", tag("summary", "Which rules"), tag("ul", *rules, class_="rules")),
        ]
    return tag("div", *parts, class_="panel") if parts else Html()


def _missing(fields: tuple[str, ...]) -> str:
    return ", ".join(map(plain_name, fields))


def details(facts: Facts) -> Iterator[Html]:
    """The environment, each part to be opened."""
    if facts.trial:
        failed = any(run.outcome == "failed" for run in facts.trial.runs)
        yield _folded("The trial, stage by stage", _stages(facts.trial.runs), is_open=failed)
    if facts.packages and facts.packages.installed:
        names = sorted(facts.packages.installed.items())
        lines = "\n".join(f"{name}=={package.version or '?'}" for name, package in names)
        yield _folded(f"Installed packages ({len(names)})", _block(lines, "the installed packages"))
    if facts.environment:
        yield _folded("Environment variables", table(("name", "value"), _variables(facts)))
    yield _folded("Facts as JSON", _block(_json(facts), "the facts"))


def _folded(title: str, body: Html, *, is_open: bool = False) -> Html:
    return tag("details", tag("summary", title), body, class_="panel", open=is_open)


def _block(lines: str, name: str) -> Html:
    return tag("pre", tag("code", text(lines, LONGEST_FACTS), class_="language-text", data_name=name))


def _stages(runs: tuple[StageRun, ...]) -> Html:
    rows = [(run.stage, pill(*_OUTCOMES[run.outcome]), *measured(run), remark(run)) for run in runs]
    return table(("stage", "outcome", "time", "peak", "remark"), rows, "stages")


def _variables(facts: Facts) -> list[tuple[str, Html]]:
    return [(name, tag("code", value)) for name, value in sorted((facts.environment or {}).items())]


def _json(facts: Facts) -> str:
    """Without the packages, which have their own list, and the gaps, which have theirs."""
    told = {name: value for name, value in told_of(facts).items() if name not in ("packages", "gaps")}
    return msgspec.json.format(encode(told), indent=1).decode()
