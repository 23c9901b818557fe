"""Which moments matter: those that are the highest somewhere on a grid of models and plans."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import cycle, product
from math import prod

from .moments import Alive, window

# Hidden size, widths of queries and keys, heads, heads of keys, width of a head, intermediate size,
# vocabulary and layers, as models from 0.5 to 70 billion parameters have them.
MODELS = (
    (896, 896, 128, 14, 2, 64, 4864, 151936, 24),
    (2048, 2048, 256, 32, 4, 64, 5632, 32000, 22),
    (3072, 3072, 1024, 24, 8, 128, 8192, 128256, 28),
    (2304, 2048, 1024, 8, 4, 256, 9216, 256000, 26),
    (4096, 4096, 4096, 32, 32, 128, 11008, 32000, 32),
    (4096, 4096, 1024, 32, 8, 128, 14336, 128256, 32),
    (5120, 8192, 1024, 64, 8, 128, 25600, 151936, 64),
    (8192, 8192, 1024, 64, 8, 128, 28672, 32000, 80),
)
BATCHES = ((1, 512), (4, 1024), (2, 8192))
# A fused loss has no logits; where gradients are accumulated they are there at all moments alike.
VARIANTS: tuple[tuple[str, ...], ...] = ((), ("logits",), ("gradients",), ("logits", "gradients"))
NEGLIGIBLE = 1e-3  # of what is alive


class Grid:
    """The points, and what each term is worth at each of them."""

    def __init__(self) -> None:
        ranks, experts = cycle((8, 64, 128)), {"e": 64, "x": 8}
        self.points: list[Mapping[str, int]] = []
        for model, (batch, length) in product(MODELS, BATCHES):
            named = dict(zip("hqknjdivL", model, strict=True))
            self.points.append(
                {
                    **named,
                    **experts,
                    "w": named["i"] // 8,
                    "b": batch,
                    "s": length,
                    "t": batch * length,
                    "r": next(ranks),
                }
            )
        self._worth: dict[tuple[str, bool], list[int]] = {}

    def worth(self, term: str, is_repeated: bool) -> list[int]:
        """One byte of a term; the repeated layer stands for all but three."""
        known = self._worth.get((term, is_repeated))
        if known is None:
            known = [
                prod(at[letter] for letter in term) * (at["L"] - 3 if is_repeated else 1)
                for at in self.points
            ]
            self._worth[term, is_repeated] = known
        return known

    def values(self, moment: Alive, without: Collection[str] = ()) -> list[float]:
        """Bytes alive at each point, but for some parts."""
        found = [0.0] * len(self.points)
        for (part, term, is_repeated), size in moment.amounts.items():
            if part not in without:
                found = [
                    sum_ + size * one for sum_, one in zip(found, self.worth(term, is_repeated), strict=True)
                ]
        return found

    def highest(self, moments: Sequence[Alive]) -> list[Alive]:
        """The moments that give the maximum of each window, but for a negligible difference."""
        kept: list[Alive] = []
        for name in dict.fromkeys(map(window, moments)):
            rivals = [moment for moment in moments if window(moment) == name]
            chosen: list[int] = []
            for without in VARIANTS:
                chosen = cover([self.values(moment, without) for moment in rivals], chosen)
            kept += [rivals[place] for place in chosen]
        return kept

    def substantial(self, moment: Alive) -> Alive:
        """The moment without the terms that matter nowhere."""
        totals = self.values(moment)
        kept = {
            (part, term, is_repeated): size
            for (part, term, is_repeated), size in moment.amounts.items()
            if any(
                size * one > NEGLIGIBLE * total
                for one, total in zip(self.worth(term, is_repeated), totals, strict=True)
            )
        }
        return moment._replace(amounts=kept)


def cover(table: Sequence[Sequence[float]], chosen: Sequence[int]) -> list[int]:
    """Greedily: the row that repairs the largest shortfall below the maximum, until none is left."""
    tops = [max(column) for column in zip(*table, strict=True)]
    found = list(chosen)
    while True:
        reached = [max((table[row][place] for row in found), default=0.0) for place in range(len(tops))]
        shortfall, place = max(
            (1 - got / top if top else 0.0, place)
            for place, (top, got) in enumerate(zip(tops, reached, strict=True))
        )
        if shortfall <= NEGLIGIBLE:
            return found
        found.append(max(range(len(table)), key=lambda row: table[row][place]))
