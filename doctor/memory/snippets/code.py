"""Lines of Python: calls with one argument a line."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import NamedTuple

SHORT = 88  # characters of a call that stays on one line


class Call(NamedTuple):
    """A call by the name of its callable, its arguments as code by their names."""

    callable: str
    arguments: Mapping[str, str]
    first: str = ""  # an argument that is given by place


def written(call: Call, start: str = "") -> str:
    """The call as code behind ``start``: on one line where it is short."""
    given = [call.first] if call.first else []
    given += [f"{name}={value}" for name, value in call.arguments.items()]
    line = f"{start}{call.callable}({', '.join(given)})"
    if len(line) <= SHORT:
        return line
    return "\n".join([f"{start}{call.callable}(", *(f"    {one}," for one in given), ")"])


def assigned(name: str, call: Call) -> str:
    """A name that is given the value of a call."""
    return written(call, f"{name} = ")


def imported(module: str, names: Iterable[str]) -> str:
    """An import of names in alphabetical order, one a line where they are many."""
    line = f"from {module} import {', '.join(sorted(names))}"
    if len(line) <= SHORT:
        return line
    return "\n".join([f"from {module} import (", *(f"    {name}," for name in sorted(names)), ")"])


def quoted(text: str) -> str:
    """A string as code, in double quotes."""
    return json.dumps(text)
