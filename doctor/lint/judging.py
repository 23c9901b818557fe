"""A file's requirements as facts, and what the rules say of them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

import msgspec
from packaging.version import Version

from doctor.diagnosis import diagnose, machine_rules
from doctor.facts import Facts, Gap, Interpreter, Package, Packages, TorchBuild
from doctor.findings import Report, Subject
from doctor.lint.choice import Choice, choose, declared
from doctor.lint.places import placed
from doctor.matrix.build_rules import build_rules
from doctor.matrix.machine import Machine, plain_arch
from doctor.matrix.platform import table
from doctor.readers import Source, Unreadable
from doctor.readers.recognition import read
from doctor.stated import stated_python
from doctor.versions import comparable
from doctor.wanted import Wanted

# Pythons that a file may be for where nobody says which, the likeliest first.
PYTHONS = ("3.11", "3.12", "3.10", "3.13", "3.9", "3.14", "3.8")
# The first torch whose plain wheel for Linux on aarch64 is a CUDA build.
FIRST_CUDA_FOR_ARM = Version("2.11")
VARIANT = re.compile(r"(?:download\.pytorch\.org/whl/(?:nightly/)?|^\+)(cpu|cu\d{2,3}|rocm[\d.]+)\b")


def report_on(source: Source, machine: Facts, torch_cuda: str, ignore: Sequence[str]) -> Report:
    """The report of one file. Raises :class:`Unreadable`."""
    wanted = read(source)
    if not wanted.requirements:
        raise Unreadable(f"it names no package{first_note(wanted)}")
    facts = facts_of(wanted, machine, torch_cuda)
    rules = (*machine_rules(), *build_rules())
    return placed(diagnose(facts, Subject("requirements", source.name), ignore, rules), wanted)


def first_note(wanted: Wanted) -> str:
    """What was odd about its first odd line, for the end of a sentence."""
    return f": line {wanted.notes[0].line}: {wanted.notes[0].text}" if wanted.notes else ""


def facts_of(wanted: Wanted, machine: Facts, torch_cuda: str) -> Facts:
    """All that is known of the environment that a file asks for."""
    interpreter = machine.interpreter or stated_python(python_for(wanted.python))
    here = msgspec.structs.replace(machine, interpreter=interpreter)
    choice = choose(wanted, Machine.of(here))
    packages = packages_of(wanted, choice, interpreter)
    return with_gaps(
        msgspec.structs.replace(here, packages=packages, torch=torch_build(wanted, choice, torch_cuda, here))
    )


def python_for(bounds: str) -> str:
    """The Python that a file is judged for where nobody says which: the first that its own bounds admit."""
    from packaging.specifiers import SpecifierSet

    exact = re.match(r"==(\d+\.\d+(?:\.\d+)?)$", bounds)
    if exact:
        return exact[1]
    admitted = SpecifierSet(bounds)
    return next((python for python in PYTHONS if admitted.contains(f"{python}.99")), PYTHONS[0])


def packages_of(wanted: Wanted, choice: Choice, interpreter: Interpreter) -> Packages:
    """The chosen releases as packages, each with what it declares."""
    return Packages(
        installed={
            name: Package(
                name=name,
                version=version,
                location="",
                installer="",
                requires=declared(name, version).requires,
                requires_python=declared(name, version).requires_python,
            )
            for name, version in choice.versions.items()
        },
        wanted=wanted,
        conflicts=(*choice.conflicts, *python_conflict(wanted, interpreter.version)),
        is_partial=choice.is_partial,
    )


def python_conflict(wanted: Wanted, python: str) -> tuple[str, ...]:
    """Is the file for another Python than the one that is asked about?"""
    from packaging.specifiers import SpecifierSet

    full = python if python.count(".") > 1 else f"{python}.99"
    if not wanted.python or SpecifierSet(wanted.python).contains(full):
        return ()
    exact = wanted.python.removeprefix("==").removesuffix(".*")
    if wanted.form != "open" or python.startswith(exact) or exact.startswith(f"{python}."):
        return ()
    return (f"{wanted.file} is for Python {wanted.python}, and Python {python} is asked about",)


def torch_build(wanted: Wanted, choice: Choice, torch_cuda: str, here: Facts) -> TorchBuild | None:
    """The build of torch, where an option, its label, an index or conda says which; else None."""
    version = choice.versions.get("torch")
    if version is None:
        return None
    variant = variant_of(torch_cuda or wanted.torch_cuda)
    label = f"+{version.partition('+')[2]}"
    for text in (label, *wanted.index_urls):
        found = VARIANT.search(text)
        variant = variant or (found[1] if found else "")
    variant = variant or plain_variant(version, here)
    if variant in ("", "unknown"):
        return None
    digits = variant.removeprefix("cu")
    cuda = f"{digits[:-1]}.{digits[-1]}" if digits.isdigit() else None
    hip = variant.removeprefix("rocm") if variant.startswith("rocm") else None
    return TorchBuild(version=version, cuda_version=cuda, hip_version=hip, variant=variant)


def plain_variant(version: str, here: Facts) -> str:
    """The build that PyPI has of a release for a system; "" where that is not known."""
    if here.system is None or here.system.os != "linux":
        return "cpu" if here.system else ""
    known = comparable(version)
    minor = f"{known.major}.{known.minor}" if known else ""
    plain = next((row["plain"] for row in table("torch_builds")["minor"] if row["torch"] == minor), "")
    is_arm = plain_arch(here.system.arch) == "aarch64"
    return "cpu" if is_arm and known and known < FIRST_CUDA_FOR_ARM else plain


def variant_of(cuda: str) -> str:
    """ "cu121" of "12.1", "cpu" of "cpu"."""
    return f"cu{cuda.replace('.', '')}" if comparable(cuda) else cuda


def with_gaps(facts: Facts) -> Facts:
    """Facts with a gap for each that a file cannot tell, or that nobody stated."""
    known = {gap.about for gap in facts.gaps}
    stateable = {"driver": "no driver is stated", "torch": "nothing says which build of torch is meant"}
    missing = [
        name
        for name in Facts.__struct_fields__
        if name != "gaps" and getattr(facts, name) is None and name not in known
    ]
    gaps = tuple(
        Gap(
            about=name,
            kind="not-asked" if name in stateable else "not-applicable",
            reason=stateable.get(name, "a file says nothing of it"),
        )
        for name in missing
    )
    return msgspec.structs.replace(facts, gaps=(*facts.gaps, *gaps))


def unread(name: str, reason: str, machine: Facts, kind: Literal["requirements", "script"]) -> Report:
    """The report of a file that cannot be read: nothing was judged, and the gap says why."""
    from doctor import __version__
    from doctor.matrix.rows import reviewed

    gap = Gap(about="packages", kind="failed", reason=reason)
    facts = with_gaps(msgspec.structs.replace(machine, gaps=(*machine.gaps, gap)))
    return Report(
        tool_version=__version__,
        matrix_reviewed=str(reviewed()["date"]),
        subject=Subject(kind, name),
        verdict="undetermined",
        primary=None,
        gaps=facts.gaps,
        facts=facts,
    )
