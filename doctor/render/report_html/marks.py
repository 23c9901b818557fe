"""How a status is shown: always a word and a sign, never a colour alone."""

from __future__ import annotations

from doctor.findings import Severity, Verdict
from doctor.render.lines import Mark
from doctor.render.report_html.markup import Html, tag

# Strokes in a square of 24.
_CHECK, _CROSS = "M5 12.5l4.5 4.5L19 7.5", "M6.5 6.5l11 11M17.5 6.5l-11 11"
_ALERT, _LETTER = "M12 5.5v8M12 17.5v1", "M12 5.5v1M12 10.5v8"
_QUESTION = "M8.5 9a3.5 3.5 0 1 1 5 3.2c-1 .5-1.5 1.1-1.5 2.3M12 18v1"
_PATHS = {"ok": _CHECK, "bad": _CROSS, "warn": _ALERT, "note": _LETTER, "unknown": _QUESTION}

KIND_OF_MARK: dict[Mark, str] = {"ok": "ok", "note": "note", "warn": "warn", "FAIL": "bad", "?": "unknown"}
KIND_OF_SEVERITY: dict[Severity, str] = {"error": "bad", "warning": "warn", "note": "note"}
KIND_OF_VERDICT: dict[Verdict, str] = {
    "healthy": "ok",
    "impaired": "warn",
    "broken": "bad",
    "undetermined": "unknown",
}
_WORD_OF_MARK: dict[Mark, str] = {
    "ok": "ok", "note": "note", "warn": "warning", "FAIL": "fault", "?": "not judged",
}  # fmt: skip


def sign(kind: str) -> Html:
    """The sign alone, for beside a word."""
    path = tag("path", d=_PATHS[kind])
    return tag("svg", path, class_="sign", viewBox="0 0 24 24", aria_hidden="true", focusable="false")


def pill(kind: str, word: str) -> Html:
    """Sign and word in their colour."""
    return tag("span", sign(kind), word, class_=f"pill {kind}")


def mark_pill(mark: Mark) -> Html:
    """The mark of a subject."""
    return pill(KIND_OF_MARK[mark], _WORD_OF_MARK[mark])
