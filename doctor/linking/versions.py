"""Does a file offer what another was linked against? Versions, by glibc's dl-version.c, and symbols."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from doctor.native import By
from doctor.objects import ObjectUnreadable, SharedObject
from doctor.objects.store import Objects

# Found so, a file is the very one that the asking one was shipped with.
SHIPPED: tuple[By, ...] = ("rpath", "runpath", "path")


class Mapped(Protocol):
    """An object of a process, as its loader knows it."""

    path: str
    object: SharedObject
    by: By
    shadowed: str


def lacking(
    objects: Objects, asking: Mapped, offering: Mapped, library: str, others: Iterable[Mapped]
) -> str:
    """Why a file cannot serve another as the library of a name; "" where it can, as far as is known.

    A file that marks its symbols with the versions of others alone is taken with a warning; one without any
    mark ends ld.so by an assertion. NVIDIA's libraries name their one version as the file, so that an older
    file offers the version and not the symbol. ``others``: all that is mapped.
    """
    asked, defined = asking.object.needs.get(library, {}), set(offering.object.defines)
    if defined or not offering.object.has_versions:
        absent = [name for name, is_weak in asked.items() if name not in defined and not is_weak]
        if absent:
            return f"lacks version {max(absent, key=numbers)}"
    tells_nothing = bool(asked) and (not defined or library in asked)
    if (tells_nothing and (offering.by not in SHIPPED or not defined)) or offering.shadowed:
        paths = (asking.path, offering.path, offering.shadowed, *sorted(one.path for one in others))
        about = (library, *((path, objects.host.identity(path)) for path in paths))
        symbol = objects.answer(about, lambda: _absent_symbol(objects, paths, library))
        return f"lacks symbol {symbol}" if symbol else ""
    return ""


def _absent_symbol(objects: Objects, paths: Sequence[str], library: str) -> str:
    """The first symbol that one file needs of another and that is absent; "" where none is known to be."""
    asking, offering, shadowed, *others = paths
    try:
        asks, offered = objects.symbols(asking), objects.symbols(offering).offered()
        absent = asks.asked(library) - offered
        if shadowed and not absent:
            # No version tells which library has to offer the rest. What the right one offers, and neither
            # this one nor any other does, is absent.
            absent = (asks.asked_of_any() & objects.symbols(shadowed).offered()) - offered
            for other in others if absent else ():
                absent -= objects.symbols(other).offered()
    except (OSError, ObjectUnreadable):
        return ""
    return min(absent, default="")


def numbers(version: str) -> tuple[str, tuple[int, ...]]:
    """The order of versions within a family: GLIBC_2.9 before GLIBC_2.10."""
    family, _, rest = version.rpartition("_")
    return family, tuple(int(part) if part.isdigit() else -1 for part in rest.split("."))
