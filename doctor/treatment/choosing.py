"""Which fix of each finding is taken, so that one set satisfies them all and little changes."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, product
from typing import NamedTuple

import msgspec

from doctor.diagnosis import UNMET
from doctor.facts import Facts
from doctor.findings import Finding, Fix
from doctor.proposal import installed_versions
from doctor.treatment.changes import Change, changes_of, name_of
from doctor.treatment.foreseeing import Outlook, outlook
from doctor.treatment.solving import Solved, is_a_makers_torch, solved, sources_of_their_own

TRIED = 8  # choices among the fixes of all findings
ROUNDS = 2  # what a cure brings is cured with it; by then it brings nothing new, or nothing helps
LITTLE = (0, 0, 2, 0)  # a cost: nothing is left, one package gives way, nothing comes new
WEIGHED = ("install", "remove")  # changes whose outcome the tables of releases can foresee


class Choice(NamedTuple):
    """A finding, the fix that was chosen for it, and what that changes; None of one for a person."""

    finding: Finding
    fix: Fix
    changes: tuple[Change, ...] | None


class Chosen(NamedTuple):
    """The fixes that are taken, what to install for them all, and what a check would find then."""

    choices: tuple[Choice, ...]
    outcome: Solved
    outlook: Outlook
    conflicts: Mapping[str, str]  # ids of findings whose fix goes with none of the others -> why

    def foresees(self, finding: Finding) -> bool | None:
        """Will it be gone? None where releases do not tell, or where more than releases changes for it."""
        changes = next((one.changes for one in self.choices if one.finding is finding), None)
        if any(change.kind not in WEIGHED for change in changes or ()):
            return None
        return not self.outlook.remains(finding) if self.outlook.is_of_releases(finding) else None


def chosen(facts: Facts, findings: Sequence[Finding]) -> Chosen:
    """A fix for each finding, and one set that satisfies them all.

    The fixes that findings name first are held against leaving it to the solve which package gives way: of
    the two that which cures more is taken, and of equals that which changes less.
    """
    options = [tuple(choices_of(facts, finding)) for finding in findings if finding.fixes]
    first = tuple(option[0] for option in options)
    candidates = []
    for is_narrow in (True, False):
        candidates.append(weighed(facts, first, is_narrow=is_narrow))
        if candidates[-1].outcome.holds and cost(facts, candidates[-1]) <= LITTLE:
            return with_what_follows(facts, candidates[-1])
    free = weighed(facts, first, is_free=True)
    left = [one.finding for one in first if free.foresees(one.finding) is False]
    candidates += [free, weighed(facts, first, is_free=True, firm=left)] if left else [free]
    if not any(one.outcome.holds for one in candidates):
        others = islice(product(*options), 1, TRIED)
        candidates += [weighed(facts, choices, is_free=True) for choices in others]
    holding = [one for one in candidates if one.outcome.holds] or [as_far_as_they_go(facts, first)]
    return with_what_follows(facts, min(holding, key=lambda one: cost(facts, one)))


def weighed(
    facts: Facts,
    choices: Sequence[Choice],
    *,
    is_free: bool = False,
    is_narrow: bool = False,
    firm: Sequence[Finding] = (),
    also: Sequence[Change] = (),
) -> Chosen:
    """These choices with their outcome; ``is_free`` where faults of releases are left to the solve.

    But for those that are ``firm``. ``is_narrow`` as in :func:`solved`. ``also`` are changes that no finding
    asks for so far.
    """
    changes = [*also, *(change for one in choices for change in one.changes or ())]
    free = freed(facts, choices, firm) if is_free else ()
    outcome = without_needless(solved(facts, changes, free, is_narrow=is_narrow), choices)
    return Chosen(tuple(choices), outcome, outlook(facts, outcome), {})


def without_needless(outcome: Solved, choices: Sequence[Choice]) -> Solved:
    """The outcome without what only packages wish for that give way: an installer sees to the new release."""
    giving_way = {name_of(one) for one in outcome.requirements}
    needed: dict[str, bool] = {}
    for finding, _, changes in choices:
        asker = finding.evidence[0].subject if finding.id == UNMET and finding.evidence else ""
        for name in (name_of(one) for change in changes or () for one in change.packages):
            needed[name] = needed.get(name, False) or asker not in giving_way
    kept = (
        one for one in outcome.requirements if needed.get(name_of(one), True) or name_of(one) in outcome.pins
    )
    return msgspec.structs.replace(outcome, requirements=tuple(kept))


def freed(facts: Facts, choices: Sequence[Choice], firm: Sequence[Finding]) -> tuple[Change, ...]:
    """Changes that only releases ask for, in which it can be seen whether another release cures as well."""
    now = outlook(facts, Solved())
    of_releases = [one for one in choices if one.finding not in firm and now.is_of_releases(one.finding)]
    return tuple(change for one in of_releases for change in one.changes or ())


def as_far_as_they_go(facts: Facts, choices: Sequence[Choice]) -> Chosen:
    """The choices that go together, taken in the order of the findings, and why the others do not."""
    taken: list[Choice] = []
    conflicts: dict[str, str] = {}
    for choice in choices:
        outcome = weighed(facts, [*taken, choice], is_free=True).outcome if choice.changes else None
        if outcome is None or outcome.holds:
            taken.append(choice)
        else:
            conflicts[choice.finding.id] = next(iter(outcome.because), "it goes with none of the others")
    return weighed(facts, taken, is_free=True)._replace(conflicts=conflicts)


def with_what_follows(facts: Facts, best: Chosen) -> Chosen:
    """The choice, with the cures of what it would bring, where they cure more than they bring."""
    for _ in range(ROUNDS):
        fixes = [changes_of(one.fixes[0].commands) for one in best.outlook.new if one.fixes]
        wishes = [change for changes in fixes for change in changes or () if change.kind == "install"]
        also = [one for one in wishes if best.outcome.gone.isdisjoint(map(name_of, one.packages))]
        if not also or not best.outcome.holds:
            return best
        wider = weighed(facts, best.choices, is_free=True, also=also)._replace(conflicts=best.conflicts)
        grows = replaced(facts, wider.outcome) - replaced(facts, best.outcome)
        if not wider.outcome.holds or burden(wider) >= burden(best) or grows > len(also):
            return best
        best = wider
    return best


def burden(one: Chosen) -> int:
    """How many faults of releases there will be."""
    return len(one.outlook.after)


def cost(facts: Facts, one: Chosen) -> tuple[int, int, int, int]:
    """What is left or comes new, then what no index has back, then how much changes, then new warnings."""
    judged = [choice.finding for choice in one.choices if choice.changes]
    left = sum(one.foresees(finding) is False for finding in judged)
    # What a release declares is not broken for another's sake, however seldom that does harm.
    grave = sum(finding.severity == "error" or finding.id == UNMET for finding in one.outlook.new)
    names = [name_of(requirement) for requirement in one.outcome.requirements]
    own = sum(name in sources_of_their_own(facts) for name in names)
    return left + grave, own, len(names) + replaced(facts, one.outcome), len(one.outlook.new)


def replaced(facts: Facts, outcome: Solved) -> int:
    """How many of the packages that are there give way, which weighs more than what is added."""
    installed = installed_versions(facts)
    return sum(one.partition("==")[0] in installed for one in outcome.requirements)


def choices_of(facts: Facts, finding: Finding) -> Iterator[Choice]:
    """Its fixes with what they change; what comes after one that a person must judge is not weighed."""
    for number, fix in enumerate(finding.fixes):
        changes = changes_of(fix.commands) if fix.scope in ("environment", "setting") else None
        changes = changes if is_safe(facts, changes or ()) else None
        if number == 0 or changes:
            yield Choice(finding, fix, changes)
        if changes is None:
            return


def is_safe(facts: Facts, changes: Sequence[Change]) -> bool:
    """May a program do this: are files that go registrations, and does no maker's torch go?"""
    folders = facts.interpreter.site_folders if facts.interpreter else ()
    paths = [path for change in changes for path in change.paths]
    names = [name_of(one) for change in changes for one in change.packages]
    return all(os.path.dirname(path) in folders for path in paths) and not (
        "torch" in names and is_a_makers_torch(facts)
    )
