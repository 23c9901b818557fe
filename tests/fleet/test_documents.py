"""Where one report ends and the next begins."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doctor.fleet import documents
from doctor.fleet.documents import Piece, objects_in, pieces

VALUES = st.recursive(
    st.none() | st.integers(-9, 9) | st.text(max_size=8) | st.sampled_from(['"{', "}\n{", "\\"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)
OBJECTS = st.lists(st.dictionaries(st.text(max_size=4), VALUES, max_size=3), min_size=1, max_size=6)


def read(chunks: list[bytes]) -> list[Any]:
    return [json.loads(piece.data) for piece in pieces(chunks)]


@given(
    OBJECTS, st.sampled_from([None, 1, 2, "\t"]), st.integers(1, 40), st.sampled_from(["\n", "\n\n", "\r\n"])
)
def test_every_object_is_one_piece(objects: list[Any], indent: Any, size: int, between: str) -> None:
    data = between.join(json.dumps(one, indent=indent) for one in objects).encode()
    assert read([data[at : at + size] for at in range(0, len(data), size)]) == objects


@given(OBJECTS, st.integers(1, 100))
def test_an_object_that_is_cut_loses_no_other(objects: list[Any], kept: int) -> None:
    cut = json.dumps({"cut": "x" * 200}, indent=2)[: kept + 2]
    data = "\n".join([cut, *(json.dumps(one, indent=2) for one in objects)]).encode()
    first, *rest = [piece.data for piece in pieces([data])]
    assert first == cut.encode() and [json.loads(one) for one in rest] == objects


def test_what_is_too_large_is_not_kept_and_loses_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents, "LIMIT_BYTES", 64)
    chunks = [b'{"a":1}\n{"b":"', *[b"x" * 30] * 9, b'"}\n{"c":3}\n']
    assert list(pieces(chunks)) == [Piece(b'{"a":1}'), Piece(b"", True), Piece(b'{"c":3}\n')]


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (b'{"a":1}{"b":2}', [{"a": 1}, {"b": 2}]),
        (b'Welcome to the cluster\n12: {"a":1}\n13: {"b":{}}\nbye', [{"a": 1}, {"b": {}}]),
        (b'{"a":1} then {broken', [{"a": 1}]),
        (b"[" * 100_000, []),
        (b'{"a":' * 100_000, []),
        (b"no JSON at all", []),
    ],
)
def test_objects_among_other_words(data: bytes, found: list[Any]) -> None:
    assert [json.loads(one) for one in objects_in(data)] == found
