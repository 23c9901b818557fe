"""Faults of what a file asks for, before anything is installed: contradictions, no wheel, wide ranges."""

from __future__ import annotations

from collections.abc import Iterator

from packaging.specifiers import SpecifierSet

from doctor.cures import install
from doctor.facts import Facts, Package
from doctor.findings import Evidence, Fix
from doctor.matrix.ranges import Admitted, admitted_faults
from doctor.matrix.releases import release, releases_of
from doctor.rules import Hit, rule
from doctor.rules.requirements import unmet
from doctor.stack import STACK
from doctor.versions import comparable
from doctor.wanted import Requirement, Wanted

UV_311 = ("uv", "venv", "--python", "3.11")


def wanted_of(facts: Facts) -> Wanted | None:
    """The file that the facts come from, None where they come from a machine."""
    return facts.packages.wanted if facts.packages else None


@rule(
    "python/unresolvable-requirements",
    "error",
    needs=("packages",),
    breaks=("install",),
    symptoms=(
        "ResolutionImpossible",
        "these package versions have conflicting dependencies",
        "The conflict is caused by:",
        "No solution found when resolving dependencies",
        "requirements are unsatisfiable",
        r"re:Could not find a version that satisfies the requirement [^\n]{1,200}\(from versions: \d",
        "LibMambaUnsatisfiableError",
        "UnsatisfiableError: The following specifications",
        "re:[Vv]ersion solving failed",
    ),
    cure=lambda facts: (
        Fix(
            "Loosen the pins that the installer names, or ask for a set that fits",
            (("lora-doctor", "resolve"),),
        ),
    ),
    question="Which requirements are asked for, and which Python is it?",
)
def unresolvable_requirements(facts: Facts) -> Iterator[Hit]:
    """What a file asks for contradicts itself

    Why: a release that it names requires another release of a package that it names as well, or was never
    published. An installer refuses the whole file.

    Fix: change one of the lines that the chain of reasons ends in.
    """
    wanted = wanted_of(facts)
    reasons = facts.packages.conflicts if facts.packages else ()
    if wanted and reasons and not (facts.interpreter and any(without_wheel(facts))):
        named = [one for one in wanted.requirements if any(is_named(one.name, text) for text in reasons)]
        # A chain that ends in a wish makes sense only as a whole.
        is_chain = reasons[0].endswith("is asked for") and ", and " not in reasons[0]
        first = ", and ".join(reasons[:3]) if is_chain else reasons[0]
        yield Hit(
            title=f"No installer can satisfy this file: {first}",
            evidence=(
                *(Evidence(one.name, one.text, "", place_of(one)) for one in named[:6]),
                *(Evidence("because", text) for text in reasons[1:8]),
            ),
            fixes=next((hit.fixes for hit in unmet_requirements(facts)), ()),
        )


def unmet_requirements(facts: Facts) -> Iterator[Hit]:
    """What one pin declares and another does not meet."""
    for package in facts.packages.installed.values() if facts.packages else ():
        for need in package.requires:
            yield from unmet(facts, package, need)


def is_named(package: str, sentence: str) -> bool:
    """Does a sentence speak of a package?"""
    return (
        f" {package} "
        in f" {sentence.replace(',', ' ').replace('=', ' ').replace('<', ' ').replace('>', ' ')} "
    )


def place_of(requirement: Requirement) -> str:
    """ "requirements.txt:3", or the file alone where its form has no lines."""
    return f"{requirement.file}:{requirement.line}" if requirement.line else requirement.file


@rule(
    "python/no-wheel-for-version",
    "error",
    needs=("packages", "interpreter"),
    breaks=("install",),
    symptoms=(
        "Ignored the following versions that require a different python version",
        "requires a different Python",
        r"re:Could not find a version that satisfies the requirement [^\n]{1,120}\(from versions: none\)",
        "re:Could not find a version that satisfies the requirement (?:torch|tokenizers|bitsandbytes)",
        "is not a supported wheel on this platform",
        "re:(?:Failed building wheel for|Failed to build) .?"
        "(?:sentencepiece|pyarrow|safetensors|tiktoken|numpy|pandas)",
    ),
    cure=lambda facts: (Fix("Make an environment with a Python that has wheels: 3.11", (UV_311,)),),
    question="Which Python is it (python --version), and which package and release is asked for?",
)
def no_wheel_for_version(facts: Facts) -> Iterator[Hit]:
    """A release that is asked for does not install on this Python

    Why: wheels are built for the Pythons that were current, and a release says which Python it needs. An
    installer takes an older release in silence, or finds none.

    Fix: a release that has a wheel for this Python, or another Python.
    """
    assert facts.packages and facts.interpreter
    if not facts.packages.wanted:
        return
    python = facts.interpreter.version
    for package, wants in without_wheel(facts):
        named = f"{package.name} {package.version}"
        yield Hit(
            title=f"{named} does not install on Python {python}: it wants {wants}",
            evidence=(
                Evidence(package.name, package.version, "a release for this Python"),
                Evidence("python", python, wants),
            ),
            fixes=successors(package, facts),
        )


def without_wheel(facts: Facts) -> Iterator[tuple[Package, str]]:
    """The packages that do not install on this Python, and what each wants in its place."""
    for package in facts.packages.installed.values() if facts.packages else ():
        wants = other_python(package.name, package.version, facts)
        if wants:
            yield package, wants


def other_python(name: str, version: str, facts: Facts) -> str:
    """What a release needs in place of this Python, "" where it installs or nothing is known."""
    known, python = release(name, version), facts.interpreter.version if facts.interpreter else ""
    if known is None or not python:
        return ""
    full = python if python.count(".") > 1 else f"{python}.99"
    if known.requires_python and not SpecifierSet(known.requires_python).contains(full):
        return f"Python {known.requires_python}"
    minor = ".".join(python.split(".")[:2])
    os, arch = (facts.system.os, facts.system.arch) if facts.system else ("linux", "x86_64")
    if not known.wheels or known.sdist or known.has_wheel(minor, os, arch):
        return ""
    pythons = " ".join(dict.fromkeys(wheels.pythons for wheels in known.wheels if wheels.os in (os, "any")))
    return f"one of Python {pythons}" if pythons else f"another system than {os} on {arch}"


def successors(package: Package, facts: Facts) -> tuple[Fix, ...]:
    """The first later release that installs on this Python."""
    have = comparable(package.version)
    for known in releases_of(package.name):
        later = comparable(known.version)
        if have and later and later > have and not other_python(package.name, known.version, facts):
            wanted = f"{package.name}>={known.version}"
            return (install(facts, f"Take {package.name} {known.version} or newer", wanted),)
    return ()


@rule("python/range-too-wide", "warning", needs=("packages",))
def range_too_wide(facts: Facts) -> Iterator[Hit]:
    """A range admits releases that break

    Why: an installer takes the newest release today. An environment that has an older one already, a cache, a
    mirror or a constraint gives another that the range admits too, and that one is known to break.

    Fix: raise the lower bound.
    """
    wanted = wanted_of(facts)
    if wanted is None or wanted.form != "open" or (facts.packages and facts.packages.conflicts):
        return
    faults = list(admitted_faults(wanted.requirements, facts))
    if faults:
        first, more = faults[0], len(faults) - 1
        others = f", and {more} more range{'s' if more > 1 else ''} likewise" if more else ""
        asked = f"{first.requirement.name}{first.requirement.specifier}"
        bounds = [f"{fault.requirement.name}>={fault.bound}" for fault in faults]
        yield Hit(
            title=f"{asked} admits {first.newest_bad}, which breaks beside today's releases{others}",
            confidence="possible",
            evidence=tuple(evidence_of(fault) for fault in faults),
            fixes=(install(facts, "Raise the lower bounds" if more else "Raise the lower bound", *bounds),),
        )


def evidence_of(fault: Admitted) -> Evidence:
    """One range, the newest release that it admits and that breaks, and the bound that would not."""
    one = fault.requirement
    return Evidence(one.name, f"{one.specifier}: {fault.reasons[0]}", f">={fault.bound}", place_of(one))


@rule("python/line-not-understood", "note", needs=("packages",))
def line_not_understood(facts: Facts) -> Iterator[Hit]:
    """A line of the file is no requirement

    Why: it was left out, so whatever it was meant to ask for is not judged. An installer refuses a
    requirements file that holds such a line.

    Fix: see the line.
    """
    wanted = wanted_of(facts)
    if wanted and wanted.notes:
        more = f", and {len(wanted.notes) - 1} more" if len(wanted.notes) > 1 else ""
        first = wanted.notes[0]
        of_stack = any(name in note.text for note in wanted.notes for name in STACK)
        elsewhere = "" if first.file == wanted.file else f" of {first.file}"
        yield Hit(
            title=f"Line {first.line}{elsewhere} was left out{more}: {first.text}",
            severity="warning" if of_stack else None,
            evidence=tuple(
                Evidence("line", note.text, "a requirement", f"{note.file}:{note.line}")
                for note in wanted.notes[:10]
            ),
        )
