"""A trace of four layers, with its layer repeated, is the trace of all of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from doctor.memory.allocator import EMPTY_CACHE
from doctor.memory.stream import NotRepeating, Segment, Stream
from doctor.memory.unrolling import Unrolled, unrolled

from .runs import MIB, Model, traced

sizes = st.lists(st.integers(1, 3 * MIB), min_size=1, max_size=4).map(tuple)
models = st.builds(
    Model,
    weights=sizes,
    activations=sizes,
    adapters=sizes,
    hidden=st.integers(1, 3 * MIB),
    steps=st.integers(1, 3),
    first_has_more=st.booleans(),
    last_has_more=st.booleans(),
    freed_on_the_way=st.booleans(),
)


def told(whole: Unrolled) -> list[object]:
    """Events in words that do not depend on the numbers of births."""
    order: dict[int, int] = {}
    found: list[object] = []
    for event in whole.events:
        if event == EMPTY_CACHE:
            found.append("empty_cache")
        elif event in order:
            found.append(order[event])
        else:
            order[event] = len(order)
            birth = whole.births[event]
            found.append((birth.size_bytes, birth.part, whole.layers[event]))
    return found


@given(models, st.integers(4, 6), st.integers(0, 9))
def test_four_layers_become_all(model: Model, few: int, more: int) -> None:
    all_layers = few + more
    found = unrolled(traced(model, few, all_layers))
    expected = unrolled(traced(model, all_layers))
    assert told(found) == told(expected)
    assert found.marks == expected.marks
    assert found.trainable_parameters == expected.trainable_parameters
    assert found.total_parameters == expected.total_parameters


def changed(stream: Stream, layer: int, phase: str, events: Callable[[list[int]], list[int]]) -> Stream:
    """A stream in which one layer does something else in one phase."""
    segments = [
        structs.replace(segment, events=tuple(events(list(segment.events))))
        if (segment.layer, segment.phase) == (layer, phase)
        else segment
        for segment in stream.segments
    ]
    return structs.replace(stream, segments=tuple(segments))


@pytest.mark.parametrize("phase", ["load", "forward", "backward"])
def test_a_layer_that_forgets_to_free_is_no_template(phase: str) -> None:
    stream = changed(traced(Model(steps=1), 4, 9), 2, phase, lambda events: events[:-1])
    with pytest.raises(NotRepeating):
        unrolled(stream)


def test_a_layer_of_another_size_is_no_template() -> None:
    stream = traced(Model(steps=1), 4, 9)
    births = list(stream.births)
    wanted = next(index for index, birth in enumerate(births) if birth.size_bytes == 6 * MIB)
    births[wanted + 4] = structs.replace(births[wanted + 4], size_bytes=7 * MIB)
    unlike = unrolled(structs.replace(stream, layers=4, births=tuple(births)))
    assert unlike.layers[wanted] == 0 and unlike.layers[wanted + 4] == 1
    with pytest.raises(NotRepeating):
        unrolled(structs.replace(stream, births=tuple(births)))


def test_what_an_outsider_frees_of_a_layer_on_its_own_is_no_visit_to_it() -> None:
    """What the last but one layer hands on is freed behind the last one, where no layer is at work."""
    model = Model(steps=1, freed_on_the_way=True)
    stream = traced(model, 4, 7)
    last = next(i for i, segment in enumerate(stream.segments) if segment.phase == "backward")
    freed = stream.segments[last - 1].events[0]
    ledger = unrolled(structs.replace(stream, layers=4))
    assert (ledger.layers[freed], stream.segments[last - 1].layer) == (2, None)
    assert told(unrolled(stream)) == told(unrolled(traced(model, 7)))


def test_a_template_that_an_outsider_frees_alone_stands_for_nobody() -> None:
    stream = traced(Model(steps=1), 4, 9)
    outside = Segment(phase="optimizer", step=0, layer=None, events=(weight_of(stream, 1),))
    with pytest.raises(NotRepeating):
        unrolled(structs.replace(stream, segments=(*stream.segments, outside)))
    other = structs.replace(outside, events=(weight_of(stream, 3),))
    found = unrolled(structs.replace(stream, segments=(*stream.segments, other)))
    assert found.layers[found.events[-1]] == 8


def weight_of(stream: Stream, layer: int) -> int:
    """A weight of a traced layer."""
    whole = unrolled(structs.replace(stream, layers=stream.traced_layers))
    wanted = (6 * MIB, "weights", layer)
    return next(
        index
        for index, birth in enumerate(whole.births)
        if (birth.size_bytes, birth.part, whole.layers[index]) == wanted
    )


def test_what_goes_by_all_layers_grows_with_them() -> None:
    few, many = unrolled(traced(Model(), 4, 9)), unrolled(traced(Model(), 9))
    assert few.births[0].size_bytes == many.births[0].size_bytes == (5 + 9 * 10) * MIB


def test_fewer_than_four_layers_stand_for_themselves_alone() -> None:
    assert unrolled(traced(Model(), 2)).trainable_parameters == 2
    with pytest.raises(NotRepeating):
        unrolled(traced(Model(), 3, 4))
    with pytest.raises(NotRepeating):
        unrolled(traced(Model(), 6, 4))


def test_a_trace_of_all_layers_is_left_as_it_is() -> None:
    stream = traced(Model(), 5)
    found = unrolled(stream)
    assert list(found.events) == [event for segment in stream.segments for event in segment.events]
    assert list(found.births) == list(stream.births)


def test_the_cache_is_emptied_where_it_was() -> None:
    stream = traced(Model(steps=1), 4, 6)
    empty = Segment(phase="load", step=0, layer=None, events=(EMPTY_CACHE,))
    place = next(i for i, segment in enumerate(stream.segments) if segment.phase == "forward")
    segments = (*stream.segments[:place], empty, *stream.segments[place:])
    found = unrolled(structs.replace(stream, segments=segments))
    at = list(found.events).index(EMPTY_CACHE)
    assert found.marks[[mark.start for mark in found.marks].index(at)][1:] == ("load", 0, -1)
    assert next(mark for mark in found.marks if mark.phase == "forward").start == at + 1


@given(models, st.integers(4, 5), st.integers(1, 6))
def test_each_birth_dies_once_at_most(model: Model, few: int, more: int) -> None:
    whole = unrolled(traced(model, few, few + more))
    seen = Counter(event for event in whole.events)
    assert set(seen) == set(range(len(whole.births)))
    assert set(seen.values()) <= {1, 2}
