"""What ``pip list``, ``uv pip list``, ``conda list`` and ``pip inspect`` print, as tables or JSON."""

from __future__ import annotations

import json
import re
from typing import Any

import msgspec
from packaging.version import InvalidVersion, Version

from doctor.readers import Lines, Source, Unreadable
from doctor.readers.conda_names import pypi_name
from doctor.readers.requirement import NoRequirement, parse
from doctor.readers.toml_document import Places, array, table, text_of
from doctor.wanted import Wanted

HEADER = re.compile(r"^#?[ \t]*(?:Package|Name)[ \t|]+Version\b", re.M | re.I)
CONDA = re.compile(r"^# (?:packages in environment at|Name[ \t]+Version[ \t]+Build)", re.M)
EXPORT = re.compile(r"^[\w.-]+=[\w.!+]+=[\w.]+$", re.M)  # conda list --export
BUILD_CUDA = re.compile(r"(?:^|_)cuda(\d+\.\d+)")


def is_listing(text: str) -> bool:
    """Is it the table of one of these commands?"""
    return bool(HEADER.search(text) or CONDA.search(text) or is_export(text))


def is_export(text: str) -> bool:
    """Is it what ``conda list --export`` prints: name=version=build on most lines?"""
    lines = [line for line in text.split("\n") if line.strip() and not line.startswith("#")]
    return bool(lines) and len(EXPORT.findall(text)) * 2 > len(lines)


def read(source: Source) -> Wanted:
    """The packages of a table; columns after the version say nothing of the release."""
    found, stated = Lines(source.name), dict[str, str]()
    from_conda = bool(CONDA.search(source.text)) or is_export(source.text)
    for number, line in enumerate(source.lines, 1):
        row = line.strip().strip("`|")
        if not row or row.startswith(("#", "--", "==", "$", ">")) or HEADER.match(row):
            continue
        cells = row.split("=") if from_conda and "=" in row else row.replace("|", " ").split()
        take(cells, number, from_conda, found, stated)
    return Wanted(
        file=source.name,
        form="installed",
        requirements=tuple(found.requirements),
        python=f"=={stated['python']}" if "python" in stated else "",
        torch_cuda=stated.get("cuda", ""),
        notes=tuple(found.notes),
    )


def take(cells: list[str], line: int, from_conda: bool, found: Lines, stated: dict[str, str]) -> None:
    """One row: a name, a version, and with conda a build and perhaps the channel pypi."""
    if len(cells) < 2:
        found.note(line, f"{cells[0][:120]!r} is no row of a list of packages")
        return
    name, version, *more = cells
    of_pypi = not from_conda or "pypi" in more
    if not of_pypi and name == "python":
        stated["python"] = version
        return
    if not of_pypi and name == "pytorch" and more:
        built = BUILD_CUDA.search(more[0])
        stated["cuda"] = built[1] if built else "cpu" if "cpu" in more[0] else "unknown"
    package = name if of_pypi else pypi_name(name)
    if package:
        add(package, version, line, found)


def add(name: str, version: str, line: int, found: Lines) -> None:
    """One installed release."""
    try:
        requirement = parse(f"{name}=={Version(version)}")
    except (NoRequirement, InvalidVersion):
        found.note(line, f"{name[:80]!r} {version[:40]!r}: no package with a version")
        return
    found.requirements.append(msgspec.structs.replace(requirement, file=found.file, line=line))


def load_json(text: str) -> Any:
    """A JSON document. Raises :class:`Unreadable`."""
    try:
        return json.loads(text)
    except RecursionError as error:
        raise Unreadable("its JSON is nested too deeply") from error
    except ValueError as error:
        raise Unreadable(f"it is no JSON: {error}") from error


def read_json(source: Source) -> Wanted:
    """``pip list --format json``, ``conda list --json``, ``pip inspect``. Raises :class:`Unreadable`."""
    document = load_json(source.text)
    entries = array(document) or array(table(document).get("installed"))
    found, places = Lines(source.name), Places(source.text)
    for entry in entries:
        described = table(table(entry).get("metadata")) or table(entry)
        name, version = text_of(described.get("name")), text_of(described.get("version"))
        of_conda = "base_url" in described and described.get("channel") != "pypi"
        package = pypi_name(name) if of_conda else name
        if package and version:
            add(package, version, places.line_of(f'"{name}"'), found)
    if not found.requirements:
        raise Unreadable("it is JSON, and no list of packages")
    return Wanted(
        file=source.name, form="installed", requirements=tuple(found.requirements), notes=tuple(found.notes)
    )
