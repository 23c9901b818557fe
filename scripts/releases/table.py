"""A project's files on the index -> the lines of ``compat_matrix/releases/<name>.json``.

The form is told in ``doctor/matrix/releases.py``. Left out are pre-releases (unless a project has no other),
releases before :data:`FIRST`, the extras :data:`LEFT_OUT`, and wheels for systems on which no torch runs
(musl, 32 bit, PyPy).
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from packaging.requirements import InvalidRequirement, Requirement
from packaging.tags import Tag
from packaging.utils import (
    InvalidSdistFilename,
    InvalidWheelFilename,
    canonicalize_name,
    parse_sdist_filename,
    parse_wheel_filename,
)
from packaging.version import Version

from doctor.matrix.releases import INHERITED, Release, Wheels, ordinal
from releases.index import File

# torch 1.13 and Python 3.11 came this month; peft and QLoRA are younger.
FIRST = "2022-10-01"
# Extras for developers of the package, and those that pick a build of another package by its CUDA or torch.
LEFT_OUT = re.compile(
    r".*(torch|cu|rocm)[0-9]{2,}.*|.*[-_](dev|docs?|tests?|testing)"
    r"|(dev|develop|development|tests?|testing|docs?|documentation|readthedocs|rtd|quality|lint|linting|style|typing|mypy"
    r"|check|checks|cover|coverage|benchmarks?|examples?|ci|build|release)([-_.].*)?"
)
OLD_MANYLINUX = {"manylinux1": "2.5", "manylinux2010": "2.12", "manylinux2014": "2.17"}
SYSTEMS = ("any", "linux", "darwin", "win32")


def by_release(files: Iterable[File]) -> dict[Version, list[File]]:
    """The files of each release that the table is to have, releases ascending."""
    found: dict[Version, list[File]] = defaultdict(list)
    for file in files:
        version = version_of(file)
        if version is not None:
            found[version].append(file)
    recent = {version: own for version, own in found.items() if max(file.uploaded for file in own) >= FIRST}
    final = {version: own for version, own in recent.items() if not version.is_prerelease}
    return dict(sorted((final or recent).items()))


def version_of(file: File) -> Version | None:
    """The release that a file belongs to; None for installers and archives of the past."""
    try:
        return parse_wheel_filename(file.name)[1] if file.is_wheel else parse_sdist_filename(file.name)[1]
    except (InvalidWheelFilename, InvalidSdistFilename):
        return None


def most_telling(files: Sequence[File]) -> File:
    """The file whose metadata stands for the release: pure wheels first, then Linux ones, archives last."""

    def rank(file: File) -> tuple[bool, ...]:
        tag = file.name.rpartition("-")[2]
        linux = "linux" in tag and "x86_64" in tag
        return (file.yanked, not file.is_wheel, tag != "any.whl", not linux)

    return min(files, key=rank)


def released(version: Version, files: Sequence[File], requires: tuple[str, ...]) -> Release:
    """One release, as its files and its requirements say."""
    return Release(
        version=str(version),
        uploaded=min(file.uploaded for file in files)[:10],
        requires_python=most_telling(files).requires_python,
        requires=requires,
        wheels=tuple(wheels_of(file.name for file in files if file.is_wheel)),
        sdist=any(not file.is_wheel for file in files),
        yanked=all(file.yanked for file in files),
    )


def requirements(declared: Iterable[str]) -> tuple[str, ...]:
    """Requires-Dist in one spelling, without the extras that are left out.

    Raises :class:`packaging.requirements.InvalidRequirement` where one breaks PEP 508.
    """
    return tuple(sorted({spelt(known) for text in declared if has_a_use(known := Requirement(text))}))


def spelt(requirement: Requirement) -> str:
    """A requirement with its name normalised, and with the quotes that JSON need not escape."""
    requirement.name = canonicalize_name(requirement.name)
    text = str(requirement)
    return text if "'" in text else text.replace('"', "'")


def has_a_use(requirement: Requirement) -> bool:
    """Does it hold without an extra, or with one that users of the package install?"""
    extras = re.findall(r"""extra == ["']([^"']+)["']""", str(requirement.marker or ""))
    return not extras or not all(LEFT_OUT.fullmatch(extra.lower()) for extra in extras)


def wheels_of(names: Iterable[str]) -> Iterator[Wheels]:
    """Wheels by their file names, those of one system together; of several floors the lowest counts."""
    floors: dict[tuple[str, str, str], set[str]] = defaultdict(set)
    for tag in {tag for name in names for tag in parse_wheel_filename(name)[3]}:
        python, system = python_of(tag), system_of(tag.platform)
        if python and system:
            os, arch, floor = system
            floors[os, arch, python].add(floor)
    pythons: dict[tuple[str, str, str], set[str]] = defaultdict(set)
    for (os, arch, python), known in floors.items():
        pythons[os, arch, min(known, key=lambda floor: ordinal(floor or "0"))].add(python)
    for system, together in sorted(pythons.items(), key=lambda item: (SYSTEMS.index(item[0][0]), item[0])):
        yield Wheels(*system, " ".join(sorted(together, key=python_order)))


def python_of(tag: Tag) -> str:
    """The Pythons of a tag in the words of :class:`Wheels`; "" for PyPy and Python 2."""
    kind, digits = tag.interpreter[:2], tag.interpreter[2:]
    if kind not in ("cp", "py") or not digits.startswith("3"):
        return ""
    minor = f"3.{digits[1:]}" if digits[1:] else "3"
    if tag.abi.endswith("t") and kind == "cp":
        return f"{minor}t"
    return minor if kind == "cp" and tag.abi != "abi3" else f"{minor}+"


def python_order(known: str) -> tuple[bool, tuple[int, ...]]:
    """Free-threaded Pythons last."""
    return known.endswith("t"), ordinal(known.rstrip("t+"))


def system_of(platform: str) -> tuple[str, str, str] | None:
    """os, arch and floor of a platform tag; None where no torch runs on it."""
    if platform == "any":
        return "any", "", ""
    if platform.startswith("win"):
        arch = {"win_amd64": "x86_64", "win_arm64": "aarch64"}.get(platform)
        return ("win32", arch, "") if arch else None
    mac = re.fullmatch(r"macosx_(\d+)_(\d+)_(arm64|x86_64|universal2)", platform)
    if mac:
        return "darwin", "x86_64" if mac[3] == "x86_64" else "aarch64", f"{mac[1]}.{mac[2]}"
    many = re.fullmatch(r"(manylinux\d+|manylinux_(\d+)_(\d+)|linux)_(x86_64|aarch64)", platform)
    if not many:
        return None
    return "linux", many[4], f"{many[2]}.{many[3]}" if many[2] else OLD_MANYLINUX.get(many[1], "")


def table_text(releases: Iterable[Release]) -> str:
    """The table, one release a line, without what the line before says already."""
    told = Release(version="", uploaded="")
    lines = []
    for release in releases:
        line = json.dumps(news(told, release), ensure_ascii=False, separators=(",", ":"))
        lines.append(line)
        told = release
    return "[\n" + ",\n".join(lines) + "\n]\n"


def news(told: Release, release: Release) -> dict[str, object]:
    """The line of one release after another."""
    line: dict[str, object] = {"version": release.version, "uploaded": release.uploaded}
    for key in INHERITED:
        if getattr(release, key) != getattr(told, key):
            line[key] = plain(getattr(release, key))
    before, now = {*told.requires}, {*release.requires}
    line |= {
        key: part for key, part in (("adds", sorted(now - before)), ("drops", sorted(before - now))) if part
    }
    return line | ({"yanked": True} if release.yanked else {})


def plain(value: object) -> object:
    """A value as JSON has it; what a pure wheel leaves unsaid is left out."""
    if not isinstance(value, tuple):
        return value
    return [wheels_as_list(part) if isinstance(part, Wheels) else part for part in value]


def wheels_as_list(wheels: Wheels) -> list[str]:
    """A group of wheels without the defaults at its end."""
    pure = wheels == Wheels()
    return [] if pure else [wheels.os, wheels.arch, wheels.floor, wheels.pythons]


def invalid(declared: Iterable[str]) -> list[str]:
    """Requirements that break PEP 508, which an installer refuses as well."""
    bad = []
    for text in declared:
        try:
            Requirement(text)
        except InvalidRequirement:
            bad.append(text)
    return bad
