"""Names that the api tables do not hold: of torch, private ones, attributes of objects."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

import msgspec

from doctor.matrix.api_table import package_of
from doctor.matrix.rows import FOLDER, read_toml
from doctor.paste import Complaint
from doctor.triage.case import Case, Suspicion
from doctor.triage.lookups.asking import UNKNOWN, USER, Asker
from doctor.triage.lookups.judging import Wanted, judge
from doctor.versions import Interval


class Further(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Names of one module or class that came or went together."""

    module: str
    names: tuple[str, ...]
    introduced: str = "0"
    fixed: str | None = None
    package: str = ""  # where it is not that of the module's path
    asker: str = ""


@cache
def by_path() -> Mapping[str, Further]:
    """Every row by its dotted names."""
    rows = read_toml(FOLDER / "api" / "further_names.toml")["name"]
    known = (msgspec.convert(row, Further) for row in rows)
    return {f"{row.module}.{name}": row for row in known for name in row.names}


def further_name(
    owner: str, name: str, asker: Asker, complaint: Complaint, case: Case
) -> tuple[Suspicion, ...]:
    """A name of a module or class, or with "" as the name a module itself; () where no row has it."""
    dotted = f"{owner}.{name}" if name else owner
    found = next((path for path in outward(dotted) if path in by_path()), "")
    if not found:
        return ()
    row, last = by_path()[found], found.rpartition(".")[2]
    default = row.asker or ("transformers" if row.module.startswith("torch") else UNKNOWN)
    of_objects = "." not in row.module and not row.module.islower()
    who = Asker(default) if asker.who == UNKNOWN or (of_objects and asker.who == USER) else asker
    package = row.package or package_of(row.module)
    has = (Interval(row.introduced, row.fixed),)
    return judge(Wanted(found, row.module, last, package, "name", has), who, complaint, case)


def module_of(name: str, case: Case) -> str:
    """The module of a name that stands in one row alone, and whose asker the paste speaks of."""
    rows = {row.module: row for path, row in by_path().items() if path.endswith(f".{name}")}
    if len(rows) != 1:
        return ""
    module, row = next(iter(rows.items()))
    told = not row.asker or case.version(row.asker) or case.mentions(row.asker)
    return module if told and "." in module else ""


def outward(dotted: str) -> list[str]:
    """A path and those around it, the longest first."""
    parts = dotted.split(".")
    return [".".join(parts[:size]) for size in range(len(parts), 1, -1)]
