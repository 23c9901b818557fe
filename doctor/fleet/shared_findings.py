"""The findings of all nodes: what all have is said once, what few have names them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from doctor.findings import SEVERITIES, Severity
from doctor.fleet.comparing import gravest
from doctor.fleet.comparison import Common, Reason
from doctor.fleet.roll import Member, Roll


def common(roll: Roll, members: Sequence[Member], ignore: tuple[str, ...]) -> list[Common]:
    """Each finding and who has it, the gravest and then the most frequent first."""
    having: dict[str, list[str]] = {}
    titles: dict[str, Counter[str]] = {}
    severities: dict[str, set[Severity]] = {}
    for member in members:
        for one in roll.findings[member.findings]:
            if not one.id.startswith(ignore):
                having.setdefault(one.id, []).append(member.name)
                titles.setdefault(one.id, Counter())[one.title] += 1
                severities.setdefault(one.id, set()).add(one.severity)
    found = [
        Common(
            id=id,
            severity=gravest(severities[id]),
            title=min(titles[id], key=lambda title, of=titles[id]: (-of[title], title)),  # type: ignore[misc]
            count=len(names),
            on_all=len(names) == len(members),
            nodes=tuple(sorted(names)),
        )
        for id, names in having.items()
    ]
    return sorted(found, key=lambda one: (SEVERITIES.index(one.severity), -one.count, one.id))


def ill(roll: Roll, members: Sequence[Member], ignore: tuple[str, ...]) -> Iterator[tuple[str, Reason]]:
    """Nodes with an error that no more than half have, or a warning that most have not."""
    counts: Counter[str] = Counter()
    for member in members:
        counts.update(one.id for one in roll.findings[member.findings])
    size = len(members)
    for member in members:
        for one in roll.findings[member.findings]:
            if sets_apart(one.severity, counts[one.id], size) and not one.id.startswith(ignore):
                having = f"on {counts[one.id]} of {size} nodes"
                yield member.name, Reason(about=one.id, severity=one.severity, title=one.title, seen=having)


def sets_apart(severity: Severity, count: int, size: int) -> bool:
    """An error is evidence by itself, unless most nodes have it; a warning that most have not is a hint."""
    if severity == "error":
        return 2 * count <= size
    return severity == "warning" and 2 * count < size
