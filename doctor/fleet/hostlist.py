"""Names of nodes as schedulers write them: ``node[001-128,200],login1``, expanded and folded.

Source: Slurm's hostlist expressions, as ``scontrol show hostnames`` expands them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import groupby, product

MOST = 200_000  # names of one expression
_PIECE = re.compile(r"\[([^\[\]]*)\]|([^\[\]]+)")
_RANGE = re.compile(r"(\d{1,12})(?:-(\d{1,12}))?", re.ASCII)
_NUMBERED = re.compile(r"(.*?)(\d{1,12})(\D*)", re.ASCII | re.DOTALL)


def expand(text: str) -> tuple[str, ...]:
    """Every name of an expression, each once. A ValueError says what cannot be read."""
    names: dict[str, None] = {}
    for part in parts(text):
        for name in names_of(part):
            names[name] = None
            if len(names) > MOST:
                raise ValueError(f"more than {MOST:,} names")
    return tuple(names)


def parts(text: str) -> list[str]:
    """The expression cut at commas and white space outside of brackets."""
    found, part, inside = [], "", False
    for char in text:
        if char in "[]":
            if inside == (char == "["):
                raise ValueError(f"a bracket has no other half in {text[:80]!r}")
            inside = not inside
        if inside or not (char == "," or char.isspace()):
            part += char
        elif part:
            found.append(part)
            part = ""
    if inside:
        raise ValueError(f"a bracket is not closed in {text[:80]!r}")
    return [*found, part] if part else found


def names_of(part: str) -> Iterator[str]:
    """The names of one part, its last bracket running fastest."""
    pieces = [[plain] if plain else numbers(ranges) for ranges, plain in _PIECE.findall(part)]
    size = 1
    for piece in pieces:
        size *= len(piece)
    if size > MOST:
        raise ValueError(f"more than {MOST:,} names in {part[:80]!r}")
    return ("".join(chosen) for chosen in product(*pieces))


def numbers(ranges: str) -> list[str]:
    """``001-003,7`` as 001, 002, 003, 7: as many digits as the first one has."""
    found = []
    for one in ranges.split(","):
        match = _RANGE.fullmatch(one.strip())
        if not match:
            raise ValueError(f"[{ranges[:80]}] is no range of numbers")
        first, last = int(match[1]), int(match[2] or match[1])
        if last < first or last - first >= MOST:
            raise ValueError(f"{one.strip()} is no range of numbers")
        found += [str(number).zfill(len(match[1])) for number in range(first, last + 1)]
    return found


def fold(names: Iterable[str]) -> str:
    """The shortest expression for names; :func:`expand` gives them back, in order of prefix and number."""
    single, numbered = [], []
    for name in sorted(set(names)):
        match = _NUMBERED.fullmatch(name)
        if match and not re.search(r"[\[\],\s]", name):
            numbered.append((match[1], match[3], len(match[2]), int(match[2])))
        else:
            single.append(name)
    folded = []
    for (prefix, suffix, width), group in groupby(sorted(numbered), key=lambda one: one[:3]):
        runs = list(in_ranges(sorted(number for *_, number in group), width))
        inside = ",".join(runs)
        folded.append(f"{prefix}[{inside}]{suffix}" if len(inside) > width else f"{prefix}{inside}{suffix}")
    return ",".join([*folded, *single])


def in_ranges(numbers: list[int], width: int) -> Iterator[str]:
    """Rising numbers as ranges of so many digits."""
    for _, run in groupby(enumerate(numbers), key=lambda pair: pair[1] - pair[0]):
        values = [value for _, value in run]
        first, last = (str(value).zfill(width) for value in (values[0], values[-1]))
        yield first if first == last else f"{first}-{last}"
