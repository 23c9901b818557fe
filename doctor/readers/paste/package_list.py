"""What lists packages: pip list, pip freeze, pip show, uv, conda list, poetry show, pip's own complaints.

A table is known by its header, or by several rows of which one names a package of a fine-tune
(``package_tables.py``); lines of ``pip freeze`` and the like are known by themselves (``package_lines.py``).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from doctor.paste import Statement
from doctor.readers.paste import Block
from doctor.readers.paste.doubt import stands_under_another
from doctor.readers.paste.package_lines import frozen, shown, told_by_pip
from doctor.readers.paste.package_tables import bare_table, header_table


def read(lines: Sequence[str]) -> Iterator[Block]:
    """Every list of packages in a text, but those of an environment that works or is only advised."""
    index = 0
    while index < len(lines):
        end, statements, is_whole = one_at(lines, index) if lines[index].strip() else (index + 1, [], True)
        if statements and not stands_under_another(lines, index):
            yield Block("package list", index + 1, end, tuple(statements), is_whole)
        index = max(end, index + 1)


def one_at(lines: Sequence[str], index: int) -> tuple[int, list[Statement], bool]:
    """The list that begins at an index: the index behind it, what it says, and are its lines its own?"""
    for reader in (header_table, shown, frozen_lines, bare_table):
        end, statements = reader(lines, index)
        if statements:
            return end, statements, True
    # What pip complains of is a complaint as well.
    is_whole = lines[index].lstrip().startswith(("Successfully", "Requirement already", "Using "))
    return index + 1, list(told_by_pip(lines[index], index + 1)), is_whole


def frozen_lines(lines: Sequence[str], index: int) -> tuple[int, list[Statement]]:
    """Lines of ``pip freeze``, of requirements or of a tree, one below the other."""
    found: list[Statement] = []
    end = index
    while end < len(lines) and (more := frozen(lines[end], end + 1)):
        found += more
        end += 1
    if any(line.lstrip().startswith("+ ") for line in lines[index:end]):  # uv: "-" is what it took away
        found = [one for one in found if not lines[one.line - 1].lstrip().startswith("- ")]
    return end, found
