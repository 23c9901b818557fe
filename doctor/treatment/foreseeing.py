"""What a check would find after a plan, as far as releases tell: the tables say what each of them declares.

Nothing is installed for it. What only files, libraries or a trial tell is left out, before and after alike.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import msgspec
from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from doctor.diagnosis import diagnose
from doctor.facts import Facts, Package, Packages, TorchBuild
from doctor.findings import Finding, Subject
from doctor.matrix.releases import releases_of
from doctor.matrix.torch_builds import cuda_of
from doctor.treatment.solving import Solved, requires_of

# Facts that hold for the files that are there now, and for no others.
OF_NOW = (
    *("files", "bitsandbytes", "linkage", "compiling", "torch_runtime", "bitsandbytes_runtime", "trial"),
    *("hashes", "reading", "workload", "script", "paste"),
)
ANY = ("9999", "0")  # a version for what no table knows, where its bounds name none that they admit
Fault = tuple[str, frozenset[str]]  # the id of a finding, and what its evidence is about


class Outlook(NamedTuple):
    """Faults of releases, before and after."""

    before: frozenset[Fault]
    after: tuple[Finding, ...]

    def is_of_releases(self, finding: Finding) -> bool:
        """Do releases alone show it, so that it can be foreseen whether it is cured?"""
        return fault(finding) in self.before

    def remains(self, finding: Finding) -> bool:
        """Will it be found again, or what it explains now and would not explain any more?"""
        after = {fault(one) for one in self.after}
        return any(fault(one) in after for one in unfolded((finding,)) if self.is_of_releases(one))

    @property
    def new(self) -> tuple[Finding, ...]:
        """What will be found that is not found now."""
        return tuple(one for one in self.after if fault(one) not in self.before)


def fault(finding: Finding) -> Fault:
    """By what a finding is known again."""
    return finding.id, frozenset(one.subject for one in finding.evidence)


def outlook(facts: Facts, outcome: Solved) -> Outlook:
    """What releases show of these facts, and what they will show once the outcome is installed."""
    before = frozenset(map(fault, faults(of_releases(facts))))
    return Outlook(before, tuple(faults(of_releases(foreseen(facts, outcome)))))


def faults(facts: Facts) -> Iterator[Finding]:
    """Errors and warnings, those that others explain among them."""
    found = diagnose(facts, Subject("live", "")).findings
    return (one for one in unfolded(found) if one.severity != "note")


def unfolded(findings: Sequence[Finding]) -> Iterator[Finding]:
    """Findings, and those beneath each."""
    for finding in findings:
        yield finding
        yield from unfolded(finding.symptoms)


def of_releases(facts: Facts) -> Facts:
    """The facts without what holds for the files of now alone."""
    return msgspec.structs.replace(facts, **dict.fromkeys(OF_NOW), extra={})


def foreseen(facts: Facts, outcome: Solved) -> Facts:
    """The facts once the outcome is installed: an installer brings what is declared along."""
    found = facts.packages or Packages(installed={})
    installed = {name: one for name, one in found.installed.items() if name not in outcome.gone}
    needed = needs_of(outcome)
    for requirement in (*outcome.requirements, *(f"{name}=={pin}" for name, pin in outcome.pins.items())):
        wish = parsed(requirement)
        name = canonicalize_name(wish.name) if wish else ""
        known = installed.get(name)
        bounds = wish.specifier if wish and requirement in outcome.requirements else needed.get(name)
        if wish and (known is None or (bounds is not None and not is_met(known, bounds))):
            installed[name] = package(name, wish.specifier, known, outcome)
    packages = msgspec.structs.replace(found, installed=installed)
    return msgspec.structs.replace(facts, packages=packages, torch=torch_of(facts, packages, outcome))


def needs_of(outcome: Solved) -> dict[str, SpecifierSet]:
    """What the releases that are installed declare: an installer brings that along in place of others."""
    needed: dict[str, SpecifierSet] = {}
    for requirement in outcome.requirements:
        name, _, version = requirement.partition("==")
        for line in requires_of(name, version):
            need = parsed(line) if is_foreseen(line, outcome) else None
            if need:
                key = canonicalize_name(need.name)
                needed[key] = needed.get(key, SpecifierSet()) & need.specifier
    return needed


def parsed(requirement: str) -> Requirement | None:
    """A requirement in the words of PEP 508, None where it breaks them."""
    try:
        return Requirement(requirement)
    except InvalidRequirement:
        return None


def is_met(known: Package, bounds: SpecifierSet) -> bool:
    """Does an installed release satisfy bounds? A build of torch by its label too."""
    return bool(known.version) and bounds.contains(known.version, prereleases=True)


def package(name: str, bounds: SpecifierSet, known: Package | None, outcome: Solved) -> Package:
    """A package as an installer will leave it there."""
    named = [one.version.removesuffix(".*") for one in bounds]
    version = next((one for one in (*named, *ANY) if bounds.contains(one, prereleases=True)), ANY[0])
    tabled = [line for line in requires_of(name, version) if is_foreseen(line, outcome)]
    folder = known.location if known else ""
    return Package(
        name=name,
        version=version,
        location=folder,
        installer=known.installer if known else "",
        requires=tuple(tabled),
        modules=known.modules if known else (),
    )


def is_foreseen(line: str, outcome: Solved) -> bool:
    """Can it be foreseen whether a declared requirement is met? An installer sees to all the others."""
    wish = parsed(line)
    return bool(wish and releases_of(wish.name) and canonicalize_name(wish.name) in outcome.pins)


def torch_of(facts: Facts, packages: Packages, outcome: Solved) -> TorchBuild | None:
    """The build of torch that will be there."""
    found = packages.installed.get("torch")
    if found is None or not outcome.torch_variant or (facts.torch and facts.torch.version == found.version):
        return facts.torch if found else None
    variant = outcome.torch_variant
    return TorchBuild(
        version=found.version, cuda_version=cuda_of(variant) or None, hip_version=None, variant=variant
    )
