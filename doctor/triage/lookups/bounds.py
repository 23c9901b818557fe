"""Packages that are refused for their version."""

from __future__ import annotations

import msgspec
from packaging.specifiers import SpecifierSet

from doctor.cures import install, uninstall
from doctor.findings import Evidence, Fix
from doctor.matrix.releases import releases_of
from doctor.paste import Complaint
from doctor.stack import STACK
from doctor.triage.case import Case, Suspicion
from doctor.triage.lookups import telling
from doctor.triage.lookups.asking import asker_of, persists
from doctor.triage.lookups.faults import of_version
from doctor.triage.lookups.messages import WrongVersion, specifier
from doctor.versions import comparable

# The message of the Trainer is the same whether accelerate is too old or not there at all.
MAY_BE_ABSENT = {"accelerate", "bitsandbytes"}


def wrong_version(shape: WrongVersion, complaint: Complaint, case: Case) -> tuple[Suspicion, ...]:
    """A package of another release than is asked for, or none."""
    bounds = specifier(shape.bounds)
    if bounds is None or not shape.bounds:
        return ()
    have = case.version(shape.package)
    fits = have is not None and satisfies(have, bounds)
    if is_only_advice(shape, complaint):
        return (refused(shape, bounds, have, "", complaint, case),) if have and not fits else ()
    asker = shape.asker or asker_of(complaint, case).who
    if have and fits and not same(have, shape.found):
        sure = telling.is_from_a_tool(shape.package, case) and not shape.found
        return (telling.stale(shape.bounds, shape.package, complaint, case, "is within", sure),)
    if asker_moved_on(shape, asker, case):
        wanted = f"{shape.package}{shape.bounds}"
        return (telling.stale(wanted, asker, complaint, case, "does not ask for", False),)
    if found := shape.found or have:
        return (refused(shape, bounds, found, asker, complaint, case),)
    return undecided(shape, bounds, asker, complaint, case)


def is_only_advice(shape: WrongVersion, complaint: Complaint) -> bool:
    """A line that asks for a device as well, or only says what would be needed for more."""
    if shape.asker or shape.found:
        return False
    return shape.package == "torch" or complaint.level != "error" or not releases_of(shape.package)


def undecided(
    shape: WrongVersion, bounds: SpecifierSet, asker: str, complaint: Complaint, case: Case
) -> tuple[Suspicion, ...]:
    """Nothing tells which release there is, or whether there is one."""
    old = refused(shape, bounds, "", asker, complaint, case)
    if shape.package not in MAY_BE_ABSENT:
        return (old,)
    ids = (f"{shape.package}/missing", old.finding.id, "python/stale-or-other-environment")
    question = telling.which_versions((shape.package,), ids, case)
    wanted = f"{shape.package}{shape.bounds}"
    title = f"{shape.package} is not installed, and {wanted} is asked for"
    fix = install(case.facts, f"Install {wanted}", wanted)
    absent = telling.finding(
        ids[0], "possible", title, (telling.seen(complaint),), (fix,), breaks=telling.IMPORTS[shape.package]
    )
    reason = "may have been installed after the process started, or for another interpreter"
    mixed = telling.stale(wanted, shape.package, complaint, case, reason, False)
    told = (Suspicion(absent, complaint.line), possible(old), possible(mixed))
    if persists(case):
        told = (possible(mixed), *told[:2])
    return tuple(one._replace(question=question) for one in told)


def possible(suspicion: Suspicion) -> Suspicion:
    """The same, as one of several."""
    return suspicion._replace(finding=msgspec.structs.replace(suspicion.finding, confidence="possible"))


def refused(
    shape: WrongVersion, bounds: SpecifierSet, found: str, asker: str, complaint: Complaint, case: Case
) -> Suspicion:
    """The package that is too old, or too new."""
    behind = is_behind(found, bounds)
    wanted = f"{shape.package}{shape.bounds}"
    by = f" {case.version(asker)}" if asker and case.version(asker) else ""
    who = f"{asker}{by} asks for" if asker in STACK else "the code asks for"
    is_found = f"{shape.package} {found}" if found else f"The installed {shape.package}"
    is_sure = shape.found or (found and telling.is_from_a_tool(shape.package, case))
    evidence = [telling.seen(complaint), Evidence(shape.package, found or "version not told", str(bounds))]
    if asker and case.version(asker):
        evidence.append(telling.stated(asker, "", case))
    told = telling.finding(
        of_version(asker, shape.package, behind),
        "confirmed" if is_sure else "likely",
        f"{is_found} is too {'old' if behind else 'new'}: {who} {shape.bounds}",
        evidence,
        cures(shape, wanted, case),
        why="It is checked at import, or when the feature is first used, and refused outside these bounds.",
        breaks=telling.IMPORTS.get(asker or shape.package, ("lora-step", "qlora-step")),
    )
    return Suspicion(told, complaint.line)


def cures(shape: WrongVersion, wanted: str, case: Case) -> tuple[Fix, ...]:
    """Install what is asked for; what is only refused where it is installed may go as well."""
    there = install(case.facts, f"Install {wanted}", wanted)
    if shape.package in ("torchao", "auto-gptq", "gptqmodel"):
        return (
            uninstall(case.facts, f"Uninstall {shape.package} if you do not use it", shape.package),
            there,
        )
    return (there,)


def asker_moved_on(shape: WrongVersion, asker: str, case: Case) -> bool:
    """Does the release of the asker that is stated declare other bounds than the message tells?"""
    version = case.version(asker) if asker else None
    if not version or not shape.found:
        return False
    declared = next(
        (one for one in releases_of(asker) if comparable(one.version) == comparable(version)), None
    )
    if declared is None:
        return False
    own = [line for line in declared.requires if line.startswith(shape.package) and "extra" not in line]
    told = [parsed for line in own if (parsed := specifier(line[len(shape.package) :].partition(";")[0]))]
    return bool(told) and specifier(shape.bounds) not in told


def satisfies(version: str, bounds: SpecifierSet) -> bool:
    """Is a version within the bounds?"""
    known = comparable(version)
    return known is not None and bounds.contains(known, prereleases=True)


def same(first: str, second: str) -> bool:
    """Are these the same release?"""
    return comparable(first) is not None and comparable(first) == comparable(second)


def is_behind(found: str, bounds: SpecifierSet) -> bool:
    """Is a release below the bounds? Without one the older side is the likelier."""
    have = comparable(found)
    floors = [comparable(one.version) for one in bounds if one.operator in (">=", ">", "~=", "==")]
    if have is None or not floors:
        return not any(one.operator in ("<", "<=") for one in bounds) if have else True
    return any(floor is not None and have < floor for floor in floors)
