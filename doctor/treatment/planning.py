"""Findings -> one ordered plan for the whole set: one solve, the least change, each step with its cures."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping, Sequence

import msgspec
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from doctor.facts import Facts
from doctor.findings import Finding, Report
from doctor.installation import build_in, index_of
from doctor.matrix.resolver import is_known
from doctor.proposal import installed_versions, propose
from doctor.resolution import Resolution
from doctor.treatment.changes import Change, name_of
from doctor.treatment.choosing import Chosen, chosen
from doctor.treatment.plan import OF_THE_TARGET, Language, Plan, Step, Uncured
from doctor.treatment.refusing import beside, refusal
from doctor.treatment.registrations import unregistered
from doctor.treatment.solving import Solved, sources_of_their_own
from doctor.treatment.variables import settings

OF_ONE_BUILD = ("torch", "torchvision", "torchaudio")  # compiled together, for one CUDA or for none
ABOUT_CODE = ("script/", "workload/")  # faults of the user's code and plan, which no environment cures


def planned(report: Report, language: Language, *, torch_index: str = "") -> Plan:
    """The plan for the errors and warnings of a report. Its steps are worded by ``languages``.

    ``torch_index`` is asked in place of the index of torch's own builds, as a mirror of it.
    """
    facts = report.facts
    findings = curable(report)
    plan = chosen(facts, findings)
    variables, refused = settings(facts, plan.choices)
    plan = plan._replace(conflicts={**plan.conflicts, **refused})
    steps = tuple(ordered([*of_packages(facts, plan, torch_index), *variables, *by_hand(plan)]))
    forbidden = refusal(facts) if any(step.is_applied for step in steps) else None
    is_set_beside = forbidden is not None and facts.interpreter is not None and language in OF_THE_TARGET
    if forbidden and is_set_beside:
        steps = (beside(steps, forbidden), *(step for step in steps if not step.is_applied))
    return Plan(
        tool_version=report.tool_version,
        target=facts.interpreter.executable if facts.interpreter else report.subject.name,
        language=language,
        titles=titles(findings, steps),
        steps=steps,
        because=() if is_set_beside else plan.outcome.because,
        uncured=tuple(uncured(findings, plan)),
        refusal=forbidden,
    )


def titles(findings: Sequence[Finding], steps: Sequence[Step]) -> dict[str, str]:
    """What the steps cure, by id: of several findings of one id the first and the number of the others."""
    told: dict[str, list[str]] = {}
    for finding in findings:
        told.setdefault(finding.id, []).append(finding.title)
    cured = {id for step in steps for id in step.cures}
    return {
        id: first + (f", and {len(others)} more of the kind" if others else "")
        for id, (first, *others) in told.items()
        if id in cured
    }


def set_for(report: Report) -> Resolution:
    """The whole stack as the plan would have it, for an environment of its own beside the target."""
    facts = report.facts
    pins = [Requirement(one) for one in chosen(facts, curable(report)).outcome.requirements]
    return propose(facts, [pin for pin in pins if is_known(pin)], stay_close=True)


def curable(report: Report) -> list[Finding]:
    """The errors and warnings of a report, but for those of the user's script or plan."""
    return [one for one in report.findings if one.severity != "note" and not is_about_code(one)]


def is_about_code(finding: Finding) -> bool:
    """Is it a fault of the user's script or plan?"""
    return finding.id.startswith(ABOUT_CODE)


def of_packages(facts: Facts, plan: Chosen, torch_index: str) -> Iterator[Step]:
    """The steps that change packages: what goes, what comes in other releases, what is laid down anew."""
    told = [(one.finding.id, change) for one in plan.choices for change in one.changes or ()]
    for id, change in told:
        if change.kind == "delete":
            yield deletion(id, change)
    gone = [(id, change) for id, change in told if change.kind == "remove"]
    changed = {name_of(one) for one in plan.outcome.requirements}
    cures = unique(cured_by_releases(plan, changed))
    again: dict[str, list[tuple[str, str]]] = {}
    for id, change in told:
        for package in change.packages if change.kind == "anew" else ():
            if name_of(package) not in changed:
                again.setdefault(change.index_url, []).append((id, package))
    anew = [
        laid_anew(facts, pairs, torch_index if index_url and torch_index else index_url)
        for index_url, pairs in again.items()
    ]
    lost = {name for name in unregistered(facts) if name in changed}
    yield from registered(facts, lost, cures, torch_index)
    lost = {name_of(name) for _, change in gone for name in change.packages} & set(unregistered(facts))
    yield from registered(facts, lost, unique(id for id, _ in gone), torch_index)
    # An installer that stumbles over what it cannot read must be helped up before it installs anything.
    unreadable = [step for step in anew if not {*step.replaces}.isdisjoint(unregistered(facts))]
    yield from unreadable
    if gone:
        yield removal(facts, gone)
    wished = {name_of(one) for _, change in told if change.kind == "install" for one in change.packages}
    yield from installations(facts, plan.outcome, wished, cures, torch_index)
    yield from (step for step in anew if step not in unreadable)


def registered(
    facts: Facts, lost: Collection[str], cures: tuple[str, ...], torch_index: str
) -> Iterator[Step]:
    """The step that lays a release down once more, so that an installer knows what to take away."""
    versions = installed_of(facts, sorted(lost))
    for torch in (True, False):
        named = [f"{name}=={version}" for name, version in versions.items() if (name == "torch") is torch]
        label = versions.get("torch", "").partition("+")[2] if torch else ""
        if named:
            yield Step(
                title=f"Lay {in_words([name_of(one) for one in named])} down anew, to be able to replace it",
                kind="anew",
                scope="environment",
                cures=cures,
                packages=tuple(named),
                index_url=(torch_index or index_of(label, "linux")) if label else "",
                replaces={name: versions[name] for name in map(name_of, named)},
            )


def cured_by_releases(plan: Chosen, changed: Collection[str]) -> Iterator[str]:
    """The findings that other releases cure; those that are left to a person among them, where they do."""
    for finding, _, changes in plan.choices:
        installed = [change.packages for change in changes or () if change.kind == "install"]
        laid = [name_of(package) for change in changes or () for package in change.packages]
        foreseen = plan.foresees(finding)
        if foreseen or (foreseen is None and (installed or (laid and all(name in changed for name in laid)))):
            yield finding.id


def deletion(id: str, change: Change) -> Step:
    """The step that deletes registrations which nothing stands behind."""
    return Step(
        title=f"Delete {in_words([os.path.basename(path) for path in change.paths])}",
        kind="delete",
        scope="environment",
        cures=(id,),
        paths=change.paths,
        commands=(("rm", "-r", *change.paths),),
    )


def removal(facts: Facts, gone: Sequence[tuple[str, Change]]) -> Step:
    """The step that takes packages away."""
    names = unique(name for _, change in gone for name in change.packages)
    return Step(
        title=f"Remove {in_words(names)}",
        kind="remove",
        scope="environment",
        cures=unique(id for id, _ in gone),
        packages=names,
        replaces=installed_of(facts, names),
    )


def installations(
    facts: Facts, outcome: Solved, wished: Collection[str], cures: tuple[str, ...], torch_index: str
) -> Iterator[Step]:
    """The steps that bring other releases: first torch from its own index, then the rest at once."""
    system = facts.system
    index = index_of(build_of(facts, outcome), system.os if system else "linux")
    torch = tuple(one for one in outcome.requirements if index and name_of(one) in OF_ONE_BUILD)
    rest = tuple(one for one in outcome.requirements if one not in torch)
    for packages, url in ((torch, torch_index or index), (rest, "")):
        if packages:
            names = [name_of(one) for one in packages]
            replaces = installed_of(facts, names)
            title = f"Install {told_of(packages, described(facts, replaces), wished)}"
            yield Step(
                title=title,
                kind="install",
                scope="environment",
                cures=cures,
                packages=packages,
                index_url=url,
                replaces=replaces,
            )


def build_of(facts: Facts, outcome: Solved) -> str:
    """The build of torch that there will be: "cu126"; "" of one from the installer's own index."""
    if any(name_of(one) == "torch" for one in outcome.requirements):
        return outcome.torch_variant
    return build_in(facts.version_of("torch") or "")


def laid_anew(facts: Facts, pairs: Sequence[tuple[str, str]], index_url: str) -> Step:
    """The step that lays the files of installed releases down again."""
    packages = unique(package for _, package in pairs)
    names = [name_of(package) for package in packages]
    return Step(
        title=f"Lay {in_words(names)} down anew",
        kind="anew",
        scope="environment",
        cures=unique(id for id, _ in pairs),
        packages=packages,
        index_url=index_url,
        replaces=installed_of(facts, names),
    )


def by_hand(plan: Chosen) -> Iterator[Step]:
    """What a person must do, in the order of the findings."""
    for finding, fix, changes in plan.choices:
        if changes is None and not plan.foresees(finding):
            yield Step(
                title=fix.title, kind="hand", scope=fix.scope, cures=(finding.id,), commands=fix.commands
            )


def ordered(steps: Sequence[Step]) -> Iterator[Step]:
    """What packages need comes before what variables and people do; the same step is told once, for all."""
    merged: dict[tuple[object, ...], Step] = {}
    for step in steps:
        key = (step.kind, step.title, step.commands, step.packages, step.variable, step.value)
        known = merged.get(key)
        cures = unique((*known.cures, *step.cures)) if known else step.cures
        merged[key] = msgspec.structs.replace(step, cures=cures)
    yield from sorted(merged.values(), key=lambda step: (step.kind == "hand", step.kind == "set"))


def uncured(findings: Sequence[Finding], plan: Chosen) -> Iterator[Uncured]:
    """Findings for which nothing is known that would cure them, or nothing that goes with the rest."""
    chosen_for = {one.finding.id: one for one in plan.choices}
    for finding in findings:
        choice = chosen_for.get(finding.id)
        if finding.id in plan.conflicts:
            yield Uncured(
                finding.id, finding.title, f"its cure goes with no other: {plan.conflicts[finding.id]}"
            )
        elif choice is None and not plan.foresees(finding):
            yield Uncured(finding.id, finding.title, "no cure is known that could be planned")
        elif choice and choice.changes and plan.foresees(finding) is False:
            yield Uncured(finding.id, finding.title, "no release is known that cures it with the others")


def told_of(packages: Sequence[str], replaces: Mapping[str, str], wished: Collection[str]) -> str:
    """What is wished for and what gives way by name, and the number of those that come along."""
    named = [one for one in packages if name_of(one) in wished or replaces.get(name_of(one))]
    rest = len(packages) - len(named)
    needed = f"{rest} package{'s' if rest > 1 else ''} that {'they need' if len(named) > 1 else 'it needs'}"
    return in_words([*(came_for(one, replaces) for one in named), *([needed] if rest else [])])


def came_for(requirement: str, replaces: Mapping[str, str]) -> str:
    """ "peft 0.18.0 in place of 0.17.1" of a requirement."""
    name, _, version = requirement.partition("==")
    old = replaces.get(name_of(requirement), "")
    return f"{name} {version}".strip() + (f" in place of {old}" if old else "")


def installed_of(facts: Facts, names: Sequence[str]) -> dict[str, str]:
    """The installed version of each, "" where there is none."""
    installed = installed_versions(facts)
    return {name: installed.get(canonicalize_name(name), "") for name in names}


def described(facts: Facts, replaces: Mapping[str, str]) -> dict[str, str]:
    """The versions that give way, with what no index would bring back named as such."""
    own = sources_of_their_own(facts)
    return {
        name: f"{version} of your own sources" if name in own else version
        for name, version in replaces.items()
    }


def in_words(names: Sequence[str]) -> str:
    """ "a, b and c"."""
    return " and ".join(part for part in (", ".join(names[:-1]), names[-1]) if part)


def unique(values: Iterator[str] | Sequence[str]) -> tuple[str, ...]:
    """Each once, in the order of its first."""
    return tuple(dict.fromkeys(values))
