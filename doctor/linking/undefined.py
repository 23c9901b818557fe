"""What a library asks of no library in particular, held against all that a process has mapped.

C++ spells types and ABI into the names of functions, so that an extension that was built for another torch
asks for names that this one has not. Python opens extensions with RTLD_NOW: one absent name ends the import.
"""

from __future__ import annotations

from doctor.linking.loader import Process
from doctor.objects import ObjectUnreadable

NAMES = 5  # that are told


def undefined(process: Process, path: str, *, only_kept: bool = False) -> tuple[str, ...] | None:
    """Symbols that a library needs in no version and that nothing offers.

    None where its libraries cannot be read or, by ``only_kept``, have not been read for it before.
    """
    objects = process.objects
    paths = (path, *(one.path for one in process.mapped))
    about = ("undefined", *((one, objects.host.identity(one)) for one in paths))
    try:
        if only_kept:
            found = objects.kept_answer(about)
        else:
            found = objects.answer(about, lambda: "\n".join(_absent(process, path)))
    except (OSError, ObjectUnreadable):
        return None
    return None if found is None else tuple(found.splitlines())


def _absent(process: Process, path: str) -> list[str]:
    opened = process.objects.open(path)
    needed = opened.object.needed if opened and opened.object else ()
    absent = process.objects.symbols(path).asked_of_any()
    # Its own libraries first: few of the others need be read then.
    order = [process.names[name] for name in needed if name in process.names]
    for one in (*order, *process.mapped):
        if not absent:
            break
        absent -= process.objects.symbols(one.path).offered()
    return sorted(absent)[:NAMES]
