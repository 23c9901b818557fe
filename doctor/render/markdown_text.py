"""Foreign text inside Markdown (CommonMark with GitHub's tables): shown, and never obeyed."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Sequence

from doctor.plain import one_line, plain

_SPECIAL = re.compile(r"([\\`*_\[\]<&|~#$])")
_AT_START = re.compile(r"^(?:([-+=>])|(\d{1,9})(?=[.)](?:\s|$)))")
_CALL_IN_HTML = re.compile(r"[@#](?=\w)|GH-(?=\w)")
_WIDE = {"@": "\uff20", "#": "\uff03", "GH-": "GH "}
# A comment ends the name before GitHub sees one: "@user" would call a person, "#12" mark an issue.
_CALL = re.compile(r"(@|\\#|GH-)(?=\w)")


def prose(text: str) -> str:
    """One line of running text."""
    escaped = _SPECIAL.sub(r"\\\1", one_line(text))
    return _CALL.sub(r"\1<!-- -->", _AT_START.sub(_escape_start, escaped))


def _escape_start(match: re.Match[str]) -> str:
    return f"\\{match[1]}" if match[1] else f"{match[2]}\\"


def code(text: str) -> str:
    """One line in a code span, as it is; a pipe is escaped for tables by the caller."""
    text = one_line(text)
    if not text:
        return ""
    fence = "`" * (_longest_run(text) + 1)
    margin = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{fence}{margin}{text}{margin}{fence}"


def fenced(text: str, language: str = "") -> str:
    """Lines in a code block; its fence is longer than any run of backticks inside."""
    text = plain(text).strip("\n")
    fence = "`" * max(3, _longest_run(text) + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of cells that are Markdown already."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(_cell(cell) for cell in line)} |" for line in lines)


def folded(summary: str, body: str) -> str:
    """A section that the reader opens."""
    return f"<details>\n<summary>{_within_html(summary)}</summary>\n\n{body}\n\n</details>"


def clipped(text: str, length: int) -> str:
    """Text cut to a length, and saying so."""
    return text if len(text) <= length else f"{text[:length]} … ({len(text) - length} more characters)"


def _within_html(text: str) -> str:
    """One line within HTML, where Markdown knows no escapes: no tag, and nothing that GitHub links."""
    return html.escape(_CALL_IN_HTML.sub(lambda mark: _WIDE[mark[0]], one_line(text)), quote=False)


def _cell(text: str) -> str:
    # In a table a pipe ends the cell even within code; GitHub takes the backslash away again.
    return re.sub(r"(?<!\\)\|", r"\\|", text)


def _longest_run(text: str) -> int:
    return max(map(len, re.findall(r"`+", text)), default=0)
