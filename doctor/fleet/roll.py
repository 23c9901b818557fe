"""The nodes that have reported, each by a digest of what is compared: ten thousand take a few megabytes.

Nodes of a fleet are mostly alike, so values are kept once and a node holds numbers that stand for them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

import msgspec

from doctor.findings import SEVERITIES
from doctor.fleet import reports
from doctor.fleet.comparison import Trouble, TroubleKind
from doctor.fleet.reports import Document, Named, Told
from doctor.fleet.topics import absent
from doctor.fleet.values import GROUPS, Group, groups_of, tidy
from doctor.plain import one_line

_K = TypeVar("_K")

LONGEST_NAME = 120
BOTH = " | "  # between the values of one node that was reported twice
UNSEEN = -1  # in place of the number of a group
MOST_TROUBLES = 1_000  # that are told one by one; of more only the number


class Member(msgspec.Struct):
    """One node: numbers of its groups, of its findings and of what it could not see."""

    name: str
    source: str
    groups: list[int]
    findings: int
    unseen: int
    seconds: dict[str, float] | None  # by stage of the trial, where all of them passed
    gpus: str  # the hashes of its GPUs' UUIDs
    reports: int = 1
    conflicts: tuple[str, ...] = ()  # topics in which its reports differ


class Roll:
    """Reports are called up one by one, in any order; none holds the others up."""

    def __init__(self) -> None:
        self.members: dict[str, Member] = {}
        self.troubles: list[Trouble] = []
        self.untold = 0  # troubles beyond MOST_TROUBLES
        self.expected: dict[str, None] = {}
        self.collective: list[bytes] = []  # what ranks found out together, for others to judge
        self.groups: list[list[Group]] = [[] for _ in GROUPS]
        self.findings: list[tuple[Named, ...]] = []
        self.gaps: list[tuple[tuple[str, str], ...]] = []
        self._numbers: list[dict[Group, int]] = [{} for _ in GROUPS]
        self._finding_numbers: dict[tuple[Named, ...], int] = {}
        self._gap_numbers: dict[tuple[tuple[str, str], ...], int] = {}
        self._texts: dict[tuple[str, str], tuple[str, str]] = {}

    def add(self, data: bytes, source: str, name: str) -> None:
        """Call up one JSON object; ``name`` is for a node that tells none. A ValueError says its fault."""
        document = reports.read(data)
        self.expected.update(dict.fromkeys(map(tidy_name, document.expected)))
        is_rank = bytes(document.collective) != b"null"
        if is_rank:
            self.collective.append(heard(document))
        told, named, name = document.told, tidy_name(document.node), tidy_name(name)
        if told:
            if not named and told.subject.kind == "node":
                named = tidy_name(told.subject.name)
            self._enter(told, source, named or name)
        elif document.failure or (named and not is_rank):
            self.trouble(
                named or name,
                source,
                "failed",
                document.failure or "its launcher gave no report and no reason",
            )
        elif not (document.expected or is_rank):
            raise ValueError("what it gave is no report of lora-doctor check")

    def _enter(self, told: Told, source: str, name: str) -> None:
        doubt = reports.fault(told)
        if doubt:
            self.trouble(name, source, "contradictory" if "contradicts" in doubt else "unreadable", doubt)
            return
        member, known = self._digest(told, source, name), self.members.get(name)
        self.members[name] = self._merged(known, member) if known else member

    def trouble(self, node: str, source: str, kind: TroubleKind, reason: str) -> None:
        """Keep what stands in the way of a node's comparison, as a row of its own."""
        if len(self.troubles) >= MOST_TROUBLES:
            self.untold += 1
            return
        self.troubles.append(
            Trouble(
                node=tidy_name(node), source=tidy(source), kind=kind, severity="error", reason=tidy(reason)
            )
        )

    def values(self, group: int, number: int) -> Group | None:
        """The values that a number of a group stands for."""
        return None if number == UNSEEN else self.groups[group][number]

    def _digest(self, told: Told, source: str, name: str) -> Member:
        facts = msgspec.structs.replace(told.facts, gaps=told.gaps or told.facts.gaps)
        groups = [
            UNSEEN if values is None else self._number(index, values)
            for index, values in enumerate(groups_of(facts))
        ]
        unseen = tuple(sorted((gap.about, tidy(gap.reason)) for gap in facts.gaps if gap.kind == "failed"))
        return Member(
            name=name,
            source=source,
            groups=groups,
            findings=self._finding_number(told.findings),
            unseen=_numbered(unseen, self._gap_numbers, self.gaps),
            seconds=durations(facts),
            gpus=",".join(
                sorted(gpu.uuid_hash for gpu in facts.gpus or () if gpu.uuid_hash and not gpu.mig_mode)
            ),
        )

    def _number(self, index: int, values: Group) -> int:
        known = self._numbers[index].get(values)
        if known is not None:
            return known
        kept = tuple(self._texts.setdefault(value, value) for value in values)
        return _numbered(kept, self._numbers[index], self.groups[index])

    def _finding_number(self, findings: Iterable[Named]) -> int:
        own = {Named(tidy(one.id), one.severity, tidy(one.title)) for one in findings}
        in_order = sorted(own, key=lambda one: (one.id, SEVERITIES.index(one.severity), one.title))
        gravest = {one.id: one for one in reversed(in_order)}  # of each id one
        kept = tuple(gravest[id] for id in sorted(gravest))
        return _numbered(kept, self._finding_numbers, self.findings)

    def _merged(self, one: Member, other: Member) -> Member:
        """Two reports of one node: what differs is told as both, what only one saw as it is."""
        conflicts = set(one.conflicts)
        groups = []
        for index, (first, second) in enumerate(zip(one.groups, other.groups, strict=True)):
            if first == second or UNSEEN in (first, second):
                groups.append(max(first, second))
                continue
            both, differing = joined(self.groups[index][first], self.groups[index][second])
            conflicts |= differing
            groups.append(self._number(index, both))
        unseen = tuple(sorted({*self.gaps[one.unseen], *self.gaps[other.unseen]}))
        return Member(
            name=one.name,
            source=min(one.source, other.source),
            groups=groups,
            findings=self._finding_number((*self.findings[one.findings], *self.findings[other.findings])),
            unseen=_numbered(unseen, self._gap_numbers, self.gaps),
            seconds=slower(one.seconds, other.seconds),
            gpus=",".join(sorted({*one.gpus.split(","), *other.gpus.split(",")} - {""})),
            reports=one.reports + other.reports,
            conflicts=tuple(sorted(conflicts)),
        )


def _numbered(key: _K, numbers: dict[_K, int], kept: list[_K]) -> int:
    """The number of something that is kept once."""
    number = numbers.get(key)
    if number is None:
        number = numbers[key] = len(kept)
        kept.append(key)
    return number


def joined(one: Group, other: Group) -> tuple[Group, set[str]]:
    """The values of both, and the topics in which they differ. The order of the two does not matter."""
    first, second = dict(one), dict(other)
    both, differing = [], set()
    for id in sorted({*first, *second}):
        told = {
            part
            for values in (first, second)
            if (value := values.get(id, absent(id)))
            for part in value.split(BOTH)
        }
        if len(told) > 1:
            differing.add(id)
        both.append((id, BOTH.join(sorted(told))))
    return tuple(both), differing


def heard(document: Document) -> bytes:
    """What a launcher says of a rank, without the node's report."""
    told = {name: getattr(document, name) for name in ("node", "rank", "local_rank", "failure", "collective")}
    return msgspec.json.encode(told)


def durations(facts: reports.Facts) -> dict[str, float] | None:
    """Seconds by stage of a trial that passed; None where there is none, or its times cannot be true."""
    runs = facts.trial.runs if facts.trial else ()
    if not runs or any(run.outcome != "ok" or not 0 <= run.seconds < 1e6 for run in runs):
        return None
    return {one_line(run.stage): run.seconds for run in runs}


def slower(one: dict[str, float] | None, other: dict[str, float] | None) -> dict[str, float] | None:
    """Of each stage the longest time."""
    if one is None or other is None:
        return one or other
    return {stage: max(one.get(stage, 0.0), other.get(stage, 0.0)) for stage in sorted({*one, *other})}


def tidy_name(name: str) -> str:
    """A node's name as one harmless word."""
    return one_line(name[: 2 * LONGEST_NAME])[:LONGEST_NAME]
