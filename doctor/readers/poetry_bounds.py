"""Version constraints of poetry in PEP 440's words.

Reference: https://python-poetry.org/docs/dependency-specification/
"""

from __future__ import annotations

import re

from packaging.specifiers import InvalidSpecifier, SpecifierSet

from doctor.readers.requirement import NoRequirement

PART = re.compile(r"(\^|~=|~|==|!=|>=|<=|>|<|=)?\s*(\d[\w.+!-]*(?:\.\*)?|\*)$")


def of_poetry(text: str) -> str:
    """Bounds in PEP 440. Raises :class:`NoRequirement` where there are none, as for "1.0 || 3.0"."""
    parts = [part for part in re.split(r"\s*,\s*|(?<=[\w*])\s+(?=[\^~<>=!])", text.strip()) if part]
    bounds = ",".join(filter(None, (one_bound(part) for part in parts)))
    try:
        return str(SpecifierSet(bounds))
    except InvalidSpecifier:
        raise NoRequirement(f"its bounds {text!r} cannot be read") from None


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
