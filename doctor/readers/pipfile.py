"""Pipfile and Pipfile.lock of pipenv."""

from __future__ import annotations

from typing import Any

import msgspec

from doctor.readers import Lines, Source, Unreadable
from doctor.readers.listings import load_json
from doctor.readers.pyproject import take_poetry
from doctor.readers.requirement import NoRequirement, parse
from doctor.readers.toml_document import Places, array, load, table, text_of
from doctor.wanted import Wanted


def read(source: Source) -> Wanted:
    """A Pipfile; its entries have the form of poetry's. Raises :class:`Unreadable`."""
    document = load(source.text)
    found = Lines(source.name)
    places = Places(source.text)
    for key, group in (("packages", ""), ("dev-packages", "dev")):
        for name, value in table(document.get(key)).items():
            take_poetry(name, value, group, found, places)
    requires = table(document.get("requires"))
    python = text_of(requires.get("python_full_version"))
    minor = text_of(requires.get("python_version"))
    return Wanted(
        file=source.name,
        form="open",
        requirements=tuple(found.requirements),
        python=f"=={python}" if python else f"=={minor}.*" if minor else "",
        index_urls=urls(document.get("source")),
        notes=tuple(found.notes),
    )


def read_lock(source: Source) -> Wanted:
    """A Pipfile.lock. Raises :class:`Unreadable`."""
    document = table(load_json(source.text))
    if "default" not in document:
        raise Unreadable("it is JSON, and no Pipfile.lock")
    found = Lines(source.name)
    places = Places(source.text)
    for key, group in (("default", ""), ("develop", "dev")):
        for name, entry in table(document.get(key)).items():
            take_locked(name, table(entry), group, found, places)
    meta = table(document.get("_meta"))
    minor = text_of(table(meta.get("requires")).get("python_version"))
    return Wanted(
        file=source.name,
        form="locked",
        requirements=tuple(found.requirements),
        python=f"=={minor}.*" if minor else "",
        index_urls=urls(meta.get("sources")),
        notes=tuple(found.notes),
    )


def take_locked(name: str, entry: dict[str, Any], group: str, found: Lines, places: Places) -> None:
    """One package of the lock."""
    line = places.line_of(f'"{name}": {{', f'"{name}"')
    origin = text_of(entry.get("git")) or text_of(entry.get("file"))
    try:
        requirement = parse(name + text_of(entry.get("version")))
    except NoRequirement as error:
        found.note(line, f"{name[:120]!r} is no requirement: {error}")
        return
    place = {"file": found.file, "line": line, "group": group, "origin": origin}
    marker = text_of(entry.get("markers"))
    found.requirements.append(msgspec.structs.replace(requirement, marker=marker, **place))


def urls(sources: Any) -> tuple[str, ...]:
    """The indexes of a Pipfile."""
    return tuple(url for entry in array(sources) if (url := text_of(table(entry).get("url"))))
