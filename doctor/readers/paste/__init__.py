"""Pasted text to statements and complaints: one module a format.

Each reader of a format has ``read(lines)``: it looks through all lines of a cleaned text (``clean.py``) for
its own blocks, wherever they stand, and yields each. It never raises: what it does not understand it leaves
out. Text is hostile, so patterns take linear time and are anchored; values are cut to ``LONGEST`` characters.
"""

from __future__ import annotations

from typing import NamedTuple

from doctor.paste import Form, Statement

LONGEST = 300  # characters of one value


class Block(NamedTuple):
    """What one format says in one place."""

    form: Form
    first: int  # line, counted from 1
    last: int  # inclusive
    statements: tuple[Statement, ...]
    # Do its lines belong to it alone? Then tracebacks and prose are not looked for in them.
    is_whole: bool = True
