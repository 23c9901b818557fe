"""Judges a collective test by what all ranks told: who is lost, who lies, who cannot reach whom."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from doctor.findings import Evidence, Finding, Fix
from doctor.fleet.envelope import Envelope, PairTrial, Speed
from doctor.fleet.world import Lost, World, common, said

BREAKS = ("multi-gpu",)
MOST_EVIDENCE = 8
IFNAMES = ("NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME")
TOGETHER = ("group", "all-reduce", "bandwidth")
ALIVE_FIX = Fix(
    "look into that rank's own log and the kernel's (dmesg), then run this test again", scope="system"
)


def findings(envelopes: Iterable[Envelope]) -> tuple[Finding, ...]:
    """Every fault of a collective test, the root first. Empty where there was none, or no test."""
    world = World(envelopes)
    if not world.ranks and not world.unranked:
        return ()
    lost = world.lost()
    apart = [
        *no_rendezvous(world),
        *(lost_rank(world, one) for one in lost),
        *wrong(world),
        *unreached(world),
    ]
    return tuple(apart or failed_together(world))


def speeds(envelopes: Iterable[Envelope]) -> tuple[Speed, ...]:
    """How fast the all-reduce was, size by size, as the slowest rank measured it: all wait for that one."""
    slowest: dict[int, Speed] = {}
    for envelope in envelopes:
        for speed in envelope.collective.speeds if envelope.collective else ():
            before = slowest.setdefault(speed.bytes, speed)
            slowest[speed.bytes] = max(before, speed, key=lambda one: one.seconds)
    return tuple(slowest[size] for size in sorted(slowest))


def no_rendezvous(world: World) -> Iterator[Finding]:
    """Nodes on which no rank was started, and ranks that do not reach the store."""
    here = {node: one for node, one in world.unranked.items() if one.outcome != "ok"}
    here |= {
        world.name(rank): one
        for rank, one in world.ranks.items()
        if one.step == "store" and one.outcome == "failed"
    }
    if not here:
        return
    names = sorted(here)
    yield Finding(
        id="fleet/rendezvous-failed",
        severity="error",
        confidence="confirmed",
        title=f"The rendezvous fails on {said(joined(names))}",
        why="Ranks meet at one address that all of them must reach, and as many must come as were asked for.",
        breaks=BREAKS,
        evidence=tuple(Evidence(name, said(here[name].reason)) for name in names[:MOST_EVIDENCE]),
        fixes=(
            Fix(
                "give an address of the first node that every node reaches and a port that is free and open,"
                " with --endpoint",
                scope="setting",
            ),
        ),
    )


WORDS = {
    "missing": ("fleet/rank-missing", "never came to the rendezvous"),
    "died": ("fleet/rank-died", "died"),
    "hung": ("fleet/rank-hung", "hangs"),
    "silent": ("fleet/rank-silent", "stopped giving any sign of life"),
}


def lost_rank(world: World, one: Lost) -> Finding:
    """A rank that never came, died, hangs or fell silent."""
    id, words = WORDS[one.fate]
    step = f" in the step {one.step}" if one.step and one.fate in ("died", "hung") else ""
    name = world.name(one.rank)
    own = [Evidence(name, one.reason)] if one.reason else []
    others = f"missed by {len(one.told_by)} of {len(world.ranks)} ranks that answered"
    return Finding(
        id=id,
        severity="error",
        confidence="confirmed",
        title=f"{capital(name)} {words}{step}",
        why="Every all-reduce waits for all ranks, so one that is lost stops the whole training.",
        breaks=BREAKS,
        evidence=(*own, *([Evidence(name, others)] if one.told_by else [])),
        fixes=(ALIVE_FIX,),
    )


def wrong(world: World) -> Iterator[Finding]:
    """Sums that are not what they must be, and the rank that all of the wrong pairs share."""
    pairs = world.pairs("wrong")
    sums = {rank: one.all_reduce for rank, one in world.ranks.items()}
    bad = {rank: one for rank, one in sums.items() if one and one.outcome == "wrong"}
    if not pairs and not bad:
        return
    suspect = common(pairs)
    if suspect is not None:
        title = f"{capital(world.name(suspect))} adds up wrongly with every rank it was paired with"
        title = (
            title if is_every(world, suspect, pairs) else f"{capital(world.name(suspect))} adds up wrongly"
        )
    elif pairs:
        title = f"{listed(world, pairs)} add up wrongly"
    else:
        title = f"The all-reduce of {world.size} ranks gives a wrong sum, and no pair of them does"
    seen = [
        Evidence(f"all-reduce on {world.name(rank)}", said(one.reason) or f"{one.seen:g}", f"{one.wanted:g}")
        for rank, one in sorted(bad.items())
        if one.wanted is not None and (one.reason or one.seen is not None)
    ]
    yield Finding(
        id="fleet/wrong-sum",
        severity="error",
        confidence="confirmed",
        title=title,
        why="The gradients of every step are such sums: the loss goes astray, and nothing raises an error.",
        breaks=BREAKS,
        evidence=(*of_pairs(world, pairs), *seen)[:MOST_EVIDENCE],
        fixes=(
            Fix("take that rank's node out, and test its GPU and memory (dcgmi diag -r 3)", scope="hardware"),
            Fix("on GPUs, try NCCL_P2P_DISABLE=1: if the sums are right with it, direct transfer is at fault",
                scope="setting"),
        ),
    )  # fmt: skip


def unreached(world: World) -> Iterator[Finding]:
    """Pairs of live ranks that do not get through to each other."""
    pairs = world.pairs("failed")
    if not pairs:
        return
    suspect = common(pairs)
    tried = {frozenset((rank, pair.other)) for rank, one in world.ranks.items() for pair in one.pairs}
    if len(pairs) == len(tried):
        title = f"No pair of the {world.size} ranks can talk"
    elif suspect is not None:
        title = f"{capital(world.name(suspect))} does not get through to {len(pairs)} of the others"
    else:
        title = f"{listed(world, pairs)} cannot talk to each other"
    yield Finding(
        id="fleet/pair-fails",
        severity="error",
        confidence="confirmed",
        title=title,
        why="Both ranks are alive and reach the rendezvous; what fails is the connection between the two.",
        breaks=BREAKS,
        evidence=(*of_pairs(world, pairs), *interfaces(world, pairs))[:MOST_EVIDENCE],
        fixes=(
            Fix(
                f"name the interface that joins the nodes in {' and '.join(IFNAMES)}, on every node,"
                " and open all ports between them",
                scope="setting",
            ),
        ),
    )


def interfaces(world: World, pairs: Iterable[tuple[int, int]]) -> Iterator[Evidence]:
    """What the ranks of pairs were told about interfaces, and which they have."""
    for rank in sorted({rank for pair in pairs for rank in pair}):
        one = world.ranks.get(rank)
        told = [f"{name}={one.env[name]}" for name in IFNAMES if name in one.env] if one else []
        if one and told:
            yield Evidence(
                world.name(rank), said(", ".join(told)), said("one of " + ", ".join(one.interfaces))
            )


def failed_together(world: World) -> Iterator[Finding]:
    """What fails only where all ranks take part, or at one rank for its own reason."""
    bad = {rank: one for rank, one in world.ranks.items() if one.outcome == "failed"}
    if not bad:
        return
    steps = {one.step for one in bad.values()}
    together = steps <= set(TOGETHER)
    title = (
        f"The all-reduce of {world.size} ranks fails, though each pair of them that was tried gets through"
    )
    if not together:
        title = f"The collective test fails on {world.named(sorted(bad))}"
    yield Finding(
        id="fleet/all-reduce-fails",
        severity="error",
        confidence="confirmed",
        title=title,
        why="A training makes one such call after the other, and ends with the first that fails.",
        breaks=BREAKS,
        evidence=tuple(
            Evidence(world.name(rank), f"{one.step}: {said(one.reason) or 'no reason told'}")
            for rank, one in sorted(bad.items())[:MOST_EVIDENCE]
        ),
        fixes=(
            Fix(
                "run it again with NCCL_DEBUG=INFO and read what the first failing rank says", scope="setting"
            ),
        ),
    )


def of_pairs(world: World, pairs: dict[tuple[int, int], PairTrial]) -> list[Evidence]:
    """Each pair with what became of it."""
    return [
        Evidence(f"ranks {low} and {high}", said(pair.reason)) for (low, high), pair in sorted(pairs.items())
    ]


def is_every(world: World, rank: int, pairs: Iterable[tuple[int, int]]) -> bool:
    """Are these all the pairs that a rank was in?"""
    partners = {pair.other for pair in own.pairs} if (own := world.ranks.get(rank)) else set()
    return partners == {other for pair in pairs for other in pair if other != rank}


def listed(world: World, pairs: Iterable[tuple[int, int]]) -> str:
    """A few pairs in words."""
    first, *more = sorted(pairs)
    words = f"{world.name(first[0])} and {world.name(first[1])}"
    return capital(f"{words}, and {len(more)} more pairs," if more else words)


def joined(names: list[str]) -> str:
    """A few names in words."""
    return ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")


def capital(text: str) -> str:
    """A text as the start of a sentence."""
    return text[:1].upper() + text[1:]
