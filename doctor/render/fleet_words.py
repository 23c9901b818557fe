"""What is said of a fleet, in sentences that every format shares."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from doctor.findings import Evidence, Severity
from doctor.fleet.comparison import Common, Comparison, Difference, Odd, Reason, Shared, Trouble
from doctor.fleet.envelope import Speed
from doctor.fleet.hostlist import fold
from doctor.plain import one_line
from doctor.render.describe import plural
from doctor.render.lines import Mark
from doctor.render.markdown_text import clipped

MARKS: dict[Severity, Mark] = {"error": "FAIL", "warning": "warn", "note": "note"}
NAMED = 6  # nodes by name; more are folded into an expression
REASONS = 6  # of one node
VALUES = 6  # of one topic
ALIKE = 6  # topics in which the same nodes differ
ROWS = 40  # of one section
LONGEST = 160  # characters of one value


class Row(msgspec.Struct, frozen=True):
    """One line: how grave it is, what it is about, and what is said."""

    mark: Mark
    label: str
    lines: tuple[str, ...]


class Section(msgspec.Struct, frozen=True):
    """A heading and its rows."""

    title: str
    rows: tuple[Row, ...]


def headline(told: Comparison) -> str:
    """The answer in one sentence."""
    if told.verdict == "unread":
        ranks = f"{plural(told.ranks, 'rank')} told of a collective test; no report of a node came"
        return ranks if told.ranks else "No node could be compared"
    if told.compared == 1:
        return f"1 node{_of_expected(told)}: there is nothing to compare it with"
    nodes = f"{told.compared} nodes{_of_expected(told)}"
    if told.odd:
        return f"{nodes}: {names([one.node for one in told.odd])} {_verb(len(told.odd))} odd"
    if any(one.norm is None and one.severity != "note" for one in told.differences):
        return f"{nodes} differ, and no majority says which are right"
    if told.verdict == "differing":
        return f"{nodes}: those that were compared are alike, and not all could be"
    return f"{nodes}, all alike" + (" but for what matters little" if told.differences else "")


def _of_expected(told: Comparison) -> str:
    return f" of {told.expected}" if told.expected and told.expected != told.compared else ""


def _verb(count: int) -> str:
    return "is" if count == 1 else "are"


def alike(told: Comparison) -> str:
    """The largest class of nodes, where there are several; "" where none are alike."""
    first = told.classes[0] if len(told.classes) > 1 else None
    if first is None or first.count < 2:
        return ""
    return f"{first.count} of {told.compared} differ in no value: {names(first.nodes)}"


def names(nodes: Sequence[str]) -> str:
    """Names of nodes, many of them folded as schedulers write them."""
    told = ", ".join(nodes) if len(nodes) <= NAMED else fold(nodes)
    return one_line(clipped(told, 4 * LONGEST))


def sections(told: Comparison) -> Iterator[Section]:
    """All that is said, the gravest first; a section without rows is left out."""
    for title, rows in (
        ("Ranks together", collective_rows(told)),
        ("Odd nodes", odd_rows(told.odd)),
        ("Not compared, or in doubt", trouble_rows(told)),
        ("Kinds of node, each compared within itself", kind_rows(told)),
        ("Differences", difference_rows(told)),
        ("Findings", finding_rows(told)),
    ):
        kept = tuple(rows)
        if kept:
            yield Section(title, kept[:ROWS] + _rest(len(kept)))


def _rest(count: int) -> tuple[Row, ...]:
    more = count - ROWS
    return (Row("?", "", (f"and {more} more; --format json has all of them",)),) if more > 0 else ()


def odd_rows(odd: Sequence[Odd]) -> Iterator[Row]:
    """Nodes that are odd for the same reasons stand together."""
    together: dict[tuple[Reason, ...], list[Odd]] = {}
    for one in odd:
        together.setdefault(one.reasons, []).append(one)
    for reasons, some in together.items():
        told = [reason_words(reason) for reason in reasons[:REASONS]]
        if len(reasons) > REASONS:
            told.append(f"and {plural(len(reasons) - REASONS, 'more reason')}")
        yield Row(MARKS[some[0].severity], names([one.node for one in some]), tuple(told))


def reason_words(reason: Reason) -> str:
    """Why a node is odd."""
    seen, norm, title = value(reason.seen), value(reason.norm), one_line(reason.title)
    if reason.about == "slow":
        return f"{title}: {seen}; the median is {norm}"
    if reason.norm:
        return f"{title}: {seen}, others {norm}"
    return f"{title} ({reason.about}, {seen})" if "/" in reason.about else f"{title}: {seen}"


def value(text: str) -> str:
    """One value, in one line."""
    return one_line(clipped(text, LONGEST))


def trouble_rows(told: Comparison) -> Iterator[Row]:
    """Nodes of which the same is said stand together."""
    together: dict[tuple[str, Severity], list[Trouble]] = {}
    for one in told.troubles:
        together.setdefault((one.reason, one.severity), []).append(one)
    for (reason, severity), some in together.items():
        label = names([one.node or one.source for one in some if one.node or one.source])
        yield Row(MARKS[severity], label, (value(reason),))
    if told.untold_troubles:
        yield Row("FAIL", "", (f"{told.untold_troubles} more reports could not be read",))


def collective_rows(told: Comparison) -> Iterator[Row]:
    """What the ranks of a collective test found out."""
    for one in told.collective:
        seen = [evidence_words(shown) for shown in one.evidence[:VALUES]]
        fixes = [f"Fix: {one_line(fix.title)}" for fix in one.fixes[:2]]
        yield Row(MARKS[one.severity], one.id, (one_line(one.title), *seen, *fixes))
    if told.ranks and not told.collective:
        well = "they talk with each other; no fault was found"
        yield Row("ok", plural(told.ranks, "rank"), (well, *map(speed_words, told.speeds[-1:])))


def evidence_words(shown: Evidence) -> str:
    """What was seen, and what was wanted where that is something else."""
    seen = f"{value(shown.subject)}: {value(shown.seen)}"
    return f"{seen}, wanted {value(shown.wanted)}" if shown.wanted else seen


def speed_words(speed: Speed) -> str:
    """How long an all-reduce took, and what the slowest link carried; GB as nccl-tests count, 10^9 bytes."""
    rate = f"bus bandwidth {speed.bus_bytes_per_s / 1e9:.2f} GB/s"
    return f"all-reduce of {speed.bytes / (1 << 20):g} MiB: {speed.seconds * 1e3:.1f} ms, {rate}"


def kind_rows(told: Comparison) -> Iterator[Row]:
    """The kinds, and what else than their make they have not in common."""
    for kind in told.kinds:
        yield Row("note", value(kind.name), (f"{kind.count} nodes: {names(kind.nodes)}",))
    for one in told.between_kinds:
        each = "; ".join(f"{value(seen)} on {value(kind)}" for kind, seen in one.values.items())
        yield Row("note", one_line(one.title), (each,))


def difference_rows(told: Comparison) -> Iterator[Row]:
    """Topic by topic; of many in which the same nodes differ, the first ones and the names of the rest."""
    by_nodes: dict[tuple[str, ...], list[Difference]] = {}
    for one in told.differences:
        same = by_nodes.setdefault(apart(one), [])
        same.append(one)
        if len(same) <= ALIKE or one.norm is None:
            kind = f" of {value(one.kind)}" if one.kind else ""
            yield Row(MARKS[one.severity], one_line(one.title) + kind, tuple(difference_words(one)))
    for nodes, same in by_nodes.items():
        rest = [one for one in same[ALIKE:] if one.norm is not None]
        if rest:
            titles = ", ".join(one.title for one in rest)
            label = f"{len(rest)} more of {names(nodes)}"
            yield Row(MARKS[rest[0].severity], label, (one_line(clipped(titles, 4 * LONGEST)),))


def apart(one: Difference) -> tuple[str, ...]:
    """The nodes that have not the norm."""
    return tuple(sorted(name for shared in one.values for name in shared.nodes))


def difference_words(one: Difference) -> Iterator[str]:
    """Who differs: "3 of 128: node017, node044, node101: 535.104.05, others 550.54.15"."""
    size = sum(shared.count for shared in one.values)
    if one.norm is None:
        yield f"no majority: {'; '.join(_share(shared) for shared in one.values[:VALUES])}{_more(one)}"
        return
    rare = [shared for shared in one.values if shared.value != one.norm]
    for shared in rare[:VALUES]:
        said = f"{shared.count} of {size}: {names(shared.nodes)}: {value(shared.value)}"
        yield f"{said}, others {value(one.norm)}" if len(rare) == 1 else said
    if len(rare) > 1:
        yield f"others{_more(one)}: {value(one.norm)}"


def _share(shared: Shared) -> str:
    return f"{value(shared.value)} on {names(shared.nodes)}"


def _more(one: Difference) -> str:
    more = one.distinct - min(len(one.values), VALUES + (one.norm is not None))
    return f" (and {plural(more, 'more value')})" if more > 0 else ""


def finding_rows(told: Comparison) -> Iterator[Row]:
    """Findings of all nodes said once, of few with their names."""
    for one in told.findings:
        yield Row(MARKS[one.severity], one.id, (f"{having(one, told.compared)}: {value(one.title)}",))


def having(one: Common, size: int) -> str:
    """Which nodes have a finding."""
    if one.on_all:
        return "on the one node" if size == 1 else f"on all {size} nodes"
    return f"on {one.count} of {size}: {names(one.nodes)}"


def advice(told: Comparison) -> str:
    """What to do next; "" where nothing is wrong."""
    if told.verdict == "unread" and not told.ranks:
        return "What each node must write: lora-doctor check --format json --output NODE.json"
    if told.odd:
        return f"Look closer, on {told.odd[0].node}: lora-doctor check"
    if told.severity == "error" and told.findings and told.findings[0].severity == "error":
        return f"What it is and what cures it: lora-doctor explain {told.findings[0].id}"
    return ""
