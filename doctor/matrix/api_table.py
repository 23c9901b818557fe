"""Reads the api tables: which release of a package has which module, name, class and callable.

One file a package, `compat_matrix/api/NAME.json`, written by `scripts/extract_api.py`. Each module, class and
callable is one line of words that is only taken apart when it is asked for::

    "releases":  ["0.12.2", "0.13.0", "0.16.0"]
    "modules":   {"trl": ": Judge@:1 SFTTrainer trainer/"}
    "classes":   {"trl.SFTTrainer": ": transformers.Trainer"}
    "callables": {"trl.SFTTrainer": ": model= tokenizer=@:2 processing_class=@1:"}

The first word says in which releases a thing exists, and `@` after a word says it of that word: slices of
`releases`, joined by commas; a word without them exists wherever its line does.

Words of a module: `name`; `name?`, bound under a condition that is not known; `name/`, a submodule; `*Fast`,
names with this ending are made on demand, so that none is ever said to be missing (`*` alone is every name,
`*_fast/` every submodule with this ending).

Words of a class: its bases in order, `?` for one that is not known.

Words of a callable: `name`, `name=` (has a default), `*`, `/`, `*args` and `**kwargs` as in Python; `~name`,
taken out of `**kwargs` by name; `!name`, refused though `**kwargs` would take it; `>callable`, the rest of
`**kwargs` goes there, and `>super`, to the same method of the base class. `.` as the first word makes the
rest fields of a dataclass, which follow those of its bases; `-name` is a field that is no parameter.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from functools import cache, cached_property, lru_cache

import msgspec
from packaging.version import Version

from doctor.matrix.rows import FOLDER
from doctor.versions import comparable

COVERED = frozenset(
    ("accelerate", "bitsandbytes", "datasets", "huggingface-hub", "peft", "transformers", "trl")
)


class Table(msgspec.Struct, frozen=True, dict=True):
    """All that is stored of one package."""

    releases: tuple[str, ...]  # ascending
    modules: dict[str, str]
    classes: dict[str, str]
    callables: dict[str, str]
    aliases: dict[str, str] = {}  # dotted names that mean another class or callable than they seem to
    leans_on: tuple[str, ...] = ()  # the packages that its classes derive from
    foreign: str = ""  # names that its modules take from elsewhere: kept in no line, so not missing either

    @cached_property
    def order(self) -> list[Version]:
        """The releases as they compare."""
        return [Version(release) for release in self.releases]

    def places(self, version: str) -> tuple[int, ...]:
        """The release, or the two that a version stands between; () where it is outside the table.

        What both neighbours say is true of what stands between them; where they differ, nothing is known.
        """
        wanted = comparable(version)
        if wanted is None:
            return ()
        place = bisect_right(self.order, wanted) - 1
        if place >= 0 and self.order[place] == wanted:
            return (place,)
        return (place, place + 1) if 0 <= place < len(self.order) - 1 else ()


@cache
def table_of(package: str) -> Table | None:
    """The table of a package by its normalised name, None where there is none."""
    if package not in COVERED:
        return None
    return msgspec.json.decode((FOLDER / "api" / f"{package}.json").read_bytes(), type=Table)


def package_of(dotted: str) -> str:
    """The package of a module or callable: "huggingface-hub" of "huggingface_hub.utils"."""
    return dotted.partition(".")[0].replace("_", "-")


@lru_cache(maxsize=4096)
def slices(text: str) -> tuple[tuple[int, int], ...]:
    """Half-open runs of releases: "3:7,9:" is ((3, 7), (9, no end))."""
    pairs = (run.partition(":") for run in text.split(","))
    return tuple((int(first or 0), int(last or 1 << 30)) for first, _, last in pairs)


def is_in(text: str, place: int) -> bool:
    """Does a release lie in these slices?"""
    return any(first <= place < last for first, last in slices(text))


def exists(line: str, place: int) -> bool:
    """Does the thing of this line exist in a release?"""
    return is_in(line.split(" ", 1)[0], place)


def words_at(line: str, place: int) -> Iterator[str]:
    """The words of a line that hold in a release."""
    for word in line.split(" ")[1:]:
        text, marked, runs = word.partition("@")
        if not marked or is_in(runs, place):
            yield text


@lru_cache(maxsize=256)
def all_words_at(line: str, place: int) -> frozenset[str]:
    """The same as a set that is made once: the top of transformers has nine thousand."""
    return frozenset(words_at(line, place))


def runs_of(line: str, text: str) -> list[tuple[int, int]]:
    """The runs of one word of a line, ascending; those of the line itself where the word has none."""
    found: list[tuple[int, int]] = []
    for word in line.split(" ")[1:]:
        name, marked, runs = word.partition("@")
        if name == text:
            found += slices(runs if marked else line.split(" ", 1)[0])
    return sorted(found)
