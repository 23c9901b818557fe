"""How the trace of a few layers becomes that of all layers.

Of ``k`` traced layers the one at ``k - 3`` is the **template**: it and the next have neighbours of their own
kind on both sides. Wherever the run goes from one to the other, copies of the template step in between: after
the template where layers ascend (load, forward, optimizer), before it where they descend (backward). A copy's
births are storages of its own. Where a layer frees a storage that was born in another layer, a copy frees the
storage with the same **place** at the same distance.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, pairwise
from typing import NamedTuple

from msgspec import structs

from doctor.memory.stream import Birth, NotRepeating, Phase, Segment, Stream

OUTSIDE = -1  # the layer of what belongs to none


class Mark(NamedTuple):
    """From the event ``start`` on a phase, a step and a layer of the whole model."""

    start: int
    phase: Phase
    step: int
    layer: int  # -1 outside of them


class Unrolled(NamedTuple):
    """A stream of all layers; ``events`` as those of a segment."""

    births: Sequence[Birth]
    layers: Sequence[int]  # of the whole model, where each was born
    events: Sequence[int]
    marks: Sequence[Mark]
    trainable_parameters: int
    total_parameters: int


class Place(NamedTuple):
    """Where a storage is born within its layer."""

    phase: Phase
    step: int
    visit: int
    ordinal: int  # among the births of that visit


class Visit(NamedTuple):
    """What a run does in one layer before it goes on to another."""

    phase: Phase
    step: int
    layer: int
    number: int  # among the visits of that phase and step to the layer
    events: list[int]


def unrolled(stream: Stream) -> Unrolled:
    """The stream of all layers of the model.

    :raises NotRepeating: the layer that stands for others is not like the next.
    """
    if stream.layers != stream.traced_layers and not 4 <= stream.traced_layers < stream.layers:
        raise NotRepeating(f"{stream.traced_layers} traced layers cannot stand for {stream.layers}")
    return Copies(stream).unrolled()


def visits_of(stream: Stream) -> Iterator[Visit]:
    """The segments as visits: those that follow upon each other in one layer are one."""
    pieces = owned(on_the_way(stream.segments), stream.traced_layers - 3)
    numbers: dict[tuple[Phase, int, int], int] = {}
    for key, alike in groupby(pieces, key=lambda piece: piece[:3]):
        numbers[key] = numbers.get(key, -1) + 1
        phase, step, layer = key
        yield Visit(phase, step, layer, numbers[key], [event for piece in alike for event in piece[3]])


Piece = tuple[Phase, int, int, Sequence[int]]


def on_the_way(segments: Iterable[Segment]) -> list[Piece]:
    """The segments; what lies on the way from a layer to the next is the layer's."""
    pieces: list[Piece] = [
        (segment.phase, segment.step, OUTSIDE if segment.layer is None else segment.layer, segment.events)
        for segment in segments
        if segment.events
    ]
    inside = [place for place, piece in enumerate(pieces) if piece[2] != OUTSIDE]
    for before, after in pairwise(inside):
        phase, step, layer, _ = pieces[before]
        if pieces[after][:2] == (phase, step) and abs(pieces[after][2] - layer) <= 1:
            for place in range(before + 1, after):
                pieces[place] = (phase, step, layer, pieces[place][3])
    return pieces


def owned(pieces: Iterable[Piece], template: int) -> Iterator[Piece]:
    """The pieces; where what layer after layer holds is freed outside of layers, these are visits."""
    born: dict[int, int] = {}
    for phase, step, layer, events in pieces:
        if layer != OUTSIDE:
            for event in events:
                born.setdefault(event, layer)
            yield phase, step, layer, events
            continue
        owners = [born.setdefault(event, OUTSIDE) if event >= 0 else OUTSIDE for event in events]
        runs = [
            (owner, [event for _, event in run])
            for owner, run in groupby(zip(owners, events, strict=True), key=lambda pair: pair[0])
        ]
        for row in rows_of(runs):
            through = {template, template + 1} <= {owner for owner, _ in row}
            for owner, freed in row:
                yield phase, step, owner if through else OUTSIDE, freed


Run = tuple[int, list[int]]


def rows_of(runs: Iterable[Run]) -> Iterator[list[Run]]:
    """Runs of neighbouring layers, as long as they go on in one direction."""
    row: list[Run] = []
    for run in runs:
        ways = {later[0] - earlier[0] for earlier, later in pairwise([*row, run])}
        if OUTSIDE in (run[0], *(owner for owner, _ in row)) or ways not in (set(), {1}, {-1}):
            yield row
            row = []
        row.append(run)
    yield row


class Ledger:
    """Who was born where, in the traced model."""

    def __init__(self, visits: Iterable[Visit], births: int) -> None:
        self.layers = [OUTSIDE] * births
        self.places: dict[int, Place] = {}
        self.found: dict[tuple[int, Place], int] = {}
        for phase, step, layer, number, events in visits:
            ordinal = 0
            for event in events:
                if event >= 0 and event not in self.places:
                    place = self.places[event] = Place(phase, step, number, ordinal)
                    self.layers[event] = layer
                    self.found[layer, place] = event
                    ordinal += 1


def larger(birth: Birth, layers: int) -> Birth:
    """A storage whose size goes by the layers of the model, for so many more."""
    return structs.replace(birth, size_bytes=birth.size_bytes + layers * birth.layer_bytes)


class Copies:
    """A traced stream, and the copies of its template that make it whole."""

    def __init__(self, stream: Stream) -> None:
        self.stream = stream
        self.births = stream.births
        self.visits = list(visits_of(stream))
        self.ledger = Ledger(self.visits, len(stream.births))
        self.template = stream.traced_layers - 3
        self.count = stream.layers - stream.traced_layers
        self.own = [birth for birth, layer in enumerate(self.ledger.layers) if layer == self.template]
        self.ordinals = {self.ledger.places[birth]: ordinal for ordinal, birth in enumerate(self.own)}
        self.codes = self.coded() if self.count else {}

    def unrolled(self) -> Unrolled:
        """All layers.

        :raises NotRepeating: the layers do not follow upon each other in one direction, or are unlike.
        """
        stream, count = self.stream, self.count
        copied = [stream.births[birth] for birth in self.own]
        grown = [birth if not birth.layer_bytes else larger(birth, count) for birth in stream.births]
        layers = [layer + count * (layer > self.template) for layer in self.ledger.layers]
        marks: list[Mark] = []
        events: list[int] = []
        for layer, visit in self.walk():
            marks.append(Mark(len(events), visit.phase, visit.step, layer))
            events += self.said(layer, visit)
        return Unrolled(
            births=[*grown, *copied * count],
            layers=[*layers, *(self.template + copy for copy in range(1, count + 1) for _ in copied)],
            events=events,
            marks=marks,
            trainable_parameters=stream.trainable_parameters + count * stream.layer_trainable_parameters,
            total_parameters=stream.total_parameters + count * stream.layer_total_parameters,
        )

    def walk(self) -> Iterator[tuple[int, Visit]]:
        """Each visit with the layer of the whole model that it is one to."""
        nobody = Visit("load", 0, OUTSIDE, 0, [])
        around = [nobody, *self.visits, nobody]
        for before, visit, after in zip(around, self.visits, around[2:], strict=False):
            if visit.layer != self.template:
                yield visit.layer + self.count * (visit.layer > self.template), visit
                continue
            copies = [(self.template + copy, visit) for copy in range(1, self.count + 1)]
            ascending, descending = self.follows(after, visit), self.follows(before, visit)
            if copies and ascending == descending:
                raise NotRepeating(f"in {visit.phase} the layers are not visited one after the other")
            yield from [*(reversed(copies) if descending else ()), (self.template, visit)]
            yield from copies if ascending else ()

    def follows(self, other: Visit, visit: Visit) -> bool:
        """Is the other the same visit to the layer behind the template?"""
        return other[:4] == (visit.phase, visit.step, self.template + 1, visit.number)

    def said(self, layer: int, visit: Visit) -> Iterable[int]:
        """The events of a visit, in storages of the whole model."""
        if not self.count:
            return visit.events
        if layer == OUTSIDE:
            if any(event >= 0 and self.ledger.layers[event] == self.template for event in visit.events):
                raise NotRepeating(f"in {visit.phase} layer {self.template} is spoken of on its own")
            return visit.events
        if visit.layer == self.template < layer:
            return self.by_copy(layer - self.template, self.codes[visit.phase, visit.step, visit.number])
        return [self.moved(event, visit.layer, layer) for event in visit.events]

    def by_copy(self, copy: int, codes: Sequence[int]) -> Iterable[int]:
        """What a copy says where the template says these codes."""
        births = len(self.own)
        nearest, farthest = copy + min(codes) // births, copy + max(codes) // births
        if nearest >= 1 and farthest <= self.count:
            offset = len(self.births) + (copy - 1) * births
            return [code + offset for code in codes]
        layer = self.template + copy
        return [self.storage(layer + code // births, code % births) for code in codes]

    def storage(self, layer: int, ordinal: int) -> int:
        """What corresponds, in a layer of the whole model, to a birth of the template."""
        copy = layer - self.template
        if 1 <= copy <= self.count:
            return len(self.births) + (copy - 1) * len(self.own) + ordinal
        mine = self.own[ordinal]
        traced = layer - self.count if copy > 0 else layer
        found = self.ledger.found.get((traced, self.ledger.places[mine]))
        if found is None or not self.alike(found, mine):
            raise NotRepeating(f"layer {traced} lacks what layer {self.template} has")
        return found

    def moved(self, event: int, traced: int, layer: int) -> int:
        """A storage that a traced layer speaks of, when the layer has its place in the whole model."""
        born = self.ledger.layers[event] if event >= 0 else OUTSIDE
        if born == OUTSIDE or (born > self.template) == (traced > self.template):
            return event  # both moved alike
        ordinal = self.ordinals.get(self.ledger.places[event])
        if ordinal is None or not self.alike(event, self.own[ordinal]):
            raise NotRepeating(f"layer {self.template} lacks what layer {born} has")
        return self.storage(layer + born - traced, ordinal)

    def alike(self, one: int, other: int) -> bool:
        """Are two births of one size and part?"""
        mine, others = self.births[one], self.births[other]
        return mine.size_bytes == others.size_bytes and mine.part == others.part

    def coded(self) -> dict[tuple[Phase, int, int], list[int]]:
        """The template's visits in words that hold for every copy.

        A storage is the distance to the layer where it was born, times births a layer, plus its ordinal.

        :raises NotRepeating: the next layer does not do the same.
        """
        mine, others = (
            {(visit.phase, visit.step, visit.number): visit for visit in self.visits if visit.layer == layer}
            for layer in (self.template, self.template + 1)
        )
        if not self.own or list(mine) != list(others):
            raise NotRepeating(f"layers {self.template} and {self.template + 1} are not visited alike")
        return {key: self.coded_visit(visit, others[key]) for key, visit in mine.items()}

    def coded_visit(self, mine: Visit, other: Visit) -> list[int]:
        """One visit of the template, held against the same visit to the next layer."""
        codes = [self.code(*both) for both in zip(mine.events, other.events, strict=False)]
        known = [code for code in codes if code is not None]
        if not len(mine.events) == len(other.events) == len(known):
            raise NotRepeating(f"in {mine.phase} layers {mine.layer} and {other.layer} do not do the same")
        return known

    def code(self, mine: int, other: int) -> int | None:
        """One storage as the template and the next layer speak of it; None where they mean different ones."""
        if mine < 0 or other < 0 or not self.alike(mine, other):
            return None
        places, layers = self.ledger.places, self.ledger.layers
        distance = layers[mine] - self.template
        if OUTSIDE in (layers[mine], layers[other]) or distance != layers[other] - self.template - 1:
            return None
        # The first and the last layer may bear more than others: believe the word on the one in the middle.
        place = places[other] if distance == -1 else places[mine]
        if distance not in (-1, 1) and places[mine] != places[other]:
            return None
        ordinal = self.ordinals.get(place)
        return None if ordinal is None else distance * len(self.own) + ordinal
