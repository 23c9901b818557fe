"""What comparing the reports of many nodes yields. The JSON of ``fleet compare`` is these types."""

from __future__ import annotations

from typing import Literal

import msgspec

from doctor.findings import Finding, Severity
from doctor.fleet.envelope import Speed

TroubleKind = Literal[
    "missing",  # expected, and not heard of
    "failed",  # its launcher gave a reason in place of a report
    "unreadable",
    "contradictory",  # its report says healthy and names an error, or the like
    "conflict",  # reported more than once, and differently
    "repeated",  # reported more than once, and alike
    "twin",  # it shows the GPUs of another node
    "unexpected",  # not on the list of nodes
]


class Trouble(msgspec.Struct, frozen=True, kw_only=True):
    """Something that stands in the way of comparing one node; it never holds up the others."""

    node: str  # "" where no name is known
    source: str  # the file or stream that it was read from; "" where nothing was
    kind: TroubleKind
    severity: Severity
    reason: str


class Shared(msgspec.Struct, frozen=True, kw_only=True):
    """One value of a topic, and who has it."""

    value: str
    count: int
    severity: Severity | None  # how grave it is to have this one; None of the norm, and where there is none
    nodes: tuple[str, ...]  # () of the norm: all that are named nowhere else


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """A topic in which nodes of one kind differ."""

    about: str  # "package.peft"
    title: str
    severity: Severity
    kind: str  # of nodes; "" where all are of one
    norm: str | None  # what more than half of them have; None where no value has that many
    distinct: int  # values that there are; no more than the hundred most frequent are told
    values: tuple[Shared, ...]  # the most frequent first


class Reason(msgspec.Struct, frozen=True, kw_only=True):
    """Why a node is odd."""

    about: str  # a topic, "slow", or the id of a finding
    severity: Severity
    title: str
    seen: str
    norm: str = ""


class Odd(msgspec.Struct, frozen=True, kw_only=True):
    """A node that differs from the norm of its kind, or is ill where the others are not."""

    node: str
    severity: Severity
    reasons: tuple[Reason, ...]  # the gravest first


class Kind(msgspec.Struct, frozen=True, kw_only=True):
    """Nodes of one make, compared among each other."""

    name: str
    count: int
    nodes: tuple[str, ...]


class Like(msgspec.Struct, frozen=True, kw_only=True):
    """Nodes that are alike in all that is compared."""

    count: int
    nodes: tuple[str, ...]
    differs_in: tuple[str, ...]  # topics in which they differ from the norm


class Common(msgspec.Struct, frozen=True, kw_only=True):
    """A finding and the nodes that have it."""

    id: str
    severity: Severity
    title: str
    count: int
    on_all: bool
    nodes: tuple[str, ...]


class Between(msgspec.Struct, frozen=True, kw_only=True):
    """A topic in which kinds of nodes differ from each other."""

    about: str
    title: str
    values: dict[str, str]  # by the name of the kind


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """The promise to other programs: changing or removing a field needs a new ``schema``."""

    schema: int = 1
    tool_version: str
    verdict: Literal["alike", "differing", "unread"]
    severity: Severity | None  # the gravest of all that follows; None where all nodes are alike and well
    expected: int | None  # how many nodes there ought to be
    compared: int
    odd: tuple[Odd, ...]
    kinds: tuple[Kind, ...]
    differences: tuple[Difference, ...]
    between_kinds: tuple[Between, ...]
    classes: tuple[Like, ...]
    findings: tuple[Common, ...]
    ranks: int = 0  # that took part in a collective test
    collective: tuple[Finding, ...] = ()  # what they found out together
    speeds: tuple[Speed, ...] = ()  # of their all-reduce, by size, as the slowest rank measured them
    troubles: tuple[Trouble, ...]
    untold_troubles: int = 0
