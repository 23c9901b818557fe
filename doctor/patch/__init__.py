"""The certain part of a script's cure, as a unified patch: arguments and imports.

Nothing is changed where the new meaning depends on what the script does at run time: that stays a sentence in
the finding. Recipes are left alone.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from doctor.facts import Facts
from doctor.patch.arguments import argument_changes
from doctor.patch.imports import import_changes
from doctor.patch.text import Change, Edit, Text
from doctor.readers.script.source import ScriptUnreadable, parse, parse_source

__all__ = ["patch_of", "patched"]


def patch_of(text: str, name: str, facts: Facts) -> str:
    """A unified patch of one script; "" where nothing is certain.

    That of a notebook is for reading: its lines are those of the code cells, not of the JSON around them.
    """
    if name.lower().endswith((".yaml", ".yml")):
        return ""
    source = parse_source(text, name)
    path = name.lstrip("/") + (" (code cells)" if source.cells else "")
    before, after = source.text, patched(source.text, facts)
    pairs = (before.splitlines(keepends=True), after.splitlines(keepends=True))
    lines = difflib.unified_diff(*pairs, f"a/{path}", f"b/{path}")
    return "".join(
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines
    )


def patched(text: str, facts: Facts) -> str:
    """The code of a script with every certain change made; as it is where the result would not parse."""
    if "\r" in text:
        return text
    try:
        code = Text(text, parse(text))
        new = code.edited(in_order([*argument_changes(facts, code), *import_changes(facts, code)]))
        parse(new)
    except ScriptUnreadable:
        return text
    return new


def in_order(changes: Iterable[Change]) -> list[Edit]:
    """The edits of all changes by position; a change that cuts into an earlier one is left out whole."""
    taken: list[Edit] = []
    for change in dict.fromkeys(changes):
        if not any(edit.overlaps(other) for edit in change for other in taken):
            taken += change
    return sorted(taken)
