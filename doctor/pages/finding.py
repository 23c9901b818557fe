"""Which pages a reader means: by an id, loosely written; by the text of an error; by words about it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import get_close_matches

import msgspec

from doctor.facts import Facts
from doctor.findings import Finding
from doctor.page import Brief, Page
from doctor.pages import briefs, page_of, sources_by_id
from doctor.pages.search import by_words
from doctor.pages.telling import united
from doctor.triage.judging import judge
from doctor.triage.reading import read
from doctor.triage.recognition import compiled

LONGEST_ID = 80


class Found(msgspec.Struct, frozen=True):
    """What was found: a page to read, and faults that fit as well; both empty where nothing was."""

    pages: tuple[Page, ...] = ()
    others: tuple[Brief, ...] = ()


def found(text: str) -> Found:
    """The page of an id, else those of an error text, else those that words are about."""
    text = text.strip()
    return by_id(text) or by_error(text) or by_search(text) or Found(others=near(text))


def by_id(text: str) -> Found | None:
    """The page of an id; of a subject, or of a fault that several subjects have, the list."""
    if len(text) > LONGEST_ID or not text:
        return None
    asked = re.sub(r"[\s_]+", "-", text.lower()).strip("`'\"")
    if page := page_of(asked):
        return Found((page,))
    ids = [id for id in sources_by_id() if asked.rstrip("/") in id.split("/")]
    if len(ids) == 1 and (page := page_of(ids[0])):
        return Found((page,))
    return Found(others=listed(ids)) if ids else None


def by_error(text: str) -> Found | None:
    """The pages of the faults that an error text is known for, the likeliest first."""
    report = judge(read(text, Facts()), "text")
    ids = [one.id for one in report.findings if any(seen.where for seen in one.evidence)]
    grave = [one.id for one in report.findings if one.id in ids and one.severity != "note"]
    return as_found(grave or ids, text)


def by_search(text: str) -> Found | None:
    """The page that words are about; a list where several are as near."""
    ranked = by_words(text)
    if ranked.is_clear:
        return as_found(ranked.ids, text)
    return Found(others=listed(ranked.ids)) if ranked.ids else by_facts(text)


def by_facts(text: str) -> Found | None:
    """The pages of what stated versions and devices lead to."""
    findings: Sequence[Finding] = judge(read(text, Facts()), "text").findings
    return as_found([one.id for one in findings if one.severity == "error"], text)


def as_found(ids: Sequence[str], text: str) -> Found | None:
    """The first in full, the others by name; None where there are none."""
    known = [page for id in dict.fromkeys(ids) if (page := page_of(id))]
    if not known:
        return None
    return Found((about(known[0], text),), listed([page.id for page in known[1:]]))


def about(page: Page, text: str) -> Page:
    """A page with the cases whose words stand in a text, if there are such."""
    seen = tuple(case for case in page.cases if any(compiled(one).search(text) for one in case.symptoms))
    return msgspec.structs.replace(page, cases=seen) if seen else page


def listed(ids: Sequence[str]) -> tuple[Brief, ...]:
    """Faults by name."""
    known = {brief.id: brief for brief in briefs()}
    return tuple(known[id] for id in ids)


def near(text: str) -> tuple[Brief, ...]:
    """Faults whose id is written almost so."""
    asked = text[:LONGEST_ID].lower() if len(text) <= LONGEST_ID else ""
    faults = united((id, id.partition("/")[2]) for id in sources_by_id())
    close = get_close_matches(asked, faults, 4, 0.8)
    return listed([id for id in sources_by_id() if id in close or id.partition("/")[2] in close])
