"""What each release of the libraries exports, and which arguments its callables take.

Pure queries of the api tables. Names are dotted as in Python; a package is named as on the index
("huggingface-hub"), and `versions` maps such names to versions, for a callable may stand on another
package's: `trl.SFTConfig` takes what transformers' `TrainingArguments` takes. None always means *not known*:
a version that the table does not settle, a module that makes its names on demand, a base class not read.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cache
from typing import NamedTuple, TypeVar

from doctor.matrix.api_signature import SUPER, UNKNOWN, Parameter, Signature, lineage, settings, signature_at
from doctor.matrix.api_table import Table, all_words_at, exists, package_of, runs_of, table_of
from doctor.matrix.rows import FOLDER, read_toml
from doctor.versions import Interval

__all__ = [
    "Parameter",
    "Replacement",
    "Signature",
    "bases",
    "canonical",
    "exports",
    "former",
    "has_module",
    "history",
    "parameter_history",
    "replacement",
    "replacements",
    "signature",
    "successor",
    "where_now",
]

Answer = TypeVar("Answer")


class Replacement(NamedTuple):
    """What took the place of a parameter or a name; from `compat_matrix/api/renamed.toml`."""

    owner: str  # the callable that had the parameter, the module that had the name
    old: str
    new: str  # the parameter, or the dotted name; "" where there is none
    since: str  # the first release of the owner's package that has `new`, or does without `old`
    into: str  # the callable that takes the parameter now, where it is another one
    value: str  # what to give in its place: "{value}" stands for the old value; "" where it stays
    sentence: str
    source: str


def exports(module: str, name: str, version: str) -> bool | None:
    """Can `from module import name` succeed in this version of the module's package, its needs installed?"""
    table = table_of(package_of(module))
    if table is None:
        return None
    return agreed(exported(table, module, name, place) for place in table.places(version))


def has_module(module: str, version: str) -> bool | None:
    """Does `import module` find a module in this version of its package?"""
    table = table_of(package_of(module))
    if table is None:
        return None
    return agreed(found(table, module, place) for place in table.places(version))


def where_now(name: str, package: str, version: str) -> tuple[str, ...]:
    """The modules of a package that export a name in a version, the shortest first."""
    table = table_of(package)
    places = table.places(version) if table else ()
    if table is None or not places:
        return ()
    lines = (module for module, line in table.modules.items() if name in line)
    having = [m for m in lines if all(exported(table, m, name, place) for place in places)]
    return tuple(sorted(having, key=lambda module: (module.count("."), module)))


def history(module: str, name: str) -> tuple[Interval, ...]:
    """In which releases a module exports a name; `fixed` is the first without it."""
    table = table_of(package_of(module))
    if table is None or module not in table.modules:
        return ()
    line = table.modules[module]
    runs = runs_of(line, name) or runs_of(line, name + "/")
    return tuple(interval(table, first, last) for first, last in runs)


def signature(callable_name: str, versions: Mapping[str, str]) -> Signature | None:
    """The arguments of a function, a method, or a class's constructor in these versions."""
    name = canonical(callable_name)
    return agreed(signature_at(name, places) for places in settings(package_of(name), versions))


def parameter_history(callable_name: str, name: str) -> tuple[Interval, ...]:
    """In which releases a callable itself names a parameter; what it inherits is its bases' history."""
    table, key = table_of(package_of(callable_name)), canonical(callable_name)
    if table is None or key not in table.callables:
        return ()
    spellings = (name, f"{name}=", f".{name}=", f".{name}", f"~{name}")
    runs = sorted(run for spelling in spellings for run in runs_of(table.callables[key], spelling))
    return tuple(interval(table, first, last) for first, last in joined(runs))


def bases(class_name: str, versions: Mapping[str, str]) -> tuple[str, ...]:
    """The classes that a class derives from in these versions, nearest first, itself left out."""
    name = canonical(class_name)
    chain = agreed(lineage(name, places) for places in settings(package_of(name), versions)) or (name,)
    return tuple(base for base in chain[1:] if base != UNKNOWN)


def replacement(owner: str, name: str) -> Replacement | None:
    """What took the place of a parameter of a callable or its bases, or of a name of a module."""
    for candidate in with_ancestors(canonical(owner)):
        if (found := replacements().get((candidate, name))) is not None:
            return found
    return None


def successor(owner: str, name: str, versions: Mapping[str, str]) -> Replacement | None:
    """The replacement that these versions take: replacements are followed until one is accepted.

    The last one where none is, or where that is not known: its `since` says which release has it.
    """
    found: Replacement | None = None
    seen: set[tuple[str, str]] = set()
    while (row := replacement(owner, name)) is not None and (row.owner, row.old) not in seen:
        seen.add((row.owner, row.old))
        found, owner, name = row, row.into or owner, row.new or name
        taken = signature(owner, versions)
        if not row.new or taken is None or taken.accepts(name):
            break
    return found


def former(owner: str, name: str) -> Replacement | None:
    """The replacement whose `new` is this parameter: its `old` is the name in releases before `since`."""
    names = list(with_ancestors(canonical(owner)))
    rows = (row for row in replacements().values() if row.new == name and not row.into)
    return next((row for row in rows if row.owner in names), None)


@cache
def replacements() -> Mapping[tuple[str, str], Replacement]:
    """Every row of `renamed.toml` by owner and old name."""
    rows = read_toml(FOLDER / "api" / "renamed.toml")["renamed"]
    filled = (Replacement(**{"new": "", "into": "", "value": "", **row}) for row in rows)
    return {(row.owner, row.old): row for row in filled}


def canonical(dotted: str) -> str:
    """The one name of a class, function or method: the shortest path that ever exported it.

    `trl.SFTTrainer.train` of `trl.trainer.sft_trainer.SFTTrainer.train`; a name that is not known is its own.
    """
    table = table_of(package_of(dotted))
    module, _, name = dotted.rpartition(".")
    if table is None or not module or dotted in table.classes or dotted in table.callables:
        return dotted
    if dotted in table.aliases:
        return table.aliases[dotted]
    if module not in table.modules:
        return f"{canonical(module)}.{name}"
    parts = module.split(".")
    above = (".".join([*parts[:size], name]) for size in range(1, len(parts)))
    return next((key for key in above if key in table.classes or key in table.callables), dotted)


def exported(table: Table, module: str, name: str, place: int) -> bool | None:
    """The answer of :func:`exports` for one release of the table."""
    line = table.modules.get(module)
    if line is None or not exists(line, place):
        return False if found(table, module, place) is False else None
    words = all_words_at(line, place)
    if name in words or f"{name}/" in words:
        return True
    if f"{name}?" in words or name.startswith("_") or name in table.foreign.split(" "):
        return None
    return None if is_made_on_demand(name, words) else False


def found(table: Table, module: str, place: int) -> bool | None:
    """The answer of :func:`has_module` for one release of the table."""
    parent, _, name = module.rpartition(".")
    if not parent:
        return True
    line = table.modules.get(parent)
    if line is None or not exists(line, place):
        return False if found(table, parent, place) is False else None
    words = all_words_at(line, place)
    if f"{name}/" in words:
        return True
    return None if is_made_on_demand(f"{name}/", {word for word in words if word.endswith("/")}) else False


def is_made_on_demand(name: str, words: Collection[str]) -> bool:
    """May a module with these words make this name when it is asked for it?"""
    return any(name.endswith(word[1:]) for word in words if word.startswith("*"))


def agreed(answers: Iterable[Answer]) -> Answer | None:
    """What all answers say, None where they differ or there are none."""
    different = list(dict.fromkeys(answers))
    return different[0] if len(different) == 1 else None


def interval(table: Table, first: int, last: int) -> Interval:
    """A run of releases as versions; what the first release in the table has was introduced before it."""
    fixed = table.releases[last] if last < len(table.releases) else None
    return Interval(table.releases[first] if first else "0", fixed)


def joined(runs: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Ascending runs, those that touch made one."""
    for index, (first, last) in enumerate(runs):
        if index and first <= runs[index - 1][1]:
            continue
        while (more := next((run for run in runs if run[0] <= last < run[1]), None)) is not None:
            last = more[1]
        yield first, last


def with_ancestors(owner: str) -> Iterator[str]:
    """A callable and the same of every class that its class ever derived from, nearest first, each once.

    Over the releases two classes may have derived from each other: trl's KTOTrainer and its experimental one.
    """
    waiting, seen = [owner], set[str]()
    while waiting:
        name = waiting.pop(0)
        if name in seen:
            continue
        seen.add(name)
        yield name
        waiting = [*ancestors(name), *waiting]


def ancestors(owner: str) -> list[str]:
    """What a class, a function or a method ever took over directly, in the order of its line."""
    table = table_of(package_of(owner))
    if table is None:
        return []
    line = table.classes.get(owner)
    if line is not None:
        return [word.partition("@")[0] for word in line.split(" ")[1:] if not word.startswith(UNKNOWN)]
    words = [word.partition("@")[0] for word in table.callables.get(owner, "").split(" ")[1:]]
    forwarded = [word[1:] for word in words if word.startswith(">") and word != SUPER]
    of, _, method = owner.rpartition(".")
    inherited = [f"{base}.{method}" for base in list(with_ancestors(of))[1:]] if of in table.classes else []
    return forwarded + inherited
