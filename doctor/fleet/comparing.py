"""The majority is the norm: what each node has in another way, and where no majority says what is right.

Pure, and blind to the order of the reports. Nobody is blamed without evidence: of two nodes, or of two
halves, it is said that they differ and not which one is wrong.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

import msgspec

from doctor.findings import SEVERITIES, Severity
from doctor.fleet.comparison import Difference, Reason, Shared
from doctor.fleet.roll import UNSEEN, Member, Roll
from doctor.fleet.topics import absent, severity, topic_of, weight
from doctor.fleet.values import FIELDS

MOST_VALUES = 100  # of one topic that are told
# Without them nothing of what trains was seen.
_GRAVE = frozenset({"gpus", "driver", "interpreter", "packages", "torch"})


class Split(msgspec.Struct, frozen=True):
    """A topic in which nodes differ: the members by value, the most frequent value first."""

    about: str
    norm: str | None
    reference: str  # the norm, or the most frequent value where there is none
    by_value: dict[str, list[Member]]
    severity: Severity  # the gravest of all its values

    def gravity(self, value: str) -> Severity | None:
        """How grave it is to have this value; None of the one that others are held against."""
        return None if value == self.reference else severity(self.about, value, self.reference)


def gravest(severities: Collection[Severity]) -> Severity:
    """The gravest of some."""
    return min(severities, key=SEVERITIES.index)


def splits(roll: Roll, members: Sequence[Member], ignore: tuple[str, ...]) -> list[Split]:
    """The topics in which nodes of one kind differ, the gravest first."""
    found = [split for group in range(len(FIELDS)) for split in splits_of_group(roll, members, group)]
    told = [split for split in found if not split.about.startswith(ignore)]
    return sorted(told, key=lambda split: (SEVERITIES.index(split.severity), weight(split.about)))


def splits_of_group(roll: Roll, members: Sequence[Member], group: int) -> Iterator[Split]:
    """The same of one group of values, which most nodes have in common as a whole."""
    by_number: dict[int, list[Member]] = {}
    for member in members:
        by_number.setdefault(member.groups[group], []).append(member)
    asked = len(members) - sum(not was_asked(roll, member, group) for member in by_number.pop(UNSEEN, ()))
    if len(by_number) < 2:
        return
    topics: dict[str, dict[str, list[int]]] = {}
    for number in by_number:
        for id, value in roll.groups[group][number]:
            topics.setdefault(id, {}).setdefault(value, []).append(number)
    for id, values in topics.items():
        missing = absent(id)
        if missing and sum(map(len, values.values())) < len(by_number):
            known = {number for numbers in values.values() for number in numbers}
            values[missing] = [number for number in by_number if number not in known]
        if len(values) > 1:
            yield split_of(
                id, {value: [by_number[one] for one in numbers] for value, numbers in values.items()}, asked
            )


def was_asked(roll: Roll, member: Member, group: int) -> bool:
    """Did the node look for a fact that it does not tell?"""
    return any(about == FIELDS[group] for about, _ in roll.gaps[member.unseen])


def split_of(about: str, values: dict[str, list[list[Member]]], asked: int) -> Split:
    """The members by value, and the norm if more than half of those that were asked have one value."""
    joined = {value: [member for some in lists for member in some] for value, lists in values.items()}
    in_order = sorted(joined.items(), key=lambda one: (-len(one[1]), one[0]))
    most, having = in_order[0]
    norm = most if is_majority(len(having), asked) else None
    severities = {severity(about, value, most) for value, _ in in_order[1:]}
    return Split(about, norm, most, dict(in_order), gravest(severities))


def is_majority(count: int, size: int) -> bool:
    """More than half."""
    return 2 * count > size


def difference_of(split: Split, kind: str) -> Difference:
    """A split as it is told: the nodes of the norm are not named."""
    values = [
        Shared(
            value=value,
            count=len(having),
            severity=split.gravity(value) if split.norm is not None else None,
            nodes=() if value == split.norm else tuple(sorted(member.name for member in having)),
        )
        for value, having in list(split.by_value.items())[:MOST_VALUES]
    ]
    return Difference(
        about=split.about,
        title=topic_of(split.about).title,
        severity=split.severity,
        kind=kind,
        norm=split.norm,
        distinct=len(split.by_value),
        values=tuple(values),
    )


def deviations(split: Split) -> Iterator[tuple[str, Reason]]:
    """Who has not the norm, and what instead; nobody where there is none."""
    if split.norm is None:
        return
    title = topic_of(split.about).title
    for value, having in split.by_value.items():
        grave = split.gravity(value)
        if grave:
            reason = Reason(about=split.about, severity=grave, title=title, seen=value, norm=split.norm)
            yield from ((member.name, reason) for member in having)


def blind(roll: Roll, members: Sequence[Member]) -> Iterator[tuple[str, Reason]]:
    """Who could not see what more than half of the others saw."""
    for group, field in enumerate(FIELDS):
        hidden = [member for member in members if member.groups[group] == UNSEEN]
        asking = [member for member in hidden if was_asked(roll, member, group)]
        seeing = len(members) - len(hidden)
        if not is_majority(seeing, seeing + len(asking)):
            continue
        for member in asking:
            why = next(reason for about, reason in roll.gaps[member.unseen] if about == field)
            yield (
                member.name,
                Reason(
                    about=field,
                    severity="error" if field in _GRAVE else "warning",
                    title=f"{field.replace('_', ' ')} could not be seen",
                    seen=why,
                ),
            )
