"""Tables of Markdown that tell one environment: a row a package, or a column a package and one row."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

_RULE = re.compile(r"[ \t]{0,4}\|?[ \t]{0,4}:?-{2,200}:?[ \t]{0,4}\|[\s|:-]{0,2000}$")
_OF_VALUES = re.compile(
    r"(?:installed |current |my |当前)?(?:versions?|values?|details?|info|版本号?|值|信息|内容|说明)", re.I
)
WIDEST = 24  # cells of a row that are read


def tables(lines: Sequence[str]) -> Iterator[list[tuple[str, str, int]]]:
    """Each table as keys, values and the lines of the values."""
    for number, line in enumerate(lines, 1):
        if "--" in line and "|" in line and number > 1 and _RULE.match(line[:2400]):
            head = cells(lines[number - 2])
            rows = list(_rows(lines, number))
            if len(head) == 2 or (len(head) > 2 and _OF_VALUES.fullmatch(head[1])):
                yield [(row[0], row[1], at) for row, at in rows if len(row) >= 2]
            elif len(rows) == 1:
                yield [(key, value, rows[0][1]) for key, value in zip(head, rows[0][0], strict=False)]


def _rows(lines: Sequence[str], rule: int) -> Iterator[tuple[list[str], int]]:
    """The rows below a rule."""
    for at in range(rule + 1, min(len(lines), rule + 200) + 1):
        if "|" not in lines[at - 1]:
            return
        yield cells(lines[at - 1]), at


def cells(line: str) -> list[str]:
    """The cells of a row without the marks around them."""
    return [cell.strip(" \t*`_") for cell in line[:4000].strip().strip("|").split("|")[:WIDEST]]
