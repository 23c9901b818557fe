"""One requirement in any spelling: PEP 508, URLs, repositories, wheels, and the near misses of people."""

from __future__ import annotations

import posixpath
import re
from functools import lru_cache

import msgspec
from packaging.requirements import InvalidRequirement
from packaging.requirements import Requirement as Pep508
from packaging.utils import (
    InvalidSdistFilename,
    InvalidWheelFilename,
    canonicalize_name,
    parse_sdist_filename,
    parse_wheel_filename,
)
from packaging.version import InvalidVersion, Version

from doctor.wanted import Requirement

NAME = r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?"
PINNED = re.compile(rf"({NAME})\s*==\s*([A-Za-z0-9][A-Za-z0-9.!+_-]*)$")
# One sign of equality, as conda has it, a bare version, as lists have it, or an arrow of some notes.
NEAR_MISS = re.compile(rf"({NAME})(?:\s*=\s*|\s+v?|\s*:\s*)(\d[A-Za-z0-9.!+_-]*)$")
REFERENCE = re.compile(r"^(?:git|hg|svn|bzr)\+|^(?:https?|ftp|file|ssh)://|^git@")
TAG = re.compile(r"^v?(\d+\.\d+(?:\.\d+)*(?:\.?(?:post|rc|a|b|dev)\d+)?)$")
ESCAPED = re.compile(r"%([0-7][0-9A-Fa-f])")
MOVING = ("", "main", "master", "HEAD")
LONGEST = 2000  # characters of a requirement; markers of locks have a few hundred


class NoRequirement(ValueError):
    """A text that asks for no package; the message says why."""


@lru_cache(maxsize=20_000)
def parse(text: str) -> Requirement:
    """A requirement without its place. Raises :class:`NoRequirement`."""
    text = text.strip()
    if not text or len(text) > LONGEST:
        raise NoRequirement("it is empty" if not text else f"it is longer than {LONGEST} characters")
    if pinned := PINNED.match(text):
        return of_pin(pinned[1], pinned[2], text)
    if REFERENCE.match(text) or is_path(text):
        return of_reference(text)
    try:
        found = Pep508(text)
    except (InvalidRequirement, RecursionError) as error:
        return near_miss(text, error)
    for one in found.specifier:
        if one.operator == "===":  # which PEP 440 compares as text, whatever it is
            version_of(one.version)
    of_url = of_reference(found.url) if found.url else None
    return Requirement(
        name=canonicalize_name(found.name),
        specifier=of_url.specifier if of_url else str(found.specifier),
        extras=tuple(sorted(found.extras)),
        marker=str(found.marker or ""),
        origin=of_url.origin if of_url else "",
        text=text,
    )


def of_pin(name: str, version: str, text: str) -> Requirement:
    """One release of one package. Raises :class:`NoRequirement`."""
    return Requirement(name=canonicalize_name(name), specifier=f"=={version_of(version)}", text=text)


def version_of(text: str) -> str:
    """A version in its normal form. Raises :class:`NoRequirement` where it is none."""
    try:
        return str(Version(text))
    except InvalidVersion:
        raise NoRequirement(f"{text!r} is no version") from None


def near_miss(text: str, error: BaseException) -> Requirement:
    """What people write and pip refuses, where it plainly names one release."""
    if plain := NEAR_MISS.match(text):
        return of_pin(plain[1], plain[2], text)
    raise NoRequirement(str(error).split("\n")[0] or "it cannot be parsed")


def is_path(text: str) -> bool:
    """Does it name a folder or an archive on disk?"""
    name = text.partition("#")[0].partition(";")[0].strip()
    return name.startswith((".", "/", "~")) or name.endswith((".whl", ".tar.gz", ".zip"))


def of_reference(text: str) -> Requirement:
    """A package named by a URL, a repository or a path, and its release where the reference says it."""
    reference, _, marker = text.partition(" ;")
    address, _, fragment = reference.strip().partition("#")
    archive = of_archive(unescaped(posixpath.basename(address.partition("?")[0])))
    if archive:
        name, version = archive
        return msgspec.structs.replace(of_pin(name, version, text), origin=address, marker=marker.strip())
    repository, reference = repository_of(address)
    egg = re.search(rf"(?:^|&)egg=({NAME})", fragment)
    name = egg_name(egg[1]) if egg else name_of(repository)
    if not name:
        raise NoRequirement("it names no package")
    tag = TAG.match(reference)
    return Requirement(
        name=name, specifier=f"=={tag[1]}" if tag else "", origin=address, marker=marker.strip(), text=text
    )


def egg_name(egg: str) -> str:
    """The package of ``#egg=``; what stands behind its last hyphen may look like a pin and is none."""
    head, _, tail = egg.rpartition("-")
    return canonicalize_name(head if head and tail[:1].isdigit() else egg)


def unescaped(text: str) -> str:
    """A part of a URL as it was before its signs were escaped: "%2B" is "+"."""
    return ESCAPED.sub(lambda sign: chr(int(sign[1], 16)), text)


def of_archive(name: str) -> tuple[str, str] | None:
    """Package and version of a wheel's or a source archive's file name."""
    try:
        if name.endswith(".whl"):
            package, version, _, _ = parse_wheel_filename(name)
            return package, str(version)
        if name.endswith((".tar.gz", ".zip")):
            source, version = parse_sdist_filename(name)
            return source, str(version)
    except (InvalidWheelFilename, InvalidSdistFilename):
        pass
    return None


def repository_of(address: str) -> tuple[str, str]:
    """The path of a repository, and the branch, tag or commit that is asked for ("" without one)."""
    path = address.partition("://")[2].partition("/")[2] or address
    before, _, reference = path.rpartition("@")
    path, reference = (before, reference) if before not in ("", "git") else (path, "")  # git@host:owner/name
    return path.rstrip("/").removesuffix(".git"), reference


def name_of(repository: str) -> str:
    """The package that a repository is called after; "" where its last part is no name."""
    last = posixpath.basename(repository)
    return canonicalize_name(last) if re.fullmatch(NAME, last) else ""


def is_moving(requirement: Requirement) -> bool:
    """Does it name the newest state of a repository, and no commit or tag?"""
    vcs = requirement.origin.startswith(("git+", "git@", "ssh://", "hg+"))
    return vcs and not requirement.specifier and repository_of(requirement.origin)[1] in MOVING
