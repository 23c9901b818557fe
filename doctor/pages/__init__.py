"""The pages of all faults, gathered from their rules and rows, which are the only source.

A rule's docstring has the parts as paragraphs: ``Why:``, ``See:``, ``Fix:``, ``Verify:``, ``Tried in vain:``,
``References:``; a row has them as keys. What a source does not say itself is said for it (``saying.py``).
"""

from __future__ import annotations

import re
from functools import cache

from doctor.cures import name_of
from doctor.facts import Facts
from doctor.matrix.build_rules import build_rules
from doctor.matrix.computed import computed_rows
from doctor.matrix.messages import message_rules
from doctor.matrix.rows import Row, load_rows
from doctor.matrix.rules import cures
from doctor.misfit import MISFIT
from doctor.page import Brief, Case, Page
from doctor.pages.ourselves import ALONE
from doctor.pages.saying import looks_of, proofs_of, seen_by, shown_by
from doctor.pages.symptoms import readable
from doctor.pages.telling import General, general, of_family, parts_of, sentences, text_of, told_of, united
from doctor.plugins.rules import FAILED, plugin_rules
from doctor.rules import Rule, code_rules

SHOWN_REFERENCES = 6


@cache
def sources_by_id() -> dict[str, tuple[Rule | Row, ...]]:
    """The rules and rows of every fault that is known, by id in order; rules before rows."""
    # Modules register their rules as they are imported, in an order that depends on who asked first.
    in_code = sorted(code_rules(), key=lambda rule: rule.judge.__module__)
    ours: tuple[Rule, ...] = (*in_code, *message_rules(), *build_rules(), MISFIT, *ALONE)
    rules = (*ours, *(rule for rule in plugin_rules(ours) if rule.id != FAILED))
    rows = (row for row in load_rows() + computed_rows() if not row.withdrawn)
    found: dict[str, tuple[Rule | Row, ...]] = {}
    sources: tuple[Rule | Row, ...] = (*rules, *rows)
    for source in sorted(sources, key=lambda source: source.id):
        found[source.id] = (*found.get(source.id, ()), source)
    return found


@cache
def briefs() -> tuple[Brief, ...]:
    """Every fault in a list, by id."""
    pages = (page_of(id) for id in sources_by_id())
    return tuple(Brief(page.id, page.title, page.symptoms) for page in pages if page)


@cache
def page_of(id: str) -> Page | None:
    """The page of one fault in English, None for an id that is not known."""
    sources = sources_by_id().get(id, ())
    if not sources:
        return None
    rules = tuple(one for one in sources if isinstance(one, Rule))
    rows = tuple(one for one in sources if isinstance(one, Row))
    return of_rules(rules, rows) if rules else of_rows(rows)


def of_rules(rules: tuple[Rule, ...], rows: tuple[Row, ...]) -> Page:
    """A page that a rule tells; the rows of the same fault are its cases."""
    first, parts = rules[0], [parts_of(text_of(rule)) for rule in rules]
    fixes = first.cure(Facts()) if first.cure else ()
    titles = "; ".join(fix.title for fix in fixes) + "."
    sources: tuple[Rule | Row, ...] = (*rules, *rows)
    head = general().get(first.id, General())
    return Page(
        id=first.id,
        title=head.title or of_family(first.id, parts[0][""]),
        why=head.why or sentences(part["Why"] for part in parts if "Why" in part),
        see=sentences(filter(None, (told_of(parts, "See") or first.question, seen_by(first)))),
        looks=looks_of(first),
        symptoms=readable(united(one.symptoms for one in sources)),
        fix="" if parts[0].get("Fix") == titles else sentences([parts[0].get("Fix", "")]),
        fixes=tuple(fixes),
        cases=cases_of(rows),
        verify=sentences([told_of(parts, "Verify") or shown_by(first)]),
        proofs=proofs_of(first),
        in_vain=sentences([told_of(parts, "Tried in vain")]),
        references=united(part.get("References", "").split() for part in (*parts, *map(told, rows)))[
            :SHOWN_REFERENCES
        ],
    )


def of_rows(rows: tuple[Row, ...]) -> Page:
    """A page that rows of the matrix tell: of one row its own, of several what they have in common."""
    first, alone = rows[0], len(rows) == 1
    head = general().get(first.id, General()) if not alone else General()
    own = told(first)
    return Page(
        id=first.id,
        title=head.title or own[""],
        why=head.why or sentences([own["Why"]]),
        see=seen_by(*rows),
        looks=looks_of(*rows),
        symptoms=readable(united(row.symptoms for row in rows)),
        releases=own["When"] if alone else "",
        fixes=cures(first, Facts()) if alone else (),
        cases=() if alone else cases_of(rows),
        verify=shown_by(*rows),
        proofs=proofs_of(*rows),
        references=united(told(row).get("References", "").split() for row in rows)[:SHOWN_REFERENCES],
    )


def told(row: Row) -> dict[str, str]:
    """The parts of a row's page."""
    return parts_of(text_of(row))


def cases_of(rows: tuple[Row, ...]) -> tuple[Case, ...]:
    """Rows as the cases of one fault, in the order of the releases that cure them."""
    return tuple(sorted(map(case_of, rows), key=cured_by))


def cured_by(case: Case) -> tuple[str, tuple[int, ...], str]:
    """The package that cures a case, the release of it, and the releases of the case."""
    wanted = case.fixes[0].commands[-1][-1] if case.fixes and case.fixes[0].commands else ""
    return name_of(wanted), tuple(map(int, re.findall(r"\d+", wanted))), case.releases


def case_of(row: Row) -> Case:
    """A row as one case of a fault that has several."""
    parts = told(row)
    why = parts[""] if row.basis == "computed" else parts["Why"]  # a computed reason is a chain of modules
    return Case(parts["When"], sentences([why]), row.symptoms, cures(row, Facts()))
