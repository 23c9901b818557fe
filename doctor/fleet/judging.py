"""From the roll of a fleet to what is said of it: kinds, differences, odd nodes, and how grave it all is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import median
from typing import Literal

from doctor.findings import SEVERITIES, Finding
from doctor.fleet.attendance import attendance
from doctor.fleet.comparing import Split, blind, deviations, difference_of, gravest, is_majority, splits
from doctor.fleet.comparison import Between, Comparison, Difference, Kind, Like, Odd, Reason, Trouble
from doctor.fleet.kinds import kinds_of
from doctor.fleet.roll import Member, Roll, tidy_name
from doctor.fleet.shared_findings import common, ill
from doctor.fleet.slow import limit_s, slowest_stage
from doctor.fleet.topics import topic_of, weight
from doctor.fleet.values import FIELDS

MOST_CLASSES = 100
# Kinds differ in them by their nature.
OF_THE_MAKE = ("gpu.", "machine.cpu", "machine.memory", "machine.arch")

Verdict = Literal["alike", "differing", "unread"]


def compare(
    roll: Roll,
    expected: Sequence[str] = (),
    expect_count: int | None = None,
    ignore: Sequence[str] = (),
    collective: tuple[Finding, ...] = (),
) -> Comparison:
    """Everything that is said of a fleet. ``ignore`` are beginnings of topics and of ids of findings."""
    from doctor import __version__

    left_out = tuple(prefix for prefix in ignore if prefix)
    members = [roll.members[name] for name in sorted(roll.members)]
    kinds = kinds_of(roll, members)
    found = {kind: splits(roll, some, left_out) for kind, some in kinds.items()}
    why = (one for kind, some in kinds.items() for one in reasons(roll, some, found[kind], left_out))
    odd = odd_ones(why)
    differences = sorted(
        (difference_of(one, kind) for kind, some in found.items() for one in some), key=how_grave
    )
    findings = common(roll, members, left_out)
    expected = [tidy_name(name) for name in expected] or list(roll.expected)
    troubles = sorted((*roll.troubles, *attendance(roll, expected, expect_count)), key=of_trouble)
    told_of = (odd, differences, findings, troubles, collective)
    severities = [one.severity for some in told_of for one in some]
    return Comparison(
        tool_version=__version__,
        verdict=verdict(members, [*differences, *troubles, *odd]),
        severity=gravest(severities) if severities else None,
        expected=len(set(expected)) or expect_count,
        compared=len(members),
        odd=odd,
        kinds=tuple(kind_of(name, some) for name, some in kinds.items() if name),
        differences=tuple(differences),
        between_kinds=tuple(between(roll, kinds, left_out)),
        classes=classes(kinds, found),
        findings=tuple(findings),
        ranks=len(roll.collective),
        collective=collective,
        troubles=tuple(troubles),
        untold_troubles=roll.untold,
    )


def verdict(members: Sequence[Member], told: Sequence[Difference | Trouble | Odd]) -> Verdict:
    """Notes alone leave nodes alike; without any report nothing is known."""
    if not members:
        return "unread"
    return "differing" if any(one.severity != "note" for one in told) else "alike"


def kind_of(name: str, members: Sequence[Member]) -> Kind:
    """A kind as it is told."""
    return Kind(name=name, count=len(members), nodes=tuple(member.name for member in members))


def reasons(
    roll: Roll, members: Sequence[Member], found: Sequence[Split], ignore: tuple[str, ...]
) -> Iterator[tuple[str, Reason]]:
    """Why which node of one kind is odd."""
    for split in found:
        yield from deviations(split)
    for name, reason in (*blind(roll, members), *slow(members)):
        if not reason.about.startswith(ignore):
            yield name, reason
    yield from ill(roll, members, ignore)


def slow(members: Sequence[Member]) -> Iterator[tuple[str, Reason]]:
    """Nodes whose trial takes too long to be chance, with the stage that takes most of it."""
    timed = {member.name: member.seconds for member in members if member.seconds}
    totals = {name: sum(seconds.values()) for name, seconds in timed.items()}
    limit = limit_s(list(totals.values()))
    late = [name for name, total in totals.items() if total > limit]
    if not late:
        return
    stages = {stage for seconds in timed.values() for stage in seconds}
    usual = {stage: median(one.get(stage, 0.0) for one in timed.values()) for stage in stages}
    middle = median(totals.values())
    for name in late:
        stage = slowest_stage(timed[name], usual)
        seen = f"{totals[name]:.1f} s, {timed[name][stage]:.1f} s of it in {stage}"
        norm = f"{middle:.1f} s, {usual[stage]:.1f} s of it there"
        yield name, Reason(about="slow", severity="warning", title="smoke test is slow", seen=seen, norm=norm)


def odd_ones(told: Iterable[tuple[str, Reason]]) -> tuple[Odd, ...]:
    """The nodes with a reason that is more than a note, the gravest first."""
    by_node: dict[str, list[Reason]] = {}
    for name, reason in told:
        by_node.setdefault(name, []).append(reason)
    found = [odd_one(name, some) for name, some in by_node.items()]
    return tuple(sorted((one for one in found if one.severity != "note"), key=how_odd))


def odd_one(name: str, told: Sequence[Reason]) -> Odd:
    """One node with its reasons, the gravest and most telling first."""
    in_order = sorted(told, key=lambda one: (SEVERITIES.index(one.severity), *weight(one.about)))
    return Odd(node=name, severity=in_order[0].severity, reasons=tuple(in_order))


def how_odd(one: Odd) -> tuple[int, int, str]:
    """The order of odd nodes."""
    errors = sum(reason.severity == "error" for reason in one.reasons)
    return SEVERITIES.index(one.severity), -errors, one.node


def how_grave(one: Difference) -> tuple[int, tuple[int, int, str], str]:
    """The order of differences."""
    return SEVERITIES.index(one.severity), weight(one.about), one.kind


def of_trouble(one: Trouble) -> tuple[int, str, str, str, str]:
    """The order of troubles."""
    return SEVERITIES.index(one.severity), one.kind, one.node, one.source, one.reason


def between(roll: Roll, kinds: Mapping[str, Sequence[Member]], ignore: tuple[str, ...]) -> Iterator[Between]:
    """What is the norm of one kind and not of another, hardware aside."""
    if len(kinds) < 2:
        return
    norms = {kind: norms_of(roll, members) for kind, members in kinds.items()}
    ids = {id for some in norms.values() for id in some}
    for id in sorted(ids, key=weight):
        values = {kind: some[id] for kind, some in norms.items() if id in some}
        if len(set(values.values())) > 1 and not id.startswith((*OF_THE_MAKE, *ignore)):
            yield Between(about=id, title=topic_of(id).title, values=values)


def norms_of(roll: Roll, members: Sequence[Member]) -> dict[str, str]:
    """What more than half of the nodes have, by topic."""
    norms = {}
    for group in range(len(FIELDS)):
        numbers = Counter(member.groups[group] for member in members)
        counts: dict[str, Counter[str]] = {}
        for number, count in numbers.items():
            for id, value in roll.values(group, number) or ():
                counts.setdefault(id, Counter())[value] += count
        for id, of_values in counts.items():
            value, count = of_values.most_common(1)[0]
            if is_majority(count, len(members)):
                norms[id] = value
    return norms


def classes(kinds: Mapping[str, Sequence[Member]], found: Mapping[str, Sequence[Split]]) -> tuple[Like, ...]:
    """Nodes that have all values in common, the largest class first."""
    told: list[Like] = []
    for kind, members in kinds.items():
        marks: dict[str, list[tuple[str, str]]] = {member.name: [] for member in members}
        for split in found[kind]:
            for value, having in split.by_value.items():
                for member in having if value != split.norm else ():
                    marks[member.name].append((split.about, value))
        alike: dict[tuple[tuple[str, str], ...], list[str]] = {}
        for name, marked in marks.items():
            alike.setdefault(tuple(marked), []).append(name)
        told += [
            Like(count=len(names), nodes=tuple(names), differs_in=tuple(about for about, _ in marked))
            for marked, names in alike.items()
        ]
    return tuple(sorted(told, key=lambda one: (-one.count, one.nodes))[:MOST_CLASSES])
