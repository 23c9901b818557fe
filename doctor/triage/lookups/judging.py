"""From what is missing to the fault: who asks, what became of it, and which of the two packages is behind."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple

from doctor.cures import install
from doctor.findings import Confidence, Evidence, Fix
from doctor.matrix.api import replacement
from doctor.matrix.computed import Clash, id_of
from doctor.paste import Complaint
from doctor.rules.script.fate import instead
from doctor.triage.case import Case, Suspicion
from doctor.triage.lookups import telling
from doctor.triage.lookups.asking import REMOTE, UNKNOWN, USER, Asker
from doctor.triage.lookups.clashes import Candidate, candidates, go_together, is_asked_by, is_before_all
from doctor.triage.lookups.fates import Fate, fate_at, possible_fates
from doctor.triage.lookups.faults import fault
from doctor.versions import Interval


class Wanted(NamedTuple):
    """What is asked for and not there."""

    label: str  # as people say it: "transformers.HybridCache", "tokenizer of Trainer"
    owner: str  # the module or callable
    name: str
    provider: str  # the package that has it or had it
    what: Literal["name", "argument"]
    has: tuple[Interval, ...]  # its releases that have it
    clashes: tuple[Clash, ...] = ()
    internal: bool = False  # asked for by another module of the same package


def judge(wanted: Wanted, asker: Asker, complaint: Complaint, case: Case) -> tuple[Suspicion, ...]:
    """The suspicions of one complaint: one where the versions decide, else one for each direction."""
    if contradiction := contradicted(wanted, asker, complaint, case):
        return (contradiction,)
    fates = fates_of(wanted, asker, case)
    missing = [fate for fate in fates if fate.kind in ("gone", "not-yet")]
    told = [told_of(fate, wanted, asker, complaint, case, len(fates) == 1) for fate in missing]
    if len(told) > 1:
        packages = (wanted.provider, *askers(wanted, asker, fates, case))
        question = telling.which_versions(packages, [one.finding.id for one in told], case)
        told = [one._replace(question=question) for one in told]
    return tuple(told)


def fates_of(wanted: Wanted, asker: Asker, case: Case) -> tuple[Fate, ...]:
    """What became of it in the stated release, or may have where none is stated."""
    version = case.version(wanted.provider)
    if version is not None:
        return (fate_at(wanted.has, wanted.provider, version),)
    fates = possible_fates(wanted.has, wanted.provider, case, by_people=not wanted.clashes)
    if len(fates) < 2 or not wanted.clashes or asker.who in (USER, REMOTE):
        return fates
    # A release that asks for it clashes on one side of the bounds alone.
    return tuple(fate for fate in fates if best(fate, wanted, asker, case)) or fates


def contradicted(wanted: Wanted, asker: Asker, complaint: Complaint, case: Case) -> Suspicion | None:
    """What speaks against the versions that are stated: then something else ran."""
    provider = wanted.provider
    version, asks = case.version(provider), case.version(asker.who) if asker.is_library else None
    own = [clash for clash in wanted.clashes if clash.consumer == asker.who]
    if version and asks and own and go_together(asker.who, asks, provider, version):
        sure = telling.is_from_a_tool(asker.who, case) and telling.is_from_a_tool(provider, case)
        beside = f"beside {provider} {version} does not ask for"
        return telling.stale(wanted.label, asker.who, complaint, case, beside, sure)
    if version and fate_at(wanted.has, provider, version).kind == "there":
        sure = telling.is_from_a_tool(provider, case)
        return telling.stale(wanted.label, provider, complaint, case, "has", sure)
    if wanted.internal:
        reason = "is missing, and a module of the same package asks for it"
        return telling.stale(wanted.label, provider, complaint, case, reason, False)
    unasked = own and not any(is_asked_by(clash, asks) for clash in own) if asks else False
    if asks and unasked and not is_before_all(asker.who, asks):
        sure = telling.is_from_a_tool(asker.who, case)
        return telling.stale(wanted.label, asker.who, complaint, case, "does not ask for", sure)
    return None


def best(fate: Fate, wanted: Wanted, asker: Asker, case: Case) -> Candidate | None:
    """The clash that a fate is most likely of; None where nothing points at one."""
    if asker.who in (USER, REMOTE):
        return None
    found = candidates(wanted.clashes, fate.kind == "not-yet", case)
    own = [one for one in found if asker.who in (UNKNOWN, one.clash.consumer)]
    if wanted.what == "argument" and wanted.provider != "accelerate" and asker.who == UNKNOWN:
        own = [one for one in own if one.weight]  # people give it themselves
    return next(iter(own), None)


def askers(wanted: Wanted, asker: Asker, fates: tuple[Fate, ...], case: Case) -> Iterator[str]:
    """The packages that may have asked."""
    if asker.is_library:
        yield asker.who
    for fate in fates:
        if found := best(fate, wanted, asker, case):
            yield found.clash.consumer


def told_of(
    fate: Fate, wanted: Wanted, asker: Asker, complaint: Complaint, case: Case, alone: bool
) -> Suspicion:
    """One fate as a suspicion."""
    found = best(fate, wanted, asker, case)
    who = found.clash.consumer if found else asker.who
    behind = fate.kind == "not-yet"
    id = id_of(found.clash) if found else fault(who, wanted.provider, behind, wanted.what)
    evidence = [telling.seen(complaint), telling.stated(wanted.provider, telling.in_releases(fate), case)]
    if Asker(who).is_library and who != wanted.provider and case.version(who):
        evidence.append(telling.stated(who, "", case))
    told = telling.finding(
        id,
        confidence(wanted.provider, alone, case),
        title(fate, wanted, who, case),
        evidence,
        cures(fate, wanted, who, found.clash if found else None, case),
        why=why(fate, wanted),
        breaks=found.clash.breaks if found else telling.IMPORTS.get(wanted.provider, ()),
    )
    return Suspicion(told, complaint.line)


def confidence(provider: str, alone: bool, case: Case) -> Confidence:
    """Confirmed by a version that a program printed; likely where only one direction is left."""
    if case.version(provider) and telling.is_from_a_tool(provider, case):
        return "confirmed"
    return "likely" if alone else "possible"


def title(fate: Fate, wanted: Wanted, who: str, case: Case) -> str:
    """One sentence with both releases, where they are known."""
    names = Asker(who)
    asks = (
        " ".join(part for part in (who, case.version(who) or "") if part) if names.is_library else "The code"
    )
    asks = "The model's own code" if who == REMOTE else asks
    verb = "asks for" if wanted.what == "name" else "passes"
    has = " ".join(part for part in (wanted.provider, case.version(wanted.provider) or "") if part)
    if fate.kind == "gone":
        return (
            f"{asks} {verb} {wanted.label}, which {has} no longer has: {fate.package} {fate.since} removed it"
        )
    first = f"{fate.package} {fate.since} is the first that does"
    return f"{asks} {verb} {wanted.label}, which {has} does not have yet: {first}"


def why(fate: Fate, wanted: Wanted) -> str:
    """What the tables say of it."""
    return f"{wanted.label} is in {fate.package} {telling.in_releases(fate)}, by the sources of its releases."


def cures(fate: Fate, wanted: Wanted, who: str, clash: Clash | None, case: Case) -> tuple[Fix, ...]:
    """The ways out, least change first."""
    if clash:
        return telling.cures_of(clash, case)
    if fate.kind == "not-yet":
        return (telling.upgrade(fate.package, fate.since, case),)
    back = telling.go_back(fate.package, fate.since, case)
    if Asker(who).is_library:
        newest = install(case.facts, f"Upgrade {who}", who, options=("--upgrade",))
        return (newest, back)
    return (back,) if who == REMOTE else (Fix(in_place_of(wanted), scope="script"), back)


def in_place_of(wanted: Wanted) -> str:
    """What to write now, as a sentence."""
    known = replacement(wanted.owner, wanted.name)
    if wanted.what == "argument":
        return instead(known, wanted.owner, "") or f"Do without {wanted.name}"
    if known and known.new:
        return f"Write {known.new} in place of {wanted.name}"
    return known.sentence.rstrip(".") if known else f"Do without {wanted.name}"


def never(wanted: Wanted, complaint: Complaint, case: Case, meant: str) -> Suspicion:
    """A name or an argument that no release has: the code is wrong and the environment is not."""
    id = "script/unknown-argument" if wanted.what == "argument" else "script/unknown-symbol"
    fix = f"Write {meant} in place of {wanted.name}" if meant else f"Correct or drop {wanted.name}"
    sure = wanted.what == "argument" or case.version(wanted.provider) is not None
    told = telling.finding(
        id,
        "likely" if sure else "possible",
        f"No release of {wanted.provider} has {wanted.label}",
        (
            telling.seen(complaint),
            Evidence(wanted.provider, case.version(wanted.provider) or "version not told"),
        ),
        (Fix(fix, scope="script"),),
        why="The name is misspelt, made up, or was never released. The environment is not at fault.",
    )
    return Suspicion(told, complaint.line)
