"""What pip and uv say where no set of releases fits, or where the one that is installed does not."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from doctor.cures import install
from doctor.findings import Confidence, Evidence, Fix, Severity
from doctor.matrix.releases import Release, releases_of
from doctor.paste import Complaint
from doctor.triage.case import Case, Suspicion
from doctor.triage.lookups import telling
from doctor.triage.lookups.messages import BOUNDS, PACKAGE, VERSION, close, in_one_line, named, specifier

CONFLICT = re.compile(
    r"conflicting dependencies|ResolutionImpossible|No solution found when resolving dependencies"
    r"|requirements are unsatisfiable|ResolutionTooDeep|ResolutionTooDeepError"
)
NO_MATCH = re.compile(
    rf"(?:No matching distribution found for|Could not find a version that satisfies the requirement) "
    rf"(?P<package>{PACKAGE}?)(?:\[[\w,]{{1,40}}\])?(?P<bounds>{BOUNDS})?(?= |\(|;|$)"
)
OFFERED = re.compile(r"\(from versions: (?P<versions>[^)]{0,3000})")
OTHER_PYTHON = re.compile(
    r"requires a different Python(?: version)?:? (?P<python>\d\.\d{1,2}(?:\.\d{1,2})?) not in "
    r"['\"]?(?P<bounds>[^'\"]{1,60})"
)
BESIDE = re.compile(
    rf"(?P<asker>{PACKAGE}) (?P<version>{VERSION}) (?:requires|has requirement) (?P<package>{PACKAGE}?)"
    rf"(?:\[[\w,]{{1,40}}\])?(?P<bounds>{BOUNDS})(?:;[^,]{{1,80}})?, but you(?:'ll)? have "
    rf"(?P<installed>{PACKAGE}) (?P<found>{VERSION})"
)


class Told(NamedTuple):
    """What an installer says, in our words."""

    id: str
    confidence: Confidence
    title: str
    fixes: tuple[Fix, ...]
    why: str
    seen: Evidence | None = None
    severity: Severity = "error"


def of_an_installer(complaint: Complaint, case: Case) -> tuple[Suspicion, ...]:
    """What a line of pip's or uv's means; () for any other."""
    text = in_one_line(complaint)
    told = beside(text, case) or other_python(text) or no_match(text, case) or conflict(text)
    if told is None:
        return ()
    evidence = (telling.seen(complaint), *((told.seen,) if told.seen else ()))
    found = telling.finding(
        told.id,
        told.confidence,
        told.title,
        evidence,
        told.fixes,
        why=told.why,
        breaks=("install",),
        severity=told.severity,
    )
    return (Suspicion(found, complaint.line),)


def conflict(text: str) -> Told | None:
    """Requirements that contradict each other."""
    if not CONFLICT.search(text):
        return None
    fix = Fix(
        "Loosen the pins that the installer names, or ask for a set that fits", (("lora-doctor", "resolve"),)
    )
    return Told(
        "python/unresolvable-requirements",
        "likely",
        "The requirements that are asked for contradict each other",
        (fix,),
        "The installer found no set of releases that satisfies all that is asked for at once.",
    )


def no_match(text: str, case: Case) -> Told | None:
    """A release that the index does not offer: not for this Python and machine, or not at all."""
    found = NO_MATCH.search(text)
    if found is None:
        return None
    package, bounds = named(found["package"]), close(found["bounds"] or "")
    table, wanted = releases_of(package), specifier(bounds)
    if package == "unsloth-zoo":
        return never_released(package, bounds)  # unsloth asks for the zoo of its own day
    if wanted is None:
        return None
    fitting = [one for one in table if wanted.contains(one.version, prereleases=True)]
    if table and not fitting:
        return never_released(package, bounds)
    offered = OFFERED.search(text)
    if not fitting and not (offered and offered["versions"].strip() in ("none", "")):
        return None
    return not_for_this_python(f"{package}{bounds}", fitting, case)


def not_for_this_python(wanted: str, fitting: Sequence[Release], case: Case) -> Told:
    """Releases that exist and have nothing for this Python and machine."""
    python = case.facts.interpreter.version if case.facts.interpreter else ""
    asks = fitting[-1].requires_python if fitting else ""
    return Told(
        "python/no-wheel-for-version",
        "likely",
        f"The index has no {wanted} for this Python{f' {python}' if python else ''} and machine",
        (Fix(f"Use a Python that {wanted} has wheels for, or a release that has them for this one"),),
        "An installer is offered only what fits the Python and the machine that it runs on.",
        Evidence("python", python or "version not told", asks),
    )


def never_released(package: str, bounds: str) -> Told:
    """Bounds that no release meets."""
    newest = releases_of(package)[-1].version
    return Told(
        "unsloth/zoo-mismatch" if package == "unsloth-zoo" else "python/unresolvable-requirements",
        "likely",
        f"{package}{bounds} is asked for, and the tables know no such release",
        (Fix(f"Ask for a release that exists; the newest that is known is {newest}", scope="script"),),
        "The index does not offer what is asked for.",
        Evidence(package, bounds, f"up to {newest}"),
    )


def other_python(text: str) -> Told | None:
    """A package that refuses this Python."""
    found = OTHER_PYTHON.search(text)
    if found is None:
        return None
    return Told(
        "python/no-wheel-for-version",
        "likely",
        f"The package does not support Python {found['python']}: it asks for {found['bounds'].strip()}",
        (Fix(f"Make an environment with a Python {found['bounds'].strip()}"),),
        "A release says which Pythons it supports, and installers obey.",
        Evidence("python", found["python"], found["bounds"].strip()),
    )


def beside(text: str, case: Case) -> Told | None:
    """What pip warns of after an install: packages that were left beside others they do not go with."""
    found = BESIDE.search(text)
    if found is None:
        return None
    asker, package = named(found["asker"]), named(found["package"])
    if not releases_of(asker):
        return None  # of no concern to a fine-tune
    wanted = f"{package}{close(found['bounds'])}"
    return Told(
        "python/requirement-unsatisfied",
        "likely",
        f"{asker} {found['version']} requires {wanted}, and {package} {found['found']} is installed",
        (install(case.facts, f"Install {wanted}", wanted),),
        "pip leaves other packages as they are when it installs one, and says so.",
        Evidence(package, found["found"], close(found["bounds"])),
        "warning",
    )
