"""A training script or notebook -> :class:`doctor.script.Script`: parsed, followed, never executed.

The walk (``statements``) runs over values instead of objects: what a name may be, which call made an object,
what a dictionary holds. What cannot be followed is unknown. A second and third round know what the functions
of the script are given and give back.
"""

from __future__ import annotations

import ast

from doctor.readers.script.options import options_of, truncations_of
from doctor.readers.script.reading import Reading
from doctor.readers.script.source import ScriptUnreadable, parse_source
from doctor.readers.script.statements import Statements
from doctor.script import Script

ROUNDS = 4  # a fact travels through as many functions of the script's own

__all__ = ["ScriptUnreadable", "read_script"]


def read_script(text: str, name: str) -> Script:
    """What a script says. Raises :class:`ScriptUnreadable` where it is no script for Python 3."""
    source = parse_source(text, name)
    try:
        reading = followed(source.tree, source.text)
    except RecursionError as error:
        raise ScriptUnreadable("it is nested too deeply to be followed") from error
    options = options_of(source.tree)
    return Script(
        name=name,
        imports=tuple(sorted(reading.imports.values(), key=lambda one: (one.place.line, one.place.column))),
        calls=tuple(reading.calls[number] for number in sorted(reading.calls)),
        classes=tuple(reading.classes.values()),
        cells=source.cells,
        cell_numbers=source.cell_numbers,
        skipped=source.skipped,
        options=options,
        truncations=truncations_of(source.tree, options),
    )


def followed(tree: ast.Module, text: str) -> Reading:
    """The walk, until a round learns nothing new."""
    reading = Reading(tree, text)
    for number in range(ROUNDS):
        if number:
            reading.begin()
        Statements(reading).walk()
        if not reading.end():
            break
    return reading
