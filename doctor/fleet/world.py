"""All ranks of a collective test as one: where each sits, which are lost and how, which pairs fail."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

from doctor.fleet.envelope import Collective, Envelope, PairTrial, Seat
from doctor.plain import one_line

Fate = Literal["died", "hung", "missing", "silent"]
NAMED = 3  # ranks that are named one by one
SAID_KEPT = 300


class Lost(NamedTuple):
    """A rank that is not there, in its own words where it has left any, else in those of the others."""

    rank: int
    fate: Fate
    step: str
    reason: str
    told_by: tuple[int, ...]  # ranks that miss it


class World:
    """What the ranks of one test told, by rank."""

    def __init__(self, envelopes: Iterable[Envelope]) -> None:
        self.nodes: dict[int, str] = {}
        self.ranks: dict[int, Collective] = {}
        self.unranked: dict[str, Collective] = {}  # by node: no rendezvous gave them a rank
        self.seats: dict[int, Seat] = {}
        for envelope in envelopes:
            self._take(envelope)
        self.size = max((found.world_size or 0 for found in self.ranks.values()), default=0)

    def _take(self, envelope: Envelope) -> None:
        found = envelope.collective
        if found is None:
            return
        if found.rank is None:
            self.unranked[envelope.node] = found
            return
        self.ranks[found.rank], self.nodes[found.rank] = found, envelope.node
        self.seats |= {seat.rank: seat for seat in found.seats}

    def name(self, rank: int) -> str:
        """A rank with where it sits: "rank 3 (gpu-02, GPU 1)"."""
        seat = self.seats.get(rank)
        node = self.nodes.get(rank) or (seat.node if seat else "")
        device = seat.device.partition(",")[0] if seat else ""
        place = said(", ".join(part for part in (node, device) if part))
        return f"rank {rank} ({place})" if place else f"rank {rank}"

    def named(self, ranks: Sequence[int]) -> str:
        """Several ranks in words."""
        names = [self.name(rank) for rank in ranks[:NAMED]]
        more = [f"{len(ranks) - NAMED} more"] if len(ranks) > NAMED else []
        *most, last = [*names, *more]
        return f"{', '.join(most)} and {last}" if most else last

    def lost(self) -> list[Lost]:
        """The ranks that are not there, or left before the end without their will."""
        found = (self._fate(rank) for rank in range(self.size))
        return [one for one in found if one]

    def _fate(self, rank: int) -> Lost | None:
        own = self.ranks.get(rank)
        missed = tuple(other for other, one in self.ranks.items() if rank in one.missing)
        silent = tuple(other for other, one in self.ranks.items() if self._is_silent(one, rank))
        if own and own.outcome in ("died", "hung"):
            fate: Fate = "died" if own.outcome == "died" else "hung"
            return Lost(rank, fate, own.step, said(own.reason), missed or silent)
        if missed:
            return Lost(rank, "missing", own.step if own else "", said(own.reason) if own else "", missed)
        if silent and own is None:
            return Lost(rank, "silent", "", "", silent)
        return None

    @staticmethod
    def _is_silent(one: Collective, rank: int) -> bool:
        absent = any(pair.other == rank and pair.outcome == "absent" for pair in one.pairs)
        return rank in one.silent or absent

    def pairs(self, outcome: str) -> dict[tuple[int, int], PairTrial]:
        """The pairs of ranks that are both there, with an outcome; each once."""
        gone = {one.rank for one in self.lost()}
        found: dict[tuple[int, int], PairTrial] = {}
        for rank, one in sorted(self.ranks.items()):
            for pair in one.pairs:
                if pair.outcome == outcome and not {rank, pair.other} & gone:
                    found.setdefault((min(rank, pair.other), max(rank, pair.other)), pair)
        return found


def common(pairs: Iterable[tuple[int, int]]) -> int | None:
    """The one rank that stands in all of several pairs, None where it is not one."""
    sets = [set(pair) for pair in pairs]
    shared = set.intersection(*sets) if len(sets) > 1 else set()
    return next(iter(shared)) if len(shared) == 1 else None


def said(text: str) -> str:
    """What a node said, as one harmless line: it may say anything."""
    return one_line(text)[:SAID_KEPT]
