"""Names of nodes as schedulers write them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doctor.fleet.hostlist import expand, fold


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("node1", ("node1",)),
        ("node[1-3]", ("node1", "node2", "node3")),
        ("node[08-11]", ("node08", "node09", "node10", "node11")),
        ("node[001,003-004],login1", ("node001", "node003", "node004", "login1")),
        ("r[1-2]n[1-2].cluster", ("r1n1.cluster", "r1n2.cluster", "r2n1.cluster", "r2n2.cluster")),
        ("a, b\nc", ("a", "b", "c")),
        ("a,a", ("a",)),
        ("", ()),
    ],
)
def test_an_expression_stands_for_names(text: str, names: tuple[str, ...]) -> None:
    assert expand(text) == names


@pytest.mark.parametrize(
    "text",
    [
        "node[1-",
        "node]1[",
        "node[[1]]",
        "node[a-b]",
        "node[3-1]",
        "node[1-999999999]",
        "a[0-999]b[0-999]",
        "n[]",
    ],
)
def test_what_is_no_expression_says_so(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        expand(text)


@pytest.mark.parametrize(
    ("names", "folded"),
    [
        (["node001", "node002", "node003"], "node[001-003]"),
        (["node9", "node10"], "node9,node10"),
        (["n1", "n3", "n4"], "n[1,3-4]"),
        (["login", "n1"], "n1,login"),
        (["r1n1.x", "r1n2.x"], "r1n[1-2].x"),
    ],
)
def test_names_are_folded(names: list[str], folded: str) -> None:
    assert fold(names) == folded


@given(
    st.lists(st.from_regex(r"[a-z]{0,3}-?[0-9]{0,4}[a-z.]{0,3}", fullmatch=True).filter(bool), max_size=30)
)
def test_what_is_folded_expands_to_the_same_names(names: list[str]) -> None:
    assert sorted(expand(fold(names))) == sorted(set(names))
