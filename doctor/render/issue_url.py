"""The address of a new issue on GitHub, its title and body filled in with the short form of a report.

Parameters: https://docs.github.com/en/issues/tracking-your-work-with-issues/using-issues/creating-an-issue
A field of an issue form is filled in by its id; GitHub's servers take 8,191 bytes of an address.
"""

from __future__ import annotations

import string
from collections.abc import Iterator

from doctor.disclosure import disclosed
from doctor.findings import Report
from doctor.plain import one_line
from doctor.render.issue_limits import TEMPLATE, TITLE_LIMIT, URL_LIMIT_BYTES
from doctor.render.markdown import opening, root_cause, root_parts
from doctor.render.markdown_blocks import versions
from doctor.render.markdown_text import code, prose
from doctor.render.verdict import by_gravity, verdict

SHOWN_FINDINGS = 12
WHOLE_REPORT = "This is the short form. Paste the whole report below it: what `lora-doctor report` prints."
FIELD = "report"  # of our own form
# As a form sends them: https://url.spec.whatwg.org/#application-x-www-form-urlencoded-percent-encode-set
_AS_THEY_ARE = frozenset((string.ascii_letters + string.digits + "*-._").encode())


def issue_url(report: Report, repository: str, template: str = "") -> str:
    """The address, at most URL_LIMIT_BYTES. ``repository`` and ``template``: as in ``issue_limits``."""
    report = disclosed(report)
    found = TEMPLATE.fullmatch(template)
    is_form = found is not None and not template.partition(":")[0].endswith(".md")
    field = ((found["field"] if found else None) or FIELD) if is_form else "body"
    chosen = f"template={found['file']}&" if found else ""
    begun = f"https://github.com/{repository}/issues/new?{chosen}title={encoded(title(report))}&{field}="
    return begun + encoded(short_form(report, URL_LIMIT_BYTES - len(begun)))


def title(report: Report) -> str:
    """The root cause, or how it stands in a sentence; plain text, as titles are."""
    root = root_cause(report)
    text = one_line(root.title) if root else ""
    text = text or one_line(verdict(report).partition(". ")[0])
    return text if len(text) <= TITLE_LIMIT else f"{text[: TITLE_LIMIT - 2]} …"


def short_form(report: Report, room: int) -> str:
    """The report in Markdown, as much of it as has room once it is encoded; each part whole or not at all."""
    last = f"\n\n{WHOLE_REPORT}\n"
    room -= len(encoded(last))
    told: list[str] = []
    for part in _parts(report):
        size = len(encoded(f"{part}\n\n"))
        if size <= room:
            told.append(part)
            room -= size
    return "\n\n".join(told) + last


def encoded(text: str) -> str:
    """A value of a query."""
    return "".join(_of_byte(byte) for byte in text.encode("utf-8", "replace"))


def _of_byte(byte: int) -> str:
    return chr(byte) if byte in _AS_THEY_ARE else "+" if byte == 0x20 else f"%{byte:02X}"


def _parts(report: Report) -> Iterator[str]:
    """What tells most first."""
    yield from opening(report)
    parts = root_parts(report)
    if parts:
        yield "\n\n".join(parts[:2])
    yield versions(report.facts)
    root = root_cause(report)
    others = [one for one in by_gravity(report) if one is not root and one.severity != "note"]
    if others:
        lines = (f"- {one.severity}: {code(one.id)}: {prose(one.title)}" for one in others[:SHOWN_FINDINGS])
        yield "\n".join(lines)
    yield from parts[2:]
