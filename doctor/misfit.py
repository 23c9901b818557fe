"""One release that is out of step with several packages around it: one fault with one cure, not one for each.

``pip install --no-deps`` leaves this, and so does a pin that was forgotten. Judging pairs gives a finding for
each neighbour, and the cure of one does not cure the next. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from doctor.cures import install
from doctor.facts import Facts
from doctor.findings import CONFIDENCES, Evidence, Finding
from doctor.rules import Rule
from doctor.versions import comparable

PAGE = """A release goes with none of the packages around it

Why: it was installed without regard to the others (pip install --no-deps), or a pin kept it when they moved
on. Each neighbour then asks for another release of it, in words of its own.

Fix: install the release that goes with all of them."""
# Judged from other findings, and a rule only in that it has a page.
MISFIT = Rule("python/release-out-of-step", "error", (), (), (), lambda: PAGE, lambda facts: ())
ABSENT = "not installed"
NAMED = 4  # neighbours that a title names


def gathered(findings: Sequence[Finding], facts: Facts) -> list[Finding]:
    """The findings, those about one misfit as one."""
    clashes = [finding for finding in findings if finding.severity != "note" and is_clash(finding, facts)]
    package = common_to([finding for finding in clashes if finding.severity == "error"], facts)
    # A file has a line for each pin, and torch has builds besides its release.
    if package is None or package == "torch" or (facts.packages and facts.packages.wanted):
        return list(findings)
    concerned = [finding for finding in clashes if package in subjects(finding)]
    fitting = release_that_fits(package, facts)
    if fitting is None:
        return list(findings)
    whole = as_one(package, fitting, concerned, facts)
    return [whole, *(finding for finding in findings if finding not in concerned)]


def subjects(finding: Finding) -> dict[str, str]:
    """The packages that a finding speaks of, each as it was seen."""
    return {evidence.subject: evidence.seen for evidence in finding.evidence}


def is_clash(finding: Finding, facts: Facts) -> bool:
    """Is all its evidence the installed releases of packages, or their absence?"""
    seen = subjects(finding)
    return len(seen) > 1 and all(
        version in (ABSENT, facts.version_of(package)) for package, version in seen.items()
    )


def common_to(errors: Sequence[Finding], facts: Facts) -> str | None:
    """The one package that each of several errors speaks of; None where it cannot be told which it is."""
    if len(errors) < 2:
        return None
    shared = set.intersection(*(set(subjects(error)) for error in errors))
    installed = [package for package in shared if facts.version_of(package)]
    return installed[0] if len(installed) == 1 else None


def release_that_fits(package: str, facts: Facts) -> str | None:
    """The newest release of a package that goes with all else that is installed, as far as is known."""
    from packaging.requirements import Requirement

    from doctor.matrix.machine import Machine
    from doctor.matrix.resolver import Solution, is_known, solve

    assert facts.packages is not None
    others = [
        Requirement(f"{name}=={one.version.partition('+')[0]}")
        for name, one in facts.packages.installed.items()
        if name != package and comparable(one.version)
    ]
    kept = [one for one in others if is_known(one)]
    found = solve(kept, Machine.of(facts), extra_packages=[package], use_rows=True)
    return found.pins.get(package) if isinstance(found, Solution) else None


def as_one(package: str, fitting: str, concerned: Sequence[Finding], facts: Facts) -> Finding:
    """The finding that stands for all that concern a misfit; they go beneath it."""
    version = facts.version_of(package) or ""
    seen = {name: known for one in concerned for name, known in subjects(one).items() if name != package}
    neighbours = [f"{name} {known}" for name, known in seen.items() if known != ABSENT]
    word = side_of(version, fitting)
    own = sorted(
        (one.id for one in concerned if one.id.startswith(f"{package}/")), key=lambda id: "/too-" not in id
    )
    return Finding(
        id=next(iter(own), MISFIT.id),
        severity="error",
        confidence=min((one.confidence for one in concerned), key=CONFIDENCES.index),
        title=f"{package} {version} is too {word} for {listed(neighbours)}",
        why=f"Each of them asks for another release of {package}. {fitting} goes with all that is installed.",
        breaks=tuple(dict.fromkeys(stage for one in concerned for stage in one.breaks)),
        evidence=(
            Evidence(package, version, fitting),
            *(Evidence(name, known) for name, known in seen.items() if known != ABSENT),
        ),
        fixes=(install(facts, f"Install {package} {fitting}", f"{package}=={fitting}"),),
        symptoms=tuple(each for one in concerned for each in (bare(one), *one.symptoms)),
    )


def side_of(version: str, fitting: str) -> str:
    """ "old" or "new": on which side of the fitting release it lies."""
    have, want = comparable(version), comparable(fitting)
    return "new" if have and want and have > want else "old"


def listed(names: Sequence[str]) -> str:
    """ "a", "a and b", "a, b, c, d and 2 others"."""
    shown, left = list(names[:NAMED]), len(names) - NAMED
    if left > 0:
        shown.append(f"{left} others" if left > 1 else "another")
    return " and ".join(filter(None, [", ".join(shown[:-1]), shown[-1]]))


def bare(finding: Finding) -> Finding:
    """A finding without those beneath it."""
    return msgspec.structs.replace(finding, symptoms=())
