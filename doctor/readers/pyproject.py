"""pyproject.toml: PEP 621 with extras, dependency groups (PEP 735), poetry with groups, uv's sources."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from doctor.readers import Lines, Source
from doctor.readers.locks import bounds_of_python
from doctor.readers.poetry_bounds import marker_of, of_poetry
from doctor.readers.requirement import NoRequirement, parse
from doctor.readers.toml_document import Places, array, load, table, text_of
from doctor.wanted import Requirement, Wanted


def read(source: Source) -> Wanted:
    """What a project asks for, its extras and groups too. Raises :class:`~doctor.readers.Unreadable`."""
    document = load(source.text)
    project, tool = table(document.get("project")), table(document.get("tool"))
    found = Lines(source.name)
    places = Places(source.text)
    own = text_of(project.get("name")).lower()
    for group, text in stated(project, document, tool):
        take(text, group, found, places, own)
    poetry = table(tool.get("poetry"))
    for group, name, value in poetry_entries(poetry):
        take_poetry(name, value, group, found, places)
    sources = table(table(tool.get("uv")).get("sources"))
    python = text_of(project.get("requires-python")) or poetry_python(poetry)
    return Wanted(
        file=source.name,
        form="open",
        requirements=tuple(with_source(one, sources) for one in found.requirements),
        python=bounds_of_python(python),
        index_urls=index_urls(tool),
        notes=tuple(found.notes),
    )


def stated(
    project: dict[str, Any], document: dict[str, Any], tool: dict[str, Any]
) -> Iterator[tuple[str, str]]:
    """The group and the text of each requirement that is written in PEP 508."""
    for text in array(project.get("dependencies")):
        yield "", text_of(text)
    groups = (
        table(project.get("optional-dependencies")),
        table(document.get("dependency-groups")),
        table(table(tool.get("pdm")).get("dev-dependencies")),
        {"dev": table(tool.get("uv")).get("dev-dependencies")},
    )
    for tables in groups:
        for group, texts in tables.items():
            for text in array(texts):
                if isinstance(text, str):  # a table includes another group, which is read in its place
                    yield group, text


def take(text: str, group: str, found: Lines, places: Places, own: str) -> None:
    """One requirement in PEP 508; the project's own extras name nothing new."""
    line = places.line_of(f'"{text}"', f"'{text}'", text)
    try:
        requirement = parse(text)
    except NoRequirement as error:
        found.note(line, f"{text[:120]!r} is no requirement: {error}")
        return
    if requirement.name != own:
        place = {"file": found.file, "line": line, "group": group}
        found.requirements.append(msgspec.structs.replace(requirement, **place))


def poetry_entries(poetry: dict[str, Any]) -> Iterator[tuple[str, str, Any]]:
    """Group, name and value of each entry of poetry's tables."""
    tables = {"": poetry.get("dependencies"), "dev": poetry.get("dev-dependencies")}
    for group, value in table(poetry.get("group")).items():
        tables[group] = table(value).get("dependencies")
    for group, entries in tables.items():
        for name, value in table(entries).items():
            if name.lower() != "python":
                yield group, name, value


def take_poetry(name: str, value: Any, group: str, found: Lines, places: Places) -> None:
    """One entry of poetry: a constraint, a table with one, or a list of such tables."""
    line = places.line_of(f"\n{name} =", f"\n{name}=", f'\n"{name}"')
    line += line > 0  # the hit begins with the line break before it
    for one in value if isinstance(value, list) else [value]:
        entry = {"version": one} if isinstance(one, str) else table(one)
        try:
            requirement = of_entry(name, entry)
        except NoRequirement as error:
            found.note(line, f"{name} = {one!r} is no requirement: {error}"[:200])
            continue
        group = group or ("optional" if entry.get("optional") is True else "")
        place = {"file": found.file, "line": line, "group": group}
        found.requirements.append(msgspec.structs.replace(requirement, **place))


def of_entry(name: str, entry: dict[str, Any]) -> Requirement:
    """A table of poetry as a requirement. Raises :class:`NoRequirement`."""
    origin = next((text_of(entry[key]) for key in ("git", "url", "path") if key in entry), "")
    if origin:
        reference = next((text_of(entry[key]) for key in ("rev", "tag", "branch") if key in entry), "")
        kind = "git+" if "git" in entry and not origin.startswith("git") else ""
        found = parse(f"{kind}{origin}@{reference}" if reference else kind + origin)
        return msgspec.structs.replace(found, name=parse(name).name, marker=marker_of(entry))
    bounds, plain = of_poetry(text_of(entry.get("version"))), parse(name)
    return msgspec.structs.replace(plain, specifier=bounds, marker=marker_of(entry), text=f"{name}{bounds}")


def poetry_python(poetry: dict[str, Any]) -> str:
    """What poetry's table says of Python, in PEP 440; "" where it cannot be read."""
    try:
        return of_poetry(text_of(table(poetry.get("dependencies")).get("python")))
    except NoRequirement:
        return ""


def with_source(requirement: Requirement, sources: dict[str, Any]) -> Requirement:
    """A requirement with the repository that uv takes it from."""
    source = table(sources.get(requirement.name))
    if "git" not in source:
        return requirement
    reference = next((text_of(source[key]) for key in ("rev", "tag", "branch") if key in source), "")
    origin = f"git+{text_of(source['git'])}" + (f"@{reference}" if reference else "")
    return msgspec.structs.replace(requirement, origin=origin)


def index_urls(tool: dict[str, Any]) -> tuple[str, ...]:
    """The indexes that uv, poetry and pdm are told of."""
    lists = (
        array(table(tool.get("uv")).get("index")),
        array(table(tool.get("poetry")).get("source")),
        array(table(tool.get("pdm")).get("source")),
    )
    return tuple(url for entries in lists for entry in entries if (url := text_of(table(entry).get("url"))))
