"""Facts judged by the rules that are code, nothing folded and nothing ordered."""

from __future__ import annotations

from typing import Any

from healthy import facts

from doctor.diagnosis import judge
from doctor.facts import Facts
from doctor.findings import Finding, Severity
from doctor.rules import code_rules


def findings(given: Facts) -> list[Finding]:
    return judge(given, code_rules())[0]


def ids(given: Facts) -> list[str]:
    return [finding.id for finding in findings(given)]


def of(id: str, given: Facts) -> Finding:
    """The one finding of an id."""
    [finding] = [finding for finding in findings(given) if finding.id == id]
    return finding


def case(id: str, severity: Severity, given: Facts, title: str, **wanted: Any) -> tuple[Any, ...]:
    """One hit: the id that must stand alone, its severity, words of its title, and what else is asked of it.

    ``seen``: words of the evidence. ``command``: words of the first fix. ``beside``: further ids. ``name``.
    """
    return id, severity, given, title, wanted


def check(id: str, severity: Severity, given: Facts, title: str, wanted: dict[str, Any]) -> None:
    """Hold one hit against what judging yields."""
    assert sorted(set(ids(given))) == sorted({id, *wanted.get("beside", ())})
    finding = next(finding for finding in findings(given) if finding.id == id and title in finding.title)
    assert finding.severity == severity
    assert finding.title[-1] not in ".!?" and "\n" not in finding.title
    assert finding.evidence, "a finding without evidence"
    seen = " | ".join(f"{one.subject}: {one.seen} -> {one.wanted}" for one in finding.evidence)
    for words in wanted.get("seen", ()):
        assert words in seen
    if "command" in wanted:
        commands = [" ".join(command) for fix in finding.fixes for command in fix.commands]
        assert any(wanted["command"] in command for command in commands), commands
    assert len(finding.fixes) <= 2


__all__ = ["case", "check", "facts", "findings", "ids", "of"]
