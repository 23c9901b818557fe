"""The versions that a script itself asks for: cells that install something, and its inline metadata.

Reference: https://packaging.python.org/en/latest/specifications/inline-script-metadata/ (PEP 723)
"""

from __future__ import annotations

import re

from doctor.readers import Source, Unreadable, commands, pyproject
from doctor.readers.script.source import code_cells
from doctor.wanted import Wanted

METADATA = re.compile(r"(?m)^# /// script[ \t]*\n((?:#(?: .*)?\n)+?)# ///[ \t]*$")


def wanted_by(source: Source) -> Wanted | None:
    """What a script asks for, None where it asks for nothing."""
    try:
        return of_notebook(source) if source.name.endswith(".ipynb") else of_metadata(source)
    except Unreadable:
        return None


def of_notebook(source: Source) -> Wanted | None:
    """What ``!pip install`` of a notebook's cells names. Raises :class:`Unreadable`."""
    text = "\n".join(cell.text for cell in code_cells(source.text))
    wanted = commands.read(source._replace(text=text))
    return wanted if wanted.requirements else None


def of_metadata(source: Source) -> Wanted | None:
    """The dependencies in the comment block at the head of a script. Raises :class:`Unreadable`."""
    found = METADATA.search(source.text)
    if found is None:
        return None
    lines = (line[2:] for line in found[1].splitlines())
    wanted = pyproject.read(source._replace(text="\n".join(["[project]", *lines])))
    return wanted if wanted.requirements else None
