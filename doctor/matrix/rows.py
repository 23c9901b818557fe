"""Reads and validates the rows of the compatibility matrix; its form is in compat_matrix/README.md."""

from __future__ import annotations

import datetime
import re
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Literal

import msgspec

import compat_matrix
from doctor.facts import Stage
from doctor.findings import Severity
from doctor.versions import Interval, comparable

FOLDER = Path(compat_matrix.__file__).parent

# Subjects of a term that are no packages.
PLATFORM_SUBJECTS = ("python", "driver", "torch.cuda", "gpu.compute-capability", "glibc", "os", "arch")


class MatrixInvalid(Exception):
    """A row that breaks the form; the message names file, row and key."""


class Term(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One condition on one subject: an interval of releases, a list of values, or absence."""

    introduced: str = "0"
    fixed: str | None = None
    last_affected: str | None = None
    one_of: tuple[str, ...] = msgspec.field(default=(), name="is")
    absent: bool = False

    @property
    def interval(self) -> Interval:
        """The releases that the term speaks of."""
        return Interval(self.introduced, self.fixed, self.last_affected)


class Remedy(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One way out; exactly one field is set."""

    upgrade: str | None = None  # a package, to its ``fixed``
    downgrade: str | None = None  # a package, below its ``introduced``
    install: str | None = None  # a requirement
    uninstall: str | None = None  # a package
    set: str | None = None  # NAME=value
    system: str | None = None  # a sentence for whoever runs the machine


class Runs(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Version sets that were installed and run on either side of a bound."""

    bad: tuple[str, ...]
    good: tuple[str, ...]


class Row(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """An incompatibility: terms that must not all hold."""

    row: str
    id: str
    severity: Severity
    title: str
    why: str
    breaks: tuple[Stage, ...]
    when: dict[str, Term]
    basis: Literal["declared", "computed", "reproduced", "reported"]
    references: tuple[str, ...]
    checked: datetime.date
    example: dict[str, str]
    healthy: dict[str, str] | None = None
    symptoms: tuple[str, ...] = ()
    fix: tuple[Remedy, ...] = ()
    reproduced: Runs | None = None
    withdrawn: str = ""


@cache
def load_rows() -> tuple[Row, ...]:
    """Every row of the matrix that ships with the doctor, its form checked and no more.

    Raises :class:`MatrixInvalid`. What rows say is held against sense and each other by the tests, which call
    :func:`validate` and :func:`refuse_duplicates`: no user should wait for that.
    """
    sources = sorted((FOLDER / "incompatibilities").glob("*.toml"))
    return tuple(row for file in sources for row in read_rows(file))


@cache
def reviewed() -> Mapping[str, Any]:
    """How far the matrix was reviewed: ``date`` and the newest release of each of its ``packages``."""
    return read_toml(FOLDER / "reviewed.toml")


def read_toml(path: Path) -> dict[str, Any]:
    """A TOML file of the matrix as it stands. Raises ValueError where it is no TOML.

    In an installed wheel its JSON stands beside it (``scripts/wheel_hook.py``): read far faster.
    """
    compiled = path.with_suffix(".json")
    if compiled.is_file():
        return msgspec.json.decode(compiled.read_bytes(), type=dict[str, Any])
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    return tomllib.loads(path.read_text(encoding="utf-8"))


def read_rows(file: Path) -> Iterator[Row]:
    """The rows of one file. Raises :class:`MatrixInvalid` with file, row and key."""
    try:
        document = read_toml(file)
    except ValueError as error:
        raise MatrixInvalid(f"{file.name}: {error}") from error
    for number, table in enumerate(document.get("incompatibility", ()), 1):
        name = table.get("row", f"number {number}")
        try:
            yield msgspec.convert(table, Row)
        except msgspec.ValidationError as error:
            raise MatrixInvalid(f"{file.name}: row {name}: {error}") from error


def validate(file: Path) -> tuple[Row, ...]:
    """The rows of one file, each free of complaints. Raises :class:`MatrixInvalid`."""
    rows = tuple(read_rows(file))
    for row in rows:
        for complaint in complaints(row):
            raise MatrixInvalid(f"{file.name}: row {row.row}: {complaint}")
    return rows


def complaints(row: Row) -> Iterator[str]:
    """What is wrong with a row beyond its types, each with the key it is wrong in."""
    if not re.fullmatch(r"[a-z0-9-]+/[a-z0-9-]+", row.id):
        yield f"id: {row.id!r} is not subject/fault"
    if not row.references:
        yield "references: a row without a source is hearsay"
    if row.basis == "reproduced" and row.reproduced is None:
        yield "reproduced: says nowhere what was run"
    for symptom in row.symptoms:
        yield from symptom_complaints(symptom)
    for subject, term in row.when.items():
        yield from term_complaints(subject, term)
    for remedy in row.fix:
        yield from remedy_complaints(row, remedy)
    for value in {*re.findall(r"\{([^}]*)\}", row.title)} - {*row.when}:
        yield f"title: {{{value}}} is no term of this row"


def symptom_complaints(symptom: str) -> Iterator[str]:
    """A pattern that does not compile."""
    try:
        re.compile(symptom.removeprefix("re:") if symptom.startswith("re:") else "")
    except re.error as error:
        yield f"symptoms: {symptom!r} is no pattern: {error}"


def term_complaints(subject: str, term: Term) -> Iterator[str]:
    """Bounds that are no versions or do not ascend, and conditions that exclude one another."""
    bounds = [bound for bound in (term.introduced, term.fixed or term.last_affected) if bound]
    versions = [comparable(bound) for bound in bounds]
    if None in versions:
        yield f"when.{subject}: {bounds[versions.index(None)]!r} is no version"
    elif len(versions) == 2 and versions[0] > versions[1]:  # type: ignore[operator]
        yield f"when.{subject}: the interval is empty: {term.interval}"
    if term.fixed and term.last_affected:
        yield f"when.{subject}: fixed and last_affected exclude one another"
    if (subject in ("os", "arch")) != bool(term.one_of):
        yield f"when.{subject}: `is` belongs to os and arch, and they to it"


def remedy_complaints(row: Row, remedy: Remedy) -> Iterator[str]:
    """Remedies that name no way out, or none that the terms prove."""
    chosen = [name for name in remedy.__struct_fields__ if getattr(remedy, name)]
    if len(chosen) != 1:
        yield "fix: each remedy is exactly one of " + ", ".join(remedy.__struct_fields__)
        return
    up, down = row.when.get(remedy.upgrade or ""), row.when.get(remedy.downgrade or "")
    if remedy.upgrade and not (up and up.fixed):
        yield f"fix: upgrade names {remedy.upgrade}, whose term has no `fixed`"
    if remedy.downgrade and (down is None or down.introduced == "0"):
        yield f"fix: downgrade names {remedy.downgrade}, whose term has no `introduced`"


def refuse_duplicates(rows: tuple[Row, ...]) -> None:
    """Two rows of one name, or two live rows of the same terms, cannot both be right."""
    names: set[str] = set()
    terms: dict[str, str] = {}
    for row in rows:
        if row.row in names:
            raise MatrixInvalid(f"row {row.row}: the name is taken twice")
        names.add(row.row)
        key = repr(sorted(row.when.items(), key=lambda item: item[0]))
        if not row.withdrawn and key in terms:
            raise MatrixInvalid(f"row {row.row}: the same terms as row {terms[key]}")
        terms[key] = row.row
