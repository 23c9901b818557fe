"""Declared requirements that what is installed does not meet."""

from __future__ import annotations

import re
from collections.abc import Iterator

from packaging.specifiers import InvalidSpecifier, SpecifierSet

from doctor.cures import install
from doctor.facts import Facts, Package
from doctor.failures import all_failure_text, names
from doctor.findings import Evidence, Fix, Severity
from doctor.rules import Hit, rule
from doctor.rules.packages import required_by_stack
from doctor.stack import STACK
from doctor.versions import comparable


@rule(
    "python/requirement-unsatisfied",
    "warning",
    needs=("packages", "interpreter"),
    symptoms=(
        r"re:\b(?:torch|transformers|peft|trl|accelerate|datasets|unsloth|optimum|vllm|deepspeed)[\w-]{0,20}"
        r" \d[\w.+]{0,30} requires [^\n,]{1,80}, which is not installed",
        "ContextualVersionConflict: (",
        r"re:VersionConflict: \([\w.-]{1,60} \d",
        r"re:DistributionNotFound: The .[^\n]{1,120} distribution was not found and is required by",
    ),
    cure=lambda facts: (
        Fix("Install releases that suit each other: the message names both", (("lora-doctor", "resolve"),)),
    ),
    question="What does python -m pip check print?",
)
def requirement_unsatisfied(facts: Facts) -> Iterator[Hit]:
    """An installed package's declared requirement is not met

    Why: the package says which releases it works with, and another is installed. pip lets a later command
    do that with no more than a warning.

    See: python -m pip check lists all of them; those of packages that you do not use do no harm.

    Fix: install a release that satisfies both.
    """
    assert facts.packages is not None
    if facts.packages.conflicts:  # a file that no installer takes: rules/files.py tells the whole chain
        return
    watched = required_by_stack(facts.packages)
    for package in facts.packages.installed.values():
        if package.name in watched:
            for need in package.requires:
                yield from unmet(facts, package, need)


# Name and specifier of a requirement, as installers write it into METADATA; extras and marker apart.
REQUIREMENT = re.compile(r"([A-Za-z0-9][\w.-]*)\s*(?:\[[^\]]*\])?\s*\(?([^;@()]*)\)?\s*(;.*)?$")


def unmet(facts: Facts, package: Package, text: str) -> Iterator[Hit]:
    """One requirement that the installed release of its package does not satisfy, or that is absent."""
    assert facts.packages is not None and facts.interpreter is not None
    parts = REQUIREMENT.match(text.strip())
    if not parts:
        return
    name, bounds = re.sub(r"[-_.]+", "-", parts[1]).lower(), parts[2].strip()
    found = facts.packages.installed.get(name)
    if is_satisfied(found, bounds) or (not found and is_excused(name, facts)):
        return
    if parts[3] and not applies(parts[3][1:], facts):
        return
    wanted = f"{name}{bounds.replace(' ', '')}"
    severity: Severity = "error" if names(name, all_failure_text(facts)) else "warning"
    yield Hit(
        title=f"{package.name} {package.version} requires {wanted}, and "
        + (f"{found.version} {standing(facts)}" if found else "it is not installed"),
        severity=severity,
        evidence=(
            Evidence(package.name, package.version, f"its requirement {wanted} met"),
            Evidence(name, found.version if found else "not installed", wanted),
        ),
        fixes=(install(facts, f"Install {wanted}", wanted),),
    )


def standing(facts: Facts) -> str:
    """How a release got here: it is installed, or a file names it."""
    wanted = facts.packages.wanted if facts.packages else None
    return "is installed" if wanted is None or wanted.form == "installed" else "stands in this file"


def is_excused(name: str, facts: Facts) -> bool:
    """Is it no fault of this kind that a package is absent?

    Of the stack, rules/missing.py speaks; what a file leaves out is installed with what it names.
    """
    packages = facts.packages
    return name in STACK or bool(
        packages and (packages.wanted or (packages.is_partial and name not in packages.absent))
    )


def is_satisfied(found: Package | None, bounds: str) -> bool:
    """Is a package there, and its release within bounds? One whose version cannot be read is not judged."""
    if found is None:
        return False
    version = comparable(found.version)
    try:
        return version is None or SpecifierSet(bounds).contains(version, prereleases=True)
    except InvalidSpecifier:
        return True


# A marker that begins with one plain comparison and goes on, if at all, with "and".
CONJUNCT = re.compile(r"""\s*(\w+)\s*(==|<)\s*['"]([\w.]+)['"]\s*(?:and\s+[^|]*)?$""")


def applies(marker: str, facts: Facts) -> bool:
    """Does a marker hold for the target? One that cannot be read proves nothing."""
    environment = marker_environment(facts)
    plain = CONJUNCT.match(marker)
    if plain and " or " not in marker and is_elsewhere(plain[2], environment.get(plain[1], ""), plain[3]):
        return False
    # Nearly all that is absent is for another system or an older Python, and this import takes 10 ms.
    from packaging.markers import InvalidMarker, Marker, UndefinedEnvironmentName

    try:
        return Marker(marker).evaluate(environment)
    except (InvalidMarker, UndefinedEnvironmentName):
        return False


def is_elsewhere(operator: str, ours: str, theirs: str) -> bool:
    """Is one comparison of a marker plainly false: another word, or a release that is not below a bound?"""
    if operator == "==":
        return not theirs[0].isdigit() and ours != theirs
    have, bound = comparable(ours), comparable(theirs)
    return have is not None and bound is not None and have >= bound


def marker_environment(facts: Facts) -> dict[str, str]:
    """The names of PEP 508 for the target, as far as the facts tell them."""
    assert facts.interpreter is not None
    version = facts.interpreter.version
    system = facts.system.os if facts.system else "linux"
    platforms = {"linux": ("Linux", "posix"), "darwin": ("Darwin", "posix"), "win32": ("Windows", "nt")}
    platform_system, os_name = platforms.get(system, ("Linux", "posix"))
    return {
        "python_version": ".".join(version.split(".")[:2]),
        "python_full_version": version,
        "implementation_version": version,
        "implementation_name": facts.interpreter.implementation.lower(),
        "platform_python_implementation": facts.interpreter.implementation,
        "sys_platform": system,
        "platform_system": platform_system,
        "os_name": os_name,
        "platform_machine": facts.system.arch if facts.system else "x86_64",
        "platform_release": "",
        "platform_version": "",
        "extra": "",
    }
