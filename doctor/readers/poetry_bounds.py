"""Version constraints of poetry in PEP 440's words.

Reference: https://python-poetry.org/docs/dependency-specification/
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from packaging.specifiers import InvalidSpecifier, SpecifierSet

from doctor.readers.requirement import NoRequirement

PART = re.compile(r"(\^|~=|~|==|!=|>=|<=|>|<|=)?\s*(\d[\w.+!-]*(?:\.\*)?|\*)$")


# Of PEP 508's markers, those that pipenv takes as keys.
VARIABLES = (
    *("os_name", "sys_platform", "platform_machine", "platform_system", "platform_python_implementation"),
    *("python_version", "python_full_version", "implementation_name"),
)


def of_poetry(text: str) -> str:
    """Bounds in PEP 440. Raises :class:`NoRequirement` where there are none, as for "1.0 || 3.0"."""
    parts = [part for part in re.split(r"\s*,\s*|(?<=[\w*])\s+(?=[\^~<>=!])", text.strip()) if part]
    bounds = ",".join(filter(None, (one_bound(part) for part in parts)))
    try:
        return str(SpecifierSet(bounds))
    except InvalidSpecifier:
        raise NoRequirement(f"its bounds {text!r} cannot be read") from None


def marker_of(entry: Mapping[str, Any]) -> str:
    """Where an entry of poetry or pipenv holds, as a marker of PEP 508; "" where it holds everywhere.

    Poetry has ``python`` and ``platform`` beside ``markers``; pipenv has the variables of markers as keys.
    """
    parts = [entry["markers"]] if isinstance(entry.get("markers"), str) else []
    if isinstance(entry.get("python"), str):
        alternatives = [of_python(text) for text in re.split(r"\|\|?", entry["python"])]
        parts.append(" or ".join(alternatives) if all(alternatives) else "")
    if isinstance(entry.get("platform"), str):
        parts.append(f'sys_platform == "{entry["platform"]}"')
    parts += [f"{name} {entry[name]}" for name in VARIABLES if isinstance(entry.get(name), str)]
    parts = [part for part in parts if part]
    return " and ".join(f"({part})" for part in parts) if len(parts) > 1 else "".join(parts)


def of_python(text: str) -> str:
    """Bounds on Python as a marker; "" where there are none, or none that can be read."""
    try:
        bounds = SpecifierSet(of_poetry(text))
    except NoRequirement:
        return ""
    return " and ".join(f'python_full_version {one.operator} "{one.version}"' for one in bounds)


def one_bound(part: str) -> str:
    """One constraint: "^1.2" is ">=1.2,<2", "~1.2" is ">=1.2,<1.3", a bare version is that one."""
    found = PART.match(part)
    if not found:
        raise NoRequirement(f"its bound {part!r} cannot be read")
    operator, version = found[1] or "", found[2]
    if version == "*":
        return ""
    if operator in ("^", "~"):
        return f">={version},<{ceiling(version, operator)}"
    return f"=={version}" if operator in ("", "=") else operator + version


def ceiling(version: str, operator: str) -> str:
    """The first release outside: a caret keeps the first part that is not zero, a tilde the second."""
    match = re.match(r"\d+(?:\.\d+)*", version)
    numbers = [int(number) for number in match[0].split(".")] if match else [0]
    if operator == "~":
        kept = min(len(numbers), 2) - 1
    else:
        kept = next((place for place, number in enumerate(numbers) if number), len(numbers) - 1)
    return ".".join(map(str, [*numbers[:kept], numbers[kept] + 1]))
