"""Locks written in TOML: uv.lock, poetry.lock, pdm.lock, pylock.toml (PEP 751); they differ in some keys."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from doctor.readers import Lines, Source, Unreadable
from doctor.readers.toml_document import load_lock, table, text_of
from doctor.wanted import Requirement, Wanted

NAMED = re.compile(r'^name ?= ?"([^"\n]+)"', re.M)


def read(source: Source) -> Wanted:
    """The pins of a lock. Raises :class:`Unreadable`."""
    document = load_lock(source.text)
    packages = [table(entry) for entry in document.get("packages") or document.get("package") or ()]
    if not packages and not {"version", "lock-version", "metadata"} & set(document):
        raise Unreadable("it holds no package, and is no lock of uv, poetry or pdm and no pylock.toml")
    found = Lines(source.name)
    for entry, line in zip(packages, lines_of(source.text, packages), strict=True):
        found.requirements += pinned(entry, line, found)
    metadata = table(document.get("metadata"))
    python = (
        document.get("requires-python") or metadata.get("python-versions") or metadata.get("requires_python")
    )
    return Wanted(
        file=source.name,
        form="locked",
        requirements=tuple(found.requirements),
        python=bounds_of_python(text_of(python)),
        notes=tuple(found.notes),
    )


def lines_of(text: str, packages: list[dict[str, Any]]) -> Iterator[int]:
    """The line of the name of each package: locks write them in order, the name at the margin."""
    at, line, place = 0, 1, NAMED.finditer(text)
    for entry in packages:
        hit = next((one for one in place if one[1] == entry.get("name")), None)
        if hit:
            line, at = line + text.count("\n", at, hit.start()), hit.start()
        yield line if hit else 0


def pinned(entry: dict[str, Any], line: int, found: Lines) -> Iterator[Requirement]:
    """One package of a lock, unless it is the project itself."""
    name, version = text_of(entry.get("name")), text_of(entry.get("version"))
    source = table(entry.get("source"))
    if not name or {"virtual", "editable"} & set(source):
        return
    origin = next((text_of(source[key]) for key in ("git", "url", "path", "directory") if key in source), "")
    origin = origin or next((text_of(table(entry[key]).get("url")) for key in ("vcs",) if key in entry), "")
    try:
        specifier = f"=={Version(version)}" if version else ""
    except InvalidVersion:
        found.note(line, f"{name} {version!r}: no version")
        return
    yield Requirement(
        name=canonicalize_name(name),
        specifier=specifier,
        marker=marker_of(entry),
        origin=origin,
        text=f"{name}=={version}",
        file=found.file,
        line=line,
        group="optional" if entry.get("optional") is True else "",
    )


def marker_of(entry: dict[str, Any]) -> str:
    """Where this pin holds: uv writes a list of markers, poetry and pylock one, poetry also one a group."""
    marks = entry.get("resolution-markers") or entry.get("markers") or entry.get("marker") or ""
    if isinstance(marks, dict):
        marks = list(dict.fromkeys(text_of(one) for one in marks.values()))
    if isinstance(marks, list):
        return " or ".join(f"({text_of(one)})" for one in marks if text_of(one)) if all(marks) else ""
    return text_of(marks)


def bounds_of_python(text: str) -> str:
    """Bounds of Python in PEP 440; poetry's caret is not theirs and is left out."""
    try:
        return str(SpecifierSet(text))
    except InvalidSpecifier:
        return ""
