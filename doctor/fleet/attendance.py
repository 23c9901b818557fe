"""Who should have reported and has not, who was not asked, and who goes by two names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from doctor.findings import Severity
from doctor.fleet.comparison import Trouble, TroubleKind
from doctor.fleet.hostlist import fold
from doctor.fleet.roll import Roll


def attendance(roll: Roll, expected: Sequence[str], expect_count: int | None) -> Iterator[Trouble]:
    """Rows for nodes that are missing, unexpected, reported twice or are one machine under several names."""
    seen = {*roll.members, *(trouble.node for trouble in roll.troubles if trouble.node)}
    if expected:
        yield from by_name(seen, list(dict.fromkeys(expected)))
    elif expect_count is not None:
        yield from by_count(len(seen), expect_count)
    yield from conflicts(roll)
    yield from repeated(roll)
    yield from twins(roll)


def by_name(seen: set[str], expected: Sequence[str]) -> Iterator[Trouble]:
    """Held against a list of names; a name with its domain is the same node as one without."""
    here, listed = with_short(seen), with_short(expected)
    for name in expected:
        if name not in here and short(name) not in here:
            yield row(name, "missing", "error", "it has not reported")
    for name in sorted(seen):
        if name not in listed and short(name) not in listed:
            yield row(name, "unexpected", "warning", "it reported and is not on the list of nodes")


def with_short(names: Iterable[str]) -> set[str]:
    """The names, and those without their domains."""
    return {form for name in names for form in (name, short(name))}


def short(name: str) -> str:
    """A host's name without its domain; an address has none."""
    first = name.partition(".")[0]
    return name if first.isdigit() else first


def by_count(count: int, expected: int) -> Iterator[Trouble]:
    """Held against a number."""
    if count < expected:
        yield row("", "missing", "error", f"{expected - count} of {expected} nodes have not reported")
    if count > expected:
        yield row("", "unexpected", "warning", f"{count} nodes reported where {expected} were expected")


def conflicts(roll: Roll) -> Iterator[Trouble]:
    """Nodes whose several reports do not agree."""
    for name, member in sorted(roll.members.items()):
        if member.conflicts:
            told = ", ".join(member.conflicts[:5]) + (", ..." if len(member.conflicts) > 5 else "")
            reason = f"its {member.reports} reports differ in {told}; of each both values are told"
            yield row(name, "conflict", "warning", reason)


def repeated(roll: Roll) -> Iterator[Trouble]:
    """One row for all nodes that reported more than once, each time alike."""
    names = sorted(name for name, one in roll.members.items() if one.reports > 1 and not one.conflicts)
    if names:
        yield row(names[0], "repeated", "note", f"{fold(names)[:200]} reported more than once, and alike")


def twins(roll: Roll) -> Iterator[Trouble]:
    """Nodes that show the very same GPUs."""
    by_gpus: dict[str, list[str]] = {}
    for name, member in sorted(roll.members.items()):
        if member.gpus:
            by_gpus.setdefault(member.gpus, []).append(name)
    for names in by_gpus.values():
        if len(names) > 1:
            told = fold(names)
            reason = f"{told[:200]} show the same GPUs: one machine under {len(names)} names"
            yield row(names[0], "twin", "warning", reason)


def row(node: str, kind: TroubleKind, severity: Severity, reason: str) -> Trouble:
    """A trouble that was read from no file."""
    return Trouble(node=node, source="", kind=kind, severity=severity, reason=reason)
